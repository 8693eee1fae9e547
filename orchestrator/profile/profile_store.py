"""Store of device profiles: one file each; the newest one of this machine is used.

    $XDG_STATE_HOME/tailback/profiles/NAME-20261123T180000Z.json

Without XDG_STATE_HOME it is ~/.local/state.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import re
import secrets
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orchestrator import bounded_json
from orchestrator.errors import BadInput, Problem
from orchestrator.plan.pydantic_errors import translate
from orchestrator.profile.profile_model import FORMAT, Profile
from orchestrator.user_folders import STATE, user_folder

LARGEST = 4_000_000
"""Octets of a file that is read at all."""
RECALIBRATE = "`tailback calibrate` makes another one"
SAME = ("name", "processor", "cores")
"""Fields of the machine that make it the same one; the kernel is looked at by itself."""


def read_profile(path: Path | str) -> Profile:
    """The profile in a file. Raises BadInput, with its name, for what is none."""
    path = Path(path)
    source = str(path)
    try:
        with path.open("rb") as file:
            octets = file.read(LARGEST + 1)
    except OSError as error:
        raise BadInput(source, f"cannot be read as a device profile: {error.strerror}") from error
    if len(octets) > LARGEST:
        raise BadInput(source, f"is no device profile: it has more than {LARGEST} octets")
    try:
        data = bounded_json.loads(octets.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadInput(
            source, f"is no device profile, or is damaged: {error}; {RECALIBRATE}"
        ) from error
    return parse_profile(source, data)


def parse_profile(source: str, data: Any) -> Profile:
    """The profile in data as JSON has it. Raises BadInput with every mistake in it."""
    if not isinstance(data, dict) or "tailback_profile" not in data:
        raise BadInput(
            source, f"is no device profile: key tailback_profile is missing; {RECALIBRATE}"
        )
    if data["tailback_profile"] != FORMAT or isinstance(data["tailback_profile"], bool):
        said = data["tailback_profile"]
        problem = Problem("tailback_profile", said, f"this version reads {FORMAT}; {RECALIBRATE}")
        raise BadInput(source, [problem])
    try:
        return Profile.model_validate(data)
    except ValidationError as error:
        raise BadInput(source, translate(error, Profile, data)) from None
    except (OverflowError, ValueError) as error:
        raise BadInput(source, f"is a damaged device profile: {error}; {RECALIBRATE}") from error


def profile_mismatches(profile: Profile, machine: dict[str, Any], version: str) -> list[Problem]:
    """Fields of a profile that do not fit the present machine or this version; none: it fits.

    `machine` has the keys of `orchestrator.profile.profile_model.Device`.
    """
    found = []
    for key in SAME:
        measured = getattr(profile.machine, key)
        if measured != machine[key]:
            accepted = f"this machine has {machine[key]!r}, so it is another one's; {RECALIBRATE}"
            found.append(Problem(f"machine.{key}", measured, accepted))
    if not found and profile.machine.kernel != machine["kernel"]:
        accepted = f"kernel {machine['kernel']} is running; {RECALIBRATE}"
        found.append(Problem("machine.kernel", profile.machine.kernel, accepted))
    if profile.tailback != version:
        accepted = f"this is tailback {version}, whose data path may be another; {RECALIBRATE}"
        found.append(Problem("tailback", profile.tailback, accepted))
    return found


def folder() -> Path:
    """The folder of profiles; it need not be there."""
    return user_folder(STATE) / "profiles"


def profile_file(machine: str, date: datetime.datetime) -> Path:
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


def machine_profiles(name: str) -> list[Path]:
    """The files of a machine's profiles, the newest first by the names that they were given."""
    stem = profile_file(name, datetime.datetime.now(datetime.UTC)).name.rpartition("-")[0]
    files = [path for path in folder().glob(f"{stem}-*.json") if _stamp(path, stem)]
    return sorted(files, key=lambda path: path.name, reverse=True)


def newest(name: str) -> tuple[Path, Profile] | None:
    """The newest profile of a machine; None where there is none. Raises BadInput, damaged."""
    for path in machine_profiles(name):
        return path, read_profile(path)
    return None


def _stamp(path: Path, stem: str) -> bool:
    return re.fullmatch(r"\d{8}T\d{6}Z", path.stem.removeprefix(f"{stem}-")) is not None
