"""Checks of a plan against a device profile before a run, and plans with a profile's delays."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.errors import BadInput
from orchestrator.terminal import exit_codes

if TYPE_CHECKING:
    from orchestrator.plan import Plan, ResolvedPlan
    from orchestrator.profile.profile_model import Profile

NEWEST, NONE = "newest", "none"


@dataclass(frozen=True)
class LoadedProfile:
    """Device profile and the file it was read from."""

    path: Path
    profile: Profile

    def table(self) -> dict[str, Any]:
        """For the manifest."""
        return {
            "file": str(self.path.resolve()),
            "sha256": hashlib.sha256(self.path.read_bytes()).hexdigest(),
            "date": self.profile.date.isoformat(timespec="seconds"),
            "machine": self.profile.machine.name,
        }


def machine_profile(asked: str | None) -> LoadedProfile | None:
    """The profile that is asked for: a file's, "none", or (the default) the newest of this machine.

    One that is named and does not fit this machine raises BadInput; the newest is left out then,
    and stderr says why.
    """
    from orchestrator import __version__
    from orchestrator.profile.profile_store import (
        machine_profiles,
        profile_mismatches,
        read_profile,
    )
    from orchestrator.run.machine_info import device

    if asked == NONE:
        return None
    here = device()
    named = asked not in (None, NEWEST)
    files = [Path(str(asked))] if named else machine_profiles(here["name"])[:1]
    if asked == NEWEST and not files:
        said = f"there is no profile of {here['name']}; `tailback calibrate` makes one"
        raise BadInput("--profile", said)
    for path in files:
        try:
            profile = read_profile(path)
            if problems := profile_mismatches(profile, here, __version__):
                raise BadInput(str(path), problems)
        except BadInput as error:
            if named:
                raise
            exit_codes.say(f"the device profile is not used: {error}")
            return None
        return LoadedProfile(path, profile)
    return None


def check_capacity(
    known: LoadedProfile | None, resolved: ResolvedPlan, pace: float | None, cores: int | None
) -> dict[str, Any] | None:
    """Say what the machine may not hold; for the manifest. Raises Refused for what it cannot."""
    from orchestrator.targets.software.capacity_advice import advise

    if known is None:
        return None
    advice = advise(resolved, known.profile, 1.0 if pace is None else pace, cores)
    if advice.refused is not None:
        raise advice.refused
    for warning in advice.warnings:
        exit_codes.say(warning)
    return known.table() | advice.table()


def emulated_plan(plan: Plan, file: Path, pace: float | None) -> tuple[Plan, dict[str, Any]]:
    """A plan to be simulated as the machine of a profile would run it; for the manifest."""
    from orchestrator.profile.profile_store import read_profile
    from orchestrator.targets.software.emulate_machine import emulate_machine

    known = LoadedProfile(file, read_profile(file))
    made = emulate_machine(plan, known.profile, file, 1.0 if pace is None else pace)
    return made, {**known.table(), "pace": 1.0 if pace is None else pace}
