"""Comparison of a plan across targets: bit-exact on several cores and without deferral, statistical
on other targets.

What several seeds do on `simulated` says how far a run may be off: a count of another target has to
lie within their range, widened by as much again on both sides, by a share and by a few frames,
since no machine keeps time to the picosecond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from orchestrator.capability import Capability
from orchestrator.errors import BadInput, Problem, Refused, TailbackError
from orchestrator.fuzz.branch_coverage import Branch, not_run
from orchestrator.fuzz.invariant_check import SIMULATED, Finding, InvalidPlan, Table, check_plan
from orchestrator.fuzz.python_kernel_process import PythonKernels
from orchestrator.plan import ResolvedPlan
from orchestrator.progress import silent
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.verdict import INVALID
from orchestrator.target import CoverageRecorder

# Coverage checks that run a plan on another target.
#
# Where the target runs kernels, an uncompiled worker of it notes their branches
# (`branches.PythonKernels`);
# where it has something else in their place, the target notes that itself (`Target.noting`).


class RemoteCheck(Protocol):
    """A check (`looking.Check`) that knows what was reached on its target."""

    def __call__(self, resolved: ResolvedPlan, recording: Recording) -> Finding | None:
        """Run the plan there."""

    def reach(self, table: Table) -> Finding | None:
        """The same of a plan's table, whose numbers are base units."""

    def reached(self) -> dict[str, Any]:
        """Reached and missing branches, for `--json`."""


def coverage_check(
    target: str, against: Path | None, like: Callable[[], frozenset[Branch]]
) -> AbstractContextManager[RemoteCheck]:
    """The check for a target, in a `with` block; `like`: what the last plan reached on `simulated`.

    Raises BadInput for a target of which no branches can be noted, Refused for one that cannot be
    used here.
    """
    there = Registry.load().target(target)
    if (lack := there.probe()) is not None:
        raise lack
    if (noting := there.noting()) is not None:
        return nullcontext(RecordedTarget(target, noting))
    if not {Capability.KERNELS, Capability.PACE} <= there.capabilities:
        text = "one that runs kernels at a pace, or that notes branches itself, is expected"
        raise BadInput("tailback hunt --branches", [Problem("--target", target, text)])
    return PythonKernels(against, target, like)


class RecordedTarget:
    """A target that notes for itself what its runs reach."""

    def __init__(self, target: str, noting: CoverageRecorder) -> None:
        self._target, self._noting = target, noting
        self.refused: dict[str, str] = {}
        """The plans that the target refused, and why."""

    def __call__(self, resolved: ResolvedPlan, recording: Recording) -> Finding | None:
        """Run the plan there, where it can be run."""
        return self.reach(resolved.plan.model_dump(by_alias=True, exclude_unset=True))

    def reach(self, table: Table) -> Finding | None:
        """The same of a plan's table."""
        try:
            self._noting.run(check_plan(table, self._target))
        except (InvalidPlan, BadInput, Refused) as error:
            self.refused[table["name"]] = " ".join(str(error).split())
        except TailbackError as error:
            return Finding(f"fails: {self._target}", f"{type(error).__name__}: {error}")
        return None

    def reached(self) -> dict[str, Any]:
        """Coverage that the target recorded, algorithms that it does not run, refused plans."""
        table = self._noting.reached()
        capabilities = Registry.load().target(self._target).capabilities
        others = not_run(Registry.load().algorithms, capabilities)
        refused = [{"plan": name, "reason": why} for name, why in self.refused.items()]
        return table | {"not_run": [*table["not_run"], *others], "refused": refused}


EAGER_EVENTS = 200_000_000
"""Events after which a run without deferral, of a small plan, is given up."""
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
class CoreComparison:
    """A check: the same run in two parts measures the same, bit for bit."""

    cut: int = 0
    """Plans that were run so."""
    whole: int = 0
    """Plans that cannot be: no delay parts their nodes."""

    def __call__(self, resolved: ResolvedPlan, recording: Recording) -> Finding | None:
        """None as well for a run that cannot be cut."""
        from orchestrator.assembly import record
        from orchestrator.targets.parallel.parallel_run import ParallelRun
        from orchestrator.targets.parallel.partitioning import split

        nodes = split(resolved, 2)
        if len(nodes) < 2:
            self.whole += 1
            return None
        self.cut += 1
        several = ParallelRun(resolved, nodes)
        several.run(lambda now: None)
        shares = list(zip(several.assemblies, several.nodes, strict=True))
        other = record(SIMULATED, shares, cpu_s=0.0, wall_s=0.0)
        return unequal("two cores", recording, other)


@dataclass
class EagerComparison:
    """A check: the same run in which nothing is deferred measures the same, bit for bit."""

    compared: int = 0
    """Plans that were run so."""

    def __call__(self, resolved: ResolvedPlan, recording: Recording) -> Finding | None:
        """A run of some events more: each departure and delivery of a frame is one."""
        from orchestrator.assembly import assemble, record
        from orchestrator.engine.node.event_loop import simulate

        eager = assemble(resolved, eager=True)
        if simulate(eager.world, resolved.plan.duration + 1, EAGER_EVENTS) == EAGER_EVENTS:
            return Finding("differs: eager", f"eager: not over after {EAGER_EVENTS} events")
        self.compared += 1
        shares = [(eager, list(resolved.plan.nodes))]
        return unequal("eager", recording, record(SIMULATED, shares, cpu_s=0.0, wall_s=0.0))


def unequal(whom: str, one: Recording, other: Recording) -> Finding | None:
    """The first sample in which two recordings of a plan differ, or else the first histogram,
    capture or message."""
    return _unequal_samples(whom, one, other) or _unequal_tables(whom, one, other)


def _unequal_tables(whom: str, one: Recording, other: Recording) -> Finding | None:
    """The first histogram, capture or table of messages in which two recordings differ."""
    for (name, ours), (_, theirs) in zip(_tables(one), _tables(other), strict=True):
        if not np.array_equal(ours, theirs):
            return Finding(f"differs: {whom}", f"{whom}: {name}")
    return None


def _tables(recording: Recording) -> Iterator[tuple[str, np.ndarray]]:
    """Every array of a recording but its samples, by name, in the order of the plan."""
    for entry, histogram in recording.latency.items():
        yield f"latency of {entry}", histogram
    for queue, histogram in recording.marking.items():
        yield f"marking at {queue}", histogram
    for capture in recording.captures:
        for name in ("times_ps", "outgoing", "lengths", "octets"):
            yield f"capture at {capture.port}, {name}", getattr(capture, name)
    if recording.messages is not None:
        for name in ("start_ps", "done_ps", "size"):
            yield f"messages, {name}", getattr(recording.messages, name)


def _unequal_samples(whom: str, one: Recording, other: Recording) -> Finding | None:
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
class OtherTarget:
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
        except (InvalidPlan, Refused):
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
