"""Deadlock detection: cycles of links that hold each other by PAUSE or PFC.

A paused link waits for its receiver's buffer, and that buffer for the links that its frames leave
by (`orchestrator.plan.pause_dependencies`). A deadlock is a cycle of these waits in which each link
was paused
without a gap until the end of the run and the buffers between them sent no frame: nothing in the
run can end it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from orchestrator.plan import ResolvedPlan
from orchestrator.plan.cyclic_dependencies import wait_cycles
from orchestrator.plan.pause_dependencies import Network, Wait, network
from orchestrator.recording import Event, Recording

STORM_QUANTITIES = {"storm": "storms", "storm over": "storms_over"}
"""Kind of event -> the quantity that counts it."""


def storm_events(recording: Recording) -> list[Event]:
    """Events of the starts and ends of storms, each at the first sample that counts it."""
    found: list[Event] = []
    for row, column in enumerate(recording.columns):
        for kind, quantity in STORM_QUANTITIES.items():
            if column.quantity != quantity:
                continue
            grew = np.diff(recording.values[:, row], prepend=0)
            for place in np.flatnonzero(grew > 0).tolist():
                at = int(recording.times_ps[place])
                found.append(Event(at, kind, column.entity, {"count": int(grew[place])}))
    return sorted(found, key=lambda event: event.time_ps)


LEAST_ROWS = 10
LEAST_PS = 10**9
"""Least number of sample rows and least time (ps) up to the end that make a cycle a deadlock."""


@dataclass(frozen=True)
class Deadlock:
    """Cycle of paused links, as named in results, each waiting for the next one."""

    since_ps: int
    links: tuple[str, ...]

    def as_table(self) -> dict[str, Any]:
        """For result.json."""
        return {"since_s": self.since_ps / 1e12, "links": list(self.links), "text": self.text}

    @property
    def text(self) -> str:
        """Sentence that describes the deadlock."""
        waits = [f"{a} waits for {b}" for a, b in pairwise((*self.links, self.links[0]))]
        since = f"{self.since_ps / 1e9:.6g} ms"
        return f"nothing moves since {since} in a ring of paused links: {', '.join(waits)}"


def find_deadlocks(
    resolved: ResolvedPlan, recording: Recording, waits: Network | None = None
) -> list[Deadlock]:
    """Cycles that persist at the end of a run, each link in one of them at most.

    `waits`: those of the plan's network, if the caller has them.
    """
    plan = resolved.plan
    if not any(resolved.uses.get("pause", {}).values()) or len(recording.times_ps) < LEAST_ROWS:
        return []
    columns = {(c.entity, c.quantity): row for row, c in enumerate(recording.columns)}
    held = {}
    for way in plan.directions():
        for lane in plan.lanes():
            name = way.entity + lane.suffix
            if (name, "paused_ps") not in columns:  # its sender's counters are not read
                continue
            left = columns.get((way.receiver.input + lane.suffix, "frames_out"))
            since = _stuck_since(recording, columns[name, "paused_ps"], left)
            if since is not None:
                held[name] = since
    still = Network(waits=dict(_standing(recording, columns, waits or network(resolved), held)))
    found = []
    while knots := wait_cycles(still):
        for ring in knots:
            since = max(held[name] for name in ring.links)
            found.append(Deadlock(int(recording.times_ps[since]), ring.links))
        deadlocked = {name for ring in knots for name in ring.links}
        still.waits = {
            pair: why for pair, why in still.waits.items() if deadlocked.isdisjoint(pair)
        }
    return found


def deadlock_events(deadlocks: list[Deadlock]) -> list[Event]:
    """One event for each deadlock."""
    return [
        Event(one.since_ps, "deadlock", one.links[0], {"links": list(one.links), "text": one.text})
        for one in deadlocks
    ]


def _stuck_since(recording: Recording, held: int, left: int | None) -> int | None:
    """Row since which a link was paused without a gap to the end and the input behind it, if any,
    sent no frame; None when that is too short.

    `held`, `left`: columns of the link's `paused_ps` and of the input's `frames_out`. A link may be
    paused long before the cycle closes: until then its input still sends frames.
    """
    times = recording.times_ps
    stuck = np.diff(recording.values[:, held]) >= np.diff(times)
    if left is not None:
        stuck &= np.diff(recording.values[:, left]) == 0
    gaps = np.flatnonzero(~stuck)
    row = int(gaps[-1]) + 1 if len(gaps) else 0
    long_enough = len(times) - 1 - row >= LEAST_ROWS and times[-1] - times[row] >= LEAST_PS
    return row if long_enough else None


def _standing(
    recording: Recording,
    columns: dict[tuple[str, str], int],
    network: Network,
    held: Mapping[str, int],
) -> Iterator[tuple[tuple[str, str], Wait]]:
    """The waits between paused links; of an output queue only while it holds frames."""
    for (link, after), wait in network.waits.items():
        if link not in held or after not in held:
            continue
        column = columns.get((wait.buffer, "queue_frames"))
        at_input = "/in" in wait.buffer
        if at_input or (column is not None and recording.values[-1, column] > 0):
            yield (link, after), wait
