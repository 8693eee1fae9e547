"""Guarded link: what the keyed checks of a link's frames found, by frame kind and window of time.

A frame whose contents changed on a link of the plan is another frame than the one that was sent: a
single one makes a run invalid. Frames of each kind are balanced: those that were sent arrive, once
and in order, with their CE marks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from orchestrator.run.fidelity_thresholds import Finding, microseconds

CHANGED = (0.0, 0.0)
"""Frames with other contents, of those of their kind that arrived. No machine does this by itself,
and one message may be enough to mislead an algorithm."""
MISSING = (0.0, 1e-5)
"""Frames of a kind that did not arrive, of those that were sent; CE marks likewise."""
DELAYED = (0.005, 0.02)
"""Frames of a kind that a link delivered later than the loop's reaction time, of all of the kind;
windows of time in which a link's mean delay stalled the loop, of all. The same shares as of
departures (`run_fidelity.DISPLACED`)."""
EXTRA_DELAY = (0.05, 0.15)
"""Mean excess of a link's delay for one kind of frame, as a share of the reaction time: as for all
frames (`link_conservation.EXTRA_DELAY`)."""
BOUNDS = {"changed_share": CHANGED, "missing_share": MISSING, "late_share": DELAYED}
"""For result.json."""
STALLED = 0.3
"""Extra delay by which a link stalls a loop, as a share of the reaction time: more than twice the
horizon (a tenth of that time) by which a data path's own stalls delay frames."""
LEAST_FRAMES, LEAST_WINDOWS = 200, 32
"""Frames and windows that a share is taken of at the least: one late frame of three is no share."""


@dataclass(frozen=True)
class KindCounts:
    """Frames of one kind over one direction of a link."""

    sent: int = 0
    received: int = 0
    """All that arrived, copies included."""
    changed: int = 0
    """Arrived with other contents than those of any frame that was sent over this link."""
    repeated: int = 0
    """Arrived again."""
    reordered: int = 0
    """Arrived behind a frame that was sent later."""
    missing: int = 0
    """Sent, never arrived, and not in flight at the end of the run."""
    delayed: int = 0
    """Arrived later than due by more than the loop's reaction time."""
    timed: int = 0
    """Frames whose delay is known."""
    extra_ps: int = 0
    """Sum of their delays beyond the plan's."""
    longest_ps: int = 0

    def table(self) -> dict[str, Any]:
        """For result.json."""
        names = ("sent", "received", "changed", "repeated", "reordered", "missing")
        return {name: getattr(self, name) for name in (*names, "delayed", "timed")} | {
            "extra_delay_s": self.extra_ps / max(self.timed, 1) / 1e12,
            "extra_delay_max_s": self.longest_ps / 1e12,
        }


