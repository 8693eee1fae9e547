"""Link conservation: sent = received + lost + in flight, none twice, reordered or delayed.

The data path counts frames at both ends, and the interfaces count them in between. A frame that was
sent once cannot arrive twice: the duplicate comes from outside the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.run.fidelity_thresholds import Finding, microseconds, worst_findings
from orchestrator.run.guarded_link import GuardedLink

SPURIOUS = (0.0, 1e-5)
"""Frames beyond those that were sent, or out of order, of all sent: as for losses. The
model has none; an algorithm takes each for traffic or for a loss, so a single one is reported."""
EXTRA_DELAY = (0.05, 0.15)
"""Mean excess of a link's delay over the plan's, as a share of the reaction time. A control loop
crosses two links at least: both together may add as much to its time as the lateness of a departure
may (0.10, 0.30). Unlike lateness, the excess delays every frame."""


@dataclass(frozen=True)
class LinkCounts:
    """Counts of one direction of a link by both of its ends; None: not countable."""

    entity: str
    sent: int
    """Handed to the interface."""
    received: int
    """Taken from the socket at the other end."""
    left: int | None = None
    """Sent by the interface of the sender, by its own counter."""
    dropped: int = 0
    """Dropped by the interface of the sender, by its own counter."""
    came: int | None = None
    """Received by the interface of the receiver, by its own counter."""
    departed: int | None = None
    """Sent by the emulated port, less the losses that the plan has on the link."""
    repeated: int = 0
    """Frames that arrived again; without a guard, frames of the same flow and sequence as the one
    before, beyond those sent so."""
    reordered: int = 0
    """Frames behind a later one; without a guard, data frames behind a later one of their flow,
    beyond those that were sent so."""
    delay_ps: int = 0
    """The link's delay in the plan."""
    extra_ps: int | None = None
    """Excess over it, summed over all frames; for frames in flight, until the end of the run."""
    guarded: GuardedLink | None = None
    """By frame kind, where both ends share a guard."""

    @property
    def surplus(self) -> int:
        """Frames beyond those sent, at the stage of the path with the most of them."""
        counts = [count for count in (self.sent, self.left, self.came) if count is not None]
        steps = zip(counts, [*counts[1:], self.received], strict=True)
        return max(self.repeated, *(after - before for before, after in steps))

    @property
    def lost(self) -> int:
        """Frames that one interface sent and the other did not get."""
        return max(self.left - self.came, 0) if None not in (self.left, self.came) else 0  # type: ignore[operator]

    @property
    def in_flight(self) -> int:
        """Frames that were sent and have neither arrived nor been lost, at the end of the run."""
        return max(self.sent - self.received - self.lost - self.dropped, 0)

    @property
    def mean_extra_ps(self) -> float | None:
        """Mean excess over the link's delay (ps); None where it was not measured."""
        if self.extra_ps is None or self.sent == 0:
            return None
        return max(self.extra_ps / self.sent, 0.0)

    def table(self) -> dict[str, Any]:
        """For result.json."""
        extra = self.mean_extra_ps
        return {
            **({} if self.guarded is None else self.guarded.table()),
            "sent": self.sent,
            "received": self.received,
            "lost": self.lost + self.dropped,
            "under_way": self.in_flight,
            "duplicated": max(self.surplus, 0),
            "reordered": max(self.reordered, 0),
            "delay_s": None if extra is None else (self.delay_ps + extra) / 1e12,
            "planned_delay_s": self.delay_ps / 1e12,
        }


def link_findings(crossings: Sequence[LinkCounts], reaction_ps: int) -> list[tuple[str, str]]:
    """Grades of all links against the plan, each with its reason."""
    found = list[Finding]()
    for one in crossings:
        name, sent = one.entity, max(one.sent, 1)
        counts = [
            ("brought", one.surplus, "frames that were not sent", "repeated"),
            ("brought", one.reordered, "frames out of order", "reordered"),
        ]
        if one.departed is not None:
            counts.append(("was given", one.sent - one.departed, "frames that no port sent", ""))
        for does, count, rule, counter in counts:
            count = max(count, 0)
            kinds = one.guarded.by_kind(counter) if one.guarded and counter else ""
            what, of = f"{name} {does} {count} {rule}{kinds}, which", f"the {one.sent} frames sent"
            found.append(Finding(rule, name, count / sent, SPURIOUS, what, of))
        if (extra := one.mean_extra_ps) is not None:
            took = f"{microseconds(one.delay_ps + extra)} instead of {microseconds(one.delay_ps)}"
            what = f"a frame takes {took} over {name} (mean); the difference"
            loop = f"the loop's reaction time ({microseconds(reaction_ps)})"
            found.append(
                Finding("frames kept back", name, extra / reaction_ps, EXTRA_DELAY, what, loop)
            )
        if one.guarded is not None:
            found += one.guarded.findings(name, reaction_ps)
    return worst_findings(found)
