"""Where runs of this user on this machine can be found: a private folder with a note for each.

A note `<run>.json` says which plan it is, whose process, and where its feed listens; it goes when
the run ends. The folder can be read by its owner alone, and so can the sockets in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ValidationError

VARIABLE = "TAILBACK_LIVE"
"""Names another folder."""


class Note(BaseModel):
    """What a run tells of itself; `started` is seconds since 1970."""

    run: str
    plan: str
    target: str
    process: int
    address: str
    started: float


def folder() -> Path | None:
    """The private folder, made if missing; None when there is none to be had."""
    named, base = os.environ.get(VARIABLE), os.environ.get("XDG_RUNTIME_DIR")
    user = os.getuid() if hasattr(os, "getuid") else 0
    if named:
        path = Path(named)
    elif base and os.access(base, os.W_OK):
        path = Path(base) / "tailback"
    else:
        path = Path(tempfile.gettempdir()) / f"tailback-{user}"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError:
        return None
    private = os.name == "nt" or (found.st_uid == user and not stat.S_IMODE(found.st_mode) & 0o077)
    return path if stat.S_ISDIR(found.st_mode) and private else None


def address_in(path: Path, run: str) -> str:
    """Where a run listens: a socket in the folder; a port of loopback where there are none."""
    socket = path / f"{run}.feed"
    return f"ipc://{socket}" if os.name != "nt" and len(str(socket)) < 100 else "tcp://127.0.0.1:*"


@contextlib.contextmanager
def noted(path: Path, note: Note) -> Iterator[None]:
    """A note that is there as long as the block lasts."""
    target = path / f"{note.run}.json"
    hidden = path / f".{note.run}.json"
    try:
        hidden.write_text(note.model_dump_json(), encoding="utf-8")
        hidden.rename(target)
        yield
    finally:
        for left in (hidden, target, path / f"{note.run}.feed"):
            left.unlink(missing_ok=True)


def runs() -> list[Note]:
    """The runs that are going on, the latest first; what dead ones left is removed."""
    path = folder()
    found = []
    for file in sorted(path.glob("*.json")) if path else ():
        try:
            note = Note.model_validate(json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, ValidationError):
            continue  # it ended while we looked, or is not ours
        if alive(note.process):
            found.append(note)
        else:
            for left in (file, file.with_suffix(".feed")):
                left.unlink(missing_ok=True)
    return sorted(found, key=lambda note: -note.started)


def alive(process: int) -> bool:
    """Whether there is a process of that number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def now() -> float:
    """Seconds since 1970."""
    return time.time()
