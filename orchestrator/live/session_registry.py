"""Registry of this user's sessions on this machine: a private folder with a note for each.

A note `<run>.json` has the plan, the process and the address of the feed; it is removed when the
run ends. Only its owner can read the folder and the sockets in it. That is the only protection of
a run from other users: without such a folder there is no feed.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from zmq import has

from orchestrator import bounded_json, ownership

VARIABLE = "TAILBACK_LIVE"
"""Environment variable that overrides the folder."""
SHORT = Path("/tmp")
"""Parent of the folder with a short name; TMPDIR may be long."""
LONGEST = 103
"""Octets of a socket's name: the least of what systems take (macOS)."""


class SessionNote(BaseModel):
    """Note of a running session; `started` is in seconds since 1970."""

    run: str
    plan: str
    target: str
    process: int
    address: str
    started: float


def sessions_folder() -> Path | None:
    """The private folder, made if missing; None when there is none to be had (see
    `missing_folder_reason`)."""
    path = _wanted()
    return path if _private(path) is None else None


def missing_folder_reason() -> str | None:
    """Reason why this user's runs cannot be watched, with the remedy; None: they can."""
    path = _wanted()
    if (why := _private(path)) is not None:
        return f"{why}; {VARIABLE}=DIR names another folder"
    if address_in(path, "0" * 16) is None:
        return f"{path} is too long for the name of a socket; {VARIABLE}=DIR names another folder"
    return None


def _wanted() -> Path:
    named, base = os.environ.get(VARIABLE), os.environ.get("XDG_RUNTIME_DIR")
    if named:
        return Path(named)
    if base and os.path.isabs(base) and os.access(base, os.W_OK):
        return Path(base) / "tailback"
    return _of_user(Path(tempfile.gettempdir()))


def _of_user(base: Path) -> Path:
    return base / f"tailback-{ownership.user()}"


def _private(path: Path) -> str | None:
    """Make a folder if it is missing; the reason why it is not private, None when it is."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        return f"{path} cannot be made ({error.strerror})"
    if not stat.S_ISDIR(found.st_mode):
        return f"{path} is no folder"
    if os.name == "nt":
        return None
    if not ownership.is_mine(found.st_uid):
        return f"{path} {ownership.stranger(found.st_uid)}"
    mode = stat.S_IMODE(found.st_mode)
    return (
        f"others can get at {path} (mode {mode:04o}; `chmod 700 {path}`)" if mode & 0o077 else None
    )


def address_in(path: Path, run: str) -> str | None:
    """Address of a run's socket: in the folder or, where that name is too long, in this user's
    short folder; None: neither. A TCP port would be open to every user of this machine."""
    for base in (path, _of_user(SHORT)):
        socket = base / f"{run}.feed"
        if len(os.fsencode(socket)) <= LONGEST and (base == path or _private(base) is None):
            return f"ipc://{socket}" if has("ipc") else None
    return None


@contextlib.contextmanager
def registered(path: Path, note: SessionNote) -> Iterator[None]:
    """Keep a note in the folder as long as the block lasts."""
    target = path / f"{note.run}.json"
    hidden = path / f".{note.run}.json"
    try:
        hidden.write_text(note.model_dump_json(), encoding="utf-8")
        hidden.rename(target)
        yield
    finally:
        for left in (hidden, target, _socket(note)):
            with contextlib.suppress(OSError):  # a folder that became read-only keeps its notes
                left.unlink(missing_ok=True)


def _socket(note: SessionNote) -> Path:
    """The file of a feed's socket; any other file that a note names is not removed."""
    named = Path(note.address.removeprefix("ipc://"))
    return named if named.name == f"{note.run}.feed" else named.with_name(f"{note.run}.feed")


def running_sessions() -> list[SessionNote]:
    """The running sessions, the latest first; notes of dead processes are removed."""
    path = sessions_folder()
    found = []
    for file in sorted(path.glob("*.json")) if path else ():
        try:
            note = SessionNote.model_validate(bounded_json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, ValidationError):
            continue  # it ended meanwhile, or belongs to another user
        if process_exists(note.process):
            found.append(note)
        else:
            for left in (file, file.with_suffix(".feed"), _socket(note)):
                with contextlib.suppress(OSError):  # a damaged note
                    left.unlink(missing_ok=True)
    return sorted(found, key=lambda note: -note.started)


def process_exists(process: int) -> bool:
    """Return whether a process of that number exists."""
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


# Registry of this user's running sweeps: a journal for each, beside the notes of runs.
#
# A journal is a file `<number>.sweep` of JSON lines that grows while the sweep runs (see
# `orchestrator.batch.sweep_journal`). Its first line has the number of the process.

SUFFIX = ".sweep"
DONE, FAILED, STOPPED = "done", "failed", "stopped"
"""Outcomes of a sweep."""


def running_sweeps() -> list[tuple[Path, dict[str, Any]]]:
    """Journals of running sweeps, the latest first, each with its first line.

    Those of dead processes are removed.
    """
    folder = sessions_folder()
    found = []
    for path in folder.glob(f"*{SUFFIX}") if folder is not None else ():
        try:
            with path.open(encoding="utf-8") as file:
                head = bounded_json.loads(file.readline())
            number, started = int(head["process"]), float(head["started"])
        except (OSError, ValueError, LookupError, TypeError):
            continue  # it ended meanwhile, has only begun, or belongs to another user
        if process_exists(number):
            found.append((started, path, head))
        else:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
    return [(path, head) for _, path, head in sorted(found, key=lambda one: -one[0])]