@dataclass(frozen=True)
class GuardedLink:
    """Counts of one direction of a link by frame kind, and its delays beyond the plan's."""

    kinds: Mapping[str, KindCounts] = field(default_factory=dict)
    marks_sent: int = 0
    """Frames that were sent with a CE mark."""
    marks_received: int = 0
    extra_mean_ps: float = 0.0
    """Mean delay beyond the plan's."""
    extra_p99_ps: float = 0.0
    extra_max_ps: float = 0.0
    stall_mean_ps: float = 0.0
    """The same mean with delays that stall no loop (STALLED) taken for 0."""
    stall_rms_ps: float = 0.0
    """Root of the mean square of those delays."""
    windows: int = 0
    """Windows of time in which frames were sent."""
    stalled_windows: int = 0
    """Those whose mean delay stalled the loop."""
    worst_window_ps: int = 0
    """Beginning of the window with the longest delay."""

    def total(self, name: str) -> int:
        """A count of all kinds together."""
        return sum(getattr(one, name) for one in self.kinds.values())

    def by_kind(self, name: str) -> str:
        """Text of a count by kind, in brackets: ` (3 CNM, 1 data)`; empty where there is none."""
        counts = {kind: getattr(one, name) for kind, one in self.kinds.items()}
        text = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        return f" ({text})" if text else ""

    @property
    def marks_cleared(self) -> int:
        """CE marks that were sent and did not arrive on any frame, though their frames did."""
        absent = sum(max(one.sent - one.received, 0) for one in self.kinds.values())
        return max(self.marks_sent - self.marks_received - absent, 0)

    @property
    def marks_added(self) -> int:
        """CE marks that arrived and that no congestion point had set."""
        return max(self.marks_received - self.marks_sent - self.total("repeated"), 0)

    def table(self) -> dict[str, Any]:
        """For result.json."""
        return {
            "kinds": {name: one.table() for name, one in self.kinds.items()},
            "marks": {
                "sent": self.marks_sent,
                "received": self.marks_received,
                "cleared": self.marks_cleared,
                "added": self.marks_added,
            },
            "extra_delay_s": {
                "mean": self.extra_mean_ps / 1e12,
                "p99": self.extra_p99_ps / 1e12,
                "max": self.extra_max_ps / 1e12,
                "stall_mean": self.stall_mean_ps / 1e12,
                "stall_rms": self.stall_rms_ps / 1e12,
            },
            "windows": {
                "used": self.windows,
                "stalled": self.stalled_windows,
                "worst_at_s": self.worst_window_ps / 1e12,
            },
        }

    def findings(self, link: str, reaction_ps: int) -> list[Finding]:
        """Rules of one direction of a link, each with its share."""
        found = list[Finding]()
        for kind, one in self.kinds.items():
            found += _of_kind(link, kind, one, reaction_ps)
        for what, count, rule in (
            ("delivered", self.marks_cleared, "frames without the CE mark they were sent with"),
            ("delivered", self.marks_added, "CE marks that no congestion point set"),
        ):
            of = f"the {self.marks_sent} CE marks sent over it"
            share = count / max(self.marks_sent, 1)
            text = f"{link} {what} {count} {rule}: that"
            found.append(Finding(rule, link, share, MISSING, text, of))
        stalled = stalled_share(self.stalled_windows, self.windows)
        what = (
            f"{link} delayed frames by more than {microseconds(STALLED * reaction_ps)} on the mean "
            f"in {self.stalled_windows} of {self.windows} windows of time (by up to "
            f"{microseconds(self.extra_max_ps)}, at {self.worst_window_ps / 1e12:.3g} s): that"
        )
        found.append(Finding("stalls of a link", link, stalled, DELAYED, what, "the run's time"))
        return found


def stalled_share(stalled: int, windows: int) -> float:
    """Share of windows that are stalled; a single one is a single stall, which lateness judges."""
    return stalled / max(windows, LEAST_WINDOWS) if stalled > 1 else 0.0


MOST_LINKS = 100_000
_LINKS = TypeAdapter(dict[str, GuardedLink], config=ConfigDict(strict=True))


def read(record: Any) -> dict[str, GuardedLink]:
    """Guarded links by direction, from the words of a file (`asdict` of each).

    Raises ValueError for anything else.
    """
    if isinstance(record, dict) and len(record) > MOST_LINKS:
        raise ValueError(f"{len(record)} links, more than {MOST_LINKS}")
    return _LINKS.validate_json(json.dumps(record))


def _of_kind(link: str, kind: str, one: KindCounts, reaction_ps: int) -> list[Finding]:
    reaction = f"the loop's reaction time ({microseconds(reaction_ps)})"
    mean = one.extra_ps / max(one.timed, LEAST_FRAMES)
    return [
        Finding(
            f"{kind} frames with changed contents",
            link,
            one.changed / max(one.received, 1),
            CHANGED,
            f"{link} changed the contents of {one.changed} {kind} frames: that",
            f"the {one.received} that arrived",
        ),
        Finding(
            f"{kind} frames that did not arrive",
            link,
            one.missing / max(one.sent, 1),
            MISSING,
            f"{link} did not deliver {one.missing} {kind} frames: that",
            f"the {one.sent} sent",
        ),
        Finding(
            f"late {kind} frames",
            link,
            one.delayed / max(one.timed, LEAST_FRAMES),
            DELAYED,
            f"{link} delivered {one.delayed} {kind} frames later than {reaction}: that",
            f"the {one.timed} that arrived",
        ),
        Finding(
            f"{kind} frames kept back",
            link,
            mean / reaction_ps,
            EXTRA_DELAY,
            f"{link} kept {kind} frames back by {microseconds(mean)} on the mean: that",
            reaction,
        ),
    ]
