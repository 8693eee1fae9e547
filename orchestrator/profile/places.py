"""Store of device profiles: one file each; the newest one of this machine is used.

    $XDG_STATE_HOME/tailback/profiles/NAME-20261123T180000Z.json

Without XDG_STATE_HOME it is ~/.local/state.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
import secrets
from pathlib import Path

from orchestrator.errors import BadInput
from orchestrator.profile.model import Profile
from orchestrator.profile.reading import read_profile


def folder() -> Path:
    """The folder of profiles; it need not be there."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "tailback" / "profiles"


def place_for(machine: str, date: datetime.datetime) -> Path:
    """File of a machine's profile of a date."""
    safe = re.sub(r"[^A-Za-z0-9_-]+", "-", machine)[:60] or "machine"
    return folder() / f"{safe}-{date.astimezone(datetime.UTC).strftime('%Y%m%dT%H%M%SZ')}.json"


def text_of(profile: Profile) -> str:
    """The file's text."""
    return json.dumps(profile.model_dump(mode="json"), indent=1, allow_nan=False) + "\n"


def write(profile: Profile, path: Path) -> None:
    """Write a profile whole or not at all. Raises BadInput where that is not possible."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text_of(profile), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise BadInput(str(path), f"cannot be written: {error.strerror}") from error


def of_machine(name: str) -> list[Path]:
    """The files of a machine's profiles, the newest first by the names that they were given."""
    stem = place_for(name, datetime.datetime.now(datetime.UTC)).name.rpartition("-")[0]
    files = [path for path in folder().glob(f"{stem}-*.json") if _stamp(path, stem)]
    return sorted(files, key=lambda path: path.name, reverse=True)


def newest(name: str) -> tuple[Path, Profile] | None:
    """The newest profile of a machine; None where there is none. Raises BadInput, damaged."""
    for path in of_machine(name):
        return path, read_profile(path)
    return None


def _stamp(path: Path, stem: str) -> bool:
    return re.fullmatch(r"\d{8}T\d{6}Z", path.stem.removeprefix(f"{stem}-")) is not None
