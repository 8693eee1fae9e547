"""Advice before a run: does a machine carry the plan's load at this pace, by its profile?

A data path with too much to do holds the clock of the run back by as much as it lacks (`pace`), so
a load of 1.1 is a clock that is held for a tenth of the run: what fidelity bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from orchestrator.errors import Refused
from orchestrator.plan import ResolvedPlan
from orchestrator.profile.profile_model import Profile
from orchestrator.run.run_fidelity import HELD, LATE_P99
from orchestrator.targets.software.pace_step import SLOWEST
from orchestrator.targets.software.thread_load import Load, load_of
from orchestrator.targets.software.timing_demand import demand_of

FULL = 0.8
"""Of a core: what a pace is advised for. Beyond it frames are late before the clock is held."""


@dataclass(frozen=True)
class Advice:
    """Advice of the profile about a run."""

    load: Load
    warnings: list[str] = field(default_factory=list)
    pace: float | None = None
    """A slower one that would do; None: this one does, or none does."""
    refused: Refused | None = None

    def table(self) -> dict[str, Any]:
        """For the manifest."""
        return {
            "load_of_cores": [round(share, 4) for share in self.load.shares],
            "rates_known": self.load.known,
            "warnings": self.warnings,
            "advised_pace": self.pace,
        }


def advise(
    resolved: ResolvedPlan, profile: Profile, pace: float = 1.0, cores: int | None = None
) -> Advice:
    """Estimate whether the profile's machine carries a plan at a pace.

    It is refused where the best that was measured is less than what sources are sure to send, so
    that the run would be invalid by that alone; not by the profile of a machine that was busy with
    other things, and may hold more today.
    """
    load = load_of(resolved, profile, pace, cores)
    best = load_of(resolved, profile, pace, cores, at_best=True)
    slower = _slower(resolved, pace, FULL / load.most if load.most > 0 else 1.0)
    busy = load.groups[load.shares.index(load.most)] if load.shares else []
    what = (
        f"the core of {', '.join(busy[:3])}{' and others' if len(busy) > 3 else ''} would need "
        f"{load.most:.2f} of its time at pace {pace:g}, by the profile of {profile.date:%Y-%m-%d}"
    )
    with_pace = f"--pace {slower:g} would do" if slower is not None else "no slower pace would do"
    if best.known and profile.quiet and best.most > 1 + HELD[1]:
        remedy = f"Remedy: {with_pace}; --profile none runs it all the same."
        return Advice(load, [], slower, Refused("target software", what, remedy))
    warnings = []
    if load.most > 1 + HELD[0]:
        sure = "" if load.known else " if its sources send all that their links carry"
        warnings.append(f"{what}{sure}; {with_pace}")
    else:
        slower = None
    late, lateness = _late(resolved, profile, load, pace)
    if lateness is not None:
        warnings.append(lateness)
        slower = late if slower is None or (late is not None and late < slower) else slower
    return Advice(load, warnings, slower)


def nearest(profile: Profile, load: float) -> int:
    """The place of the departures that were measured at the least load not below this, or the
    highest."""
    rows = sorted(range(len(profile.departures)), key=lambda n: profile.departures[n].load)
    above = [row for row in rows if profile.departures[row].load >= load]
    return above[0] if above else rows[-1]


def _late(
    resolved: ResolvedPlan, profile: Profile, load: Load, pace: float
) -> tuple[float | None, str | None]:
    """A pace at which departures are in time, and the sentence that says that they would not be."""
    row = profile.departures[nearest(profile, load.most)]
    late_ns = row.lateness.p99_ns * pace
    reaction_ns = demand_of(resolved).reaction_ps / 1000
    share = late_ns / reaction_ns
    if share <= LATE_P99[0]:
        return None, None
    slower = _slower(resolved, pace, LATE_P99[0] * FULL / share)
    said = (
        f"departures would be late by {late_ns / 1000:.3g} us (p99, by the profile of "
        f"{profile.date:%Y-%m-%d}), {share:.0%} of the loop's reaction time; fidelity would be "
        f"{'invalid' if share > LATE_P99[1] else 'degraded'}"
    )
    return slower, said + (f"; --pace {slower:g} would do" if slower is not None else "")


def _slower(resolved: ResolvedPlan, pace: float, by: float) -> float | None:
    """A pace slower by a factor, rounded down to a digit; None where there is none."""
    programs = any(use.algorithm.programs for use in resolved.uses["traffic"].values())
    wanted = pace * by
    if programs or by >= 1 or wanted < SLOWEST:
        return None
    step = 10.0 ** math.floor(math.log10(wanted))
    return round(math.floor(wanted / step * (1 + 1e-12)) * step, 6)
