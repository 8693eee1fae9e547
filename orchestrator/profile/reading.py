"""Reader of profile files, and a check that a profile matches this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orchestrator.errors import BadInput, Problem
from orchestrator.plan.translate import translate
from orchestrator.profile.model import FORMAT, Profile

LARGEST = 4_000_000
"""Octets of a file that is read at all."""
AGAIN = "`tailback calibrate` makes another one"
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
        data = json.loads(octets.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadInput(source, f"is no device profile, or is damaged: {error}; {AGAIN}") from error
    return parse_profile(source, data)


def parse_profile(source: str, data: Any) -> Profile:
    """The profile in data as JSON has it. Raises BadInput with every mistake in it."""
    if not isinstance(data, dict) or "tailback_profile" not in data:
        raise BadInput(source, f"is no device profile: key tailback_profile is missing; {AGAIN}")
    if data["tailback_profile"] != FORMAT or isinstance(data["tailback_profile"], bool):
        said = data["tailback_profile"]
        problem = Problem("tailback_profile", said, f"this version reads {FORMAT}; {AGAIN}")
        raise BadInput(source, [problem])
    try:
        return Profile.model_validate(data)
    except ValidationError as error:
        raise BadInput(source, translate(error, Profile, data)) from None
    except (OverflowError, ValueError) as error:
        raise BadInput(source, f"is a damaged device profile: {error}; {AGAIN}") from error


def strange(profile: Profile, machine: dict[str, Any], version: str) -> list[Problem]:
    """Fields of a profile that do not fit the present machine or this version; none: it fits.

    `machine` has the keys of `orchestrator.profile.model.Device`.
    """
    found = []
    for key in SAME:
        told = getattr(profile.machine, key)
        if told != machine[key]:
            accepted = f"this machine has {machine[key]!r}, so it is another one's; {AGAIN}"
            found.append(Problem(f"machine.{key}", told, accepted))
    if not found and profile.machine.kernel != machine["kernel"]:
        accepted = f"kernel {machine['kernel']} is running; {AGAIN}"
        found.append(Problem("machine.kernel", profile.machine.kernel, accepted))
    if profile.tailback != version:
        accepted = f"this is tailback {version}, whose data path may be another; {AGAIN}"
        found.append(Problem("tailback", profile.tailback, accepted))
    return found
