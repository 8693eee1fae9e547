"""Runs one small plan step by step on `simulated` and checks the invariants after every step."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import BadInput, Refused, TailbackError
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.recording import Recording
from orchestrator.registry import Registry

Table = dict[str, Any]

STEPS = 8
"""Between so many equal parts of a run its world is looked through."""
MOST_EVENTS = 100_000
"""Events of a small plan; one that has more is left at that."""
SIMULATED = "simulated"


@dataclass(frozen=True)
class Finding:
    """Something that must not be. Two findings with the same `what` are one fault."""

    what: str
    """Of which kind: the invariant, or the place in the code."""
    text: str
    """With names and numbers of this plan."""


@dataclass(frozen=True)
class CheckedPlan:
    """Result of a plan."""

    finding: Finding | None
    frames: int = 0
    """Data frames that its sources made."""
    recording: Recording | None = None
    """None where it was not run to its end."""
    resolved: ResolvedPlan | None = None


Check = Callable[[ResolvedPlan, Recording], Finding | None]
"""Looks at a plan that has run, and may run it elsewhere."""


class InvalidPlan(Exception):
    """The drawn table is no valid plan, or not for this target."""


def check_plan(table: Table, target: str = SIMULATED) -> ResolvedPlan:
    """The plan of a table whose numbers are base units. Raises NoPlan."""
    registry = Registry.load()
    try:
        resolved = Plan(**(table | {"target": target})).check(registry)
        registry.target(target).check(resolved, registry.targets)
    except (BadInput, Refused) as error:
        raise InvalidPlan(str(error)) from None
    return resolved


def check_table(table: Table, checks: tuple[Check, ...] = ()) -> CheckedPlan:
    """Run a plan and look at it, then have it looked at by `checks`. Raises NoPlan."""
    return check_invariants(check_plan(table), checks)


def check_invariants(resolved: ResolvedPlan, checks: tuple[Check, ...] = ()) -> CheckedPlan:
    """`check_table`, for a plan that was checked already."""
    from orchestrator.assembly import assemble

    try:
        assembly = assemble(resolved)
    except TailbackError as error:
        raise InvalidPlan(str(error)) from None
    try:
        finding, ended = _steps(resolved, assembly)
        frames = int(assembly.world.flows["sequence"].sum())
        if finding is not None or not ended:
            return CheckedPlan(finding, frames)
        recording = _recorded(assembly)
        finding = _of_samples(resolved, recording)
        for check in checks:
            finding = finding or check(resolved, recording)
        return CheckedPlan(finding, frames, recording, resolved)
    except TailbackError as error:
        return CheckedPlan(Finding(f"failed: {type(error).__name__}", str(error)))
    except AssertionError as error:
        return CheckedPlan(_asserted(error), int(assembly.world.flows["sequence"].sum()))
    except Exception as error:
        place = _error_location(error)
        text = "".join(traceback.format_exception_only(error)).strip()
        return CheckedPlan(Finding(f"crash: {type(error).__name__} in {place}", f"{place}: {text}"))


def _steps(resolved: ResolvedPlan, assembly: Any) -> tuple[Finding | None, bool]:
    """Run it, looking between the steps: what was found, and whether it came to its end."""
    from orchestrator.engine.node.event_loop import simulate
    from orchestrator.run.frame_audit import audit
    from orchestrator.run.world_invariants import Limits, broken_in_world

    world, duration = assembly.world, resolved.plan.duration
    limits, names = Limits.of(resolved), list(assembly.indices.queues)
    for step in range(1, STEPS + 1):
        until = duration * step // STEPS + 1
        left = MOST_EVENTS - int(world.clock[0].events + world.clock[0].unseen)
        if simulate(world, until, left) == left:
            return None, False
        if violations := broken_in_world(world, limits, names):
            return _invariant(violations[0]), False
        audit(world)
    return None, True


def _recorded(assembly: Any) -> Recording:
    from orchestrator.assembly import record

    nodes = list(assembly.resolved.plan.nodes)
    return record(SIMULATED, [(assembly, nodes)], cpu_s=0.0, wall_s=0.0)


def _of_samples(resolved: ResolvedPlan, recording: Recording) -> Finding | None:
    from orchestrator.run import buffer_conservation, world_invariants

    if violations := buffer_conservation.unbalanced_buffers(recording):
        return Finding("invariant: frames of a buffer", violations[0])
    violations = world_invariants.broken_in_samples(resolved, recording)
    return _invariant(violations[0]) if violations else None


def _invariant(text: str) -> Finding:
    return Finding(f"invariant: {text.split(': ')[1]}", text)


def _asserted(error: AssertionError) -> Finding:
    """Message of the world's audit, by the line that fails."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return Finding(f"audit: {last.line}", f"{last.name}: {last.line} {error}".strip())


def _error_location(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return frames[-1].name if frames else "?"
