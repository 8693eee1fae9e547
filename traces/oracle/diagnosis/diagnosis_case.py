"""Input and result of a diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from orchestrator.plan import ResolvedPlan
from traces.oracle.node_check import Deviation, Expected, Outcome, SeenFrame
from traces.oracle.reference_model import Variant

SOON_NS = 100_000
"""Departures of several ports within this time are one."""
NS_PER_MS = 1e6
PS_PER_S = 10**12
Watch = tuple[str, int]
"""("limiters" or "queues", row)."""


@dataclass
class Diagnosis:
    """The rule, and why it is thought to be that one."""

    rule: str
    why: str
    variant: Variant | None = None
    others: list[str] = field(default_factory=list)
    """Rules that would explain the capture just as well."""


@dataclass
class Case:
    """A deviation with the means to examine it."""

    resolved: ResolvedPlan
    departure: Deviation
    reached: float
    """Time up to which the reference agreed (ns)."""
    late_ns: int
    """Accepted lateness of a frame."""
    attempt: Callable[[Variant, Watch | None], Outcome | None]
    """Checks the node against a variant."""
    state_at: Callable[[int, Watch | None], Outcome]
    """The unconditioned reference at a time (ns)."""

    @cached_property
    def state(self) -> Outcome:
        """The reference just before the departure."""
        return self.state_at(self.departure.time_ns - 1, None)

    @property
    def port(self) -> Any:
        """The port that it departs at, in that state."""
        rows = self.state.assembly.indices.port_rows
        return self.state.assembly.world.ports[rows[self.departure.port]]

    @property
    def capture_delay_ns(self) -> int:
        """Time from the start of the frame that deviates to its capture."""
        return int(self.port.delay) // 1000 + self.slot_ns

    @property
    def slot_ns(self) -> int:
        """Time on the wire of the frame that deviates."""
        port, one = self.port, self.departure.seen or self.departure.expected
        octets = int(port.overhead) + (0 if one is None else int(one.frame["length"]))
        return octets * 8 * PS_PER_S // int(port.rate) // 1000

    @property
    def expected(self) -> list[Expected]:
        """Predicted frames, from the deviation on."""
        return [e for e in (self.departure.expected, *self.departure.expected_next) if e]

    @property
    def seen(self) -> list[SeenFrame]:
        """Captured frames, from the deviation on."""
        return [s for s in (self.departure.seen, *self.departure.seen_next) if s]


def kind_of(one: Expected | SeenFrame | None) -> int:
    """The kind of a frame; -1: there is none."""
    return -1 if one is None else int(one.frame["kind"])


def key_of(one: Expected | SeenFrame) -> tuple[int, ...]:
    """Identity of a frame among all others."""
    return tuple(int(one.frame[name]) for name in ("kind", "flow", "sequence"))


def is_early(departure: Deviation) -> bool:
    """True if a frame came before it should have; otherwise one did not come when it should."""
    if departure.expected is None:
        return True
    if departure.seen is None:
        return False
    return departure.seen.time_ns < departure.expected.due_ps // 1000


def explanations(
    case: Case, variants: Sequence[Variant], watch: Watch | None = None
) -> list[tuple[Outcome, Variant]]:
    """The variants that agree with the capture for longer than the reference, the best first."""
    found = []
    for variant in variants:
        outcome = case.attempt(variant, watch)
        if outcome is not None and outcome.reached_ns > case.reached:
            found.append((outcome, variant))
    return sorted(found, key=lambda one: (one[0].reached_ns, one[0].agreed), reverse=True)


def explained(case: Case, found: list[tuple[Outcome, Variant]]) -> Diagnosis | None:
    """The best explanation as a diagnosis, if there is one."""
    if not found:
        return None
    outcome, variant = found[0]
    far = outcome.reached_ns, outcome.agreed
    if outcome.departure is None:
        why = f"{variant.what}: that explains the rest of the capture"
    else:
        more = (outcome.reached_ns - case.reached) / NS_PER_MS
        why = f"{variant.what}: that explains {more:.3f} ms more"
    alike = [other for one, other in found[1:] if (one.reached_ns, one.agreed) == far]
    return Diagnosis(variant.rule, why, variant, [f"{one.rule}: {one.what}" for one in alike])


def changes(outcome: Outcome, since_ns: float) -> int:
    """Number of rate changes of the watched limiter since a time."""
    rows = outcome.trace
    changed = np.flatnonzero(np.diff(rows["rate"]) != 0) + 1
    times = rows["time"][changed] // 1000
    return int(((times > since_ns) & (times < outcome.reached_ns)).sum())
