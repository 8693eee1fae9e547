"""Comparison of a plan across targets: bit-exact on several cores, statistical on other targets.

What several seeds do on `simulated` says how far a run may be off: a count of another target has to
lie within their range, widened by as much again on both sides, by a share and by a few frames,
since no machine keeps time to the picosecond.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator.errors import Refused, TailbackError
from orchestrator.hunt.looking import SIMULATED, Finding, NoPlan, check_plan
from orchestrator.plan import ResolvedPlan
from orchestrator.progress import silent
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.verdict import INVALID

COUNTED = ("frames_sent", "frames_received", "frames_dropped", "frames_marked", "feedback_sent")
OF_FLOWS = ("frames_sent", "frames_received")
NOT_UNDERSTOOD = "not understood"
"""Names of targets for frames that no node of their run has sent (`lost_outside_queues`)."""
SEEDS = 5
SHARE = 0.05
"""Of a count, by which a target may be off beyond what seeds do."""
FRAMES = 3
"""And so many: those that are on their way when a run ends."""


@dataclass
class OnCores:
    """A check: the same run in two parts measures the same, bit for bit."""

    cut: int = 0
    """Plans that were run so."""
    whole: int = 0
    """Plans that cannot be: no delay parts their nodes."""

    def __call__(self, resolved: ResolvedPlan, recording: Recording) -> Finding | None:
        """None as well for a run that cannot be cut."""
        from orchestrator.assembly import record
        from orchestrator.targets.parallel.parts import split
        from orchestrator.targets.parallel.threads import Parts

        nodes = split(resolved, 2)
        if len(nodes) < 2:
            self.whole += 1
            return None
        self.cut += 1
        several = Parts(resolved, nodes)
        several.run(lambda now: None)
        shares = list(zip(several.assemblies, several.nodes, strict=True))
        other = record(SIMULATED, shares, cpu_s=0.0, wall_s=0.0)
        return unequal("two cores", recording, other)


def unequal(whom: str, one: Recording, other: Recording) -> Finding | None:
    """The first sample in which two recordings of a plan differ."""
    what = f"differs: {whom}"
    if one.values.shape != other.values.shape:
        return Finding(what, f"{whom}: {other.values.shape} samples, not {one.values.shape}")
    wrong = np.argwhere(one.values != other.values)
    if not len(wrong):
        return None
    row, at = (int(place) for place in wrong[0])
    column = one.columns[at]
    values = f"{other.values[row, at]}, not {one.values[row, at]}"
    time = f"{one.times_ps[row] / 1e12:g} s"
    return Finding(what, f"{whom}: {column.entity} {column.quantity} at {time}: {values}")


@dataclass
class Elsewhere:
    """A check: another target counts what `simulated` does, as far as seeds agree about it."""

    target: str
    compared: int = 0
    """Plans that ran there."""
    refused: int = 0
    """Plans that it cannot run."""
    distorted: int = 0
    """Plans whose run there its machine distorted: they say nothing."""

    def __call__(self, resolved: ResolvedPlan, recording: Recording) -> Finding | None:
        """None where the target cannot run the plan, or its machine distorted the run."""
        registry = Registry.load()
        table = resolved.plan.model_dump(by_alias=True, exclude_unset=True)
        try:
            there = registry.target(self.target).run(check_plan(table, self.target), silent)
        except (NoPlan, Refused):
            self.refused += 1
            return None
        if (strange := not_understood(self.target, there)) is not None:
            return strange
        if there.fidelity is not None and there.fidelity["verdict"] == INVALID:
            self.distorted += 1
            return None
        self.compared += 1
        known = [self._of_seed(table, seed) for seed in range(SEEDS)]
        return beyond_seeds(self.target, there, [recording, *known])

    def _of_seed(self, table: dict[str, object], seed: int) -> Recording:
        resolved = check_plan(table | {"seed": seed})
        return Registry.load().target(SIMULATED).run(resolved, silent)


def not_understood(target: str, there: Recording) -> Finding | None:
    """A target does not know its own frames: no machine is to blame for that, however busy."""
    lost = (there.fidelity or {}).get("lost_outside_queues", {})
    count = sum(frames for why, frames in lost.items() if NOT_UNDERSTOOD in why)
    if not count:
        return None
    return Finding(f"not understood: {target}", f"{target}: {count} frames of its own are strange")


def beyond_seeds(target: str, there: Recording, seeds: list[Recording]) -> Finding | None:
    """The first count at the end of a run that no spread of seeds explains."""
    got, known = _counts(there), [_counts(recording) for recording in seeds]
    for place in known[0]:
        if place not in got:
            continue
        entity, quantity = place
        values = [counts[place] for counts in known]
        low, high = min(values), max(values)
        slack = (high - low) + SHARE * high + FRAMES
        if not low - slack <= got[place] <= high + slack:
            text = (
                f"{target}: {entity} {quantity} is {got[place]}; {len(values)} seeds on "
                f"{SIMULATED} have {low} to {high}"
            )
            return Finding(f"differs: {target}", text)
    return None


def _counts(recording: Recording) -> dict[tuple[str, str], int]:
    """Counts at the end of a run, by entity and quantity.

    Flows are counted together too, those of an entry: a target that knows fewer of them has no
    count that is wrong, but its sum is.
    """
    found: dict[tuple[str, str], int] = {}
    for at, column in enumerate(recording.columns):
        if column.quantity in COUNTED:
            value = int(recording.values[-1, at])
            found[column.entity, column.quantity] = value
            if column.quantity in OF_FLOWS:
                entry = f"all flows of {column.entity.partition('.')[0]}", column.quantity
                found[entry] = found.get(entry, 0) + value
    return found


def refuse_unusable(target: str) -> None:
    """Raises BadInput or Refused for a target that there is not, or not here."""
    refusal: TailbackError | None = Registry.load().target(target).probe()
    if refusal is not None:
        raise refusal
