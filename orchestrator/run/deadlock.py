"""Deadlocks: links that hold each other by PAUSE or PFC in a ring, so that nothing moves any more.

A link that is held waits for its receiver's buffer, and that buffer for the links that its frames
leave by. When those waits close a ring, each of its links has been held without a gap until the end
of the run and the buffers between them have let no frame go, nothing in the run can end it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.names import Direction
from orchestrator.recording import Event, Recording

LEAST_ROWS = 10
LEAST_PS = 10**9
"""A ring is a deadlock when it has stood for so many rows of samples and so long, to the end."""


@dataclass(frozen=True)
class Deadlock:
    """A ring of held links, as named in results, each waiting for the next one."""

    since_ps: int
    links: tuple[str, ...]

    def as_table(self) -> dict[str, Any]:
        """For result.json."""
        return {"since_s": self.since_ps / 1e12, "links": list(self.links), "text": self.text}

    @property
    def text(self) -> str:
        """What it is, in a sentence."""
        waits = [f"{a} waits for {b}" for a, b in pairwise((*self.links, self.links[0]))]
        since = f"{self.since_ps / 1e9:.6g} ms"
        return f"nothing moves since {since} in a ring of paused links: {', '.join(waits)}"


def find(resolved: ResolvedPlan, recording: Recording) -> list[Deadlock]:
    """The rings that stand at the end of a run, each link in one of them at most."""
    plan = resolved.plan
    if not any(resolved.uses.get("pause", {}).values()) or len(recording.times_ps) < LEAST_ROWS:
        return []
    columns = {(c.entity, c.quantity): row for row, c in enumerate(recording.columns)}
    held = {}
    for way in plan.directions():
        for lane in plan.lanes():
            name = way.entity + lane.suffix
            if (name, "paused_ps") not in columns:  # its sender is one that nobody reads
                continue
            since = _held_since(recording, columns[name, "paused_ps"])
            if since is not None and not _moved(recording, columns, way, lane.suffix, since):
                held[name] = since
    found = []
    waits = {name: [other for other in after if other in held] for name, after in _waits(plan)}
    waits = {name: after for name, after in waits.items() if name in held}
    while ring := _ring(waits):
        since = max(held[name] for name in ring)
        found.append(Deadlock(int(recording.times_ps[since]), tuple(ring)))
        waits = {
            name: [other for other in after if other not in ring]
            for name, after in waits.items()
            if name not in ring
        }
    return found


def events(deadlocks: list[Deadlock]) -> list[Event]:
    """An event for each."""
    return [
        Event(one.since_ps, "deadlock", one.links[0], {"links": list(one.links), "text": one.text})
        for one in deadlocks
    ]


def _held_since(recording: Recording, column: int) -> int | None:
    """The row since which a link was held without a gap to the end; None when not long enough."""
    times = recording.times_ps
    full = np.diff(recording.values[:, column]) >= np.diff(times)
    gaps = np.flatnonzero(~full)
    row = int(gaps[-1]) + 1 if len(gaps) else 0
    long_enough = len(times) - 1 - row >= LEAST_ROWS and times[-1] - times[row] >= LEAST_PS
    return row if long_enough else None


def _moved(
    recording: Recording,
    columns: dict[tuple[str, str], int],
    way: Direction,
    suffix: str,
    since: int,
) -> bool:
    """Whether the receiver's input buffer, if it has one, let a frame go since."""
    column = columns.get((way.receiver.input + suffix, "frames_out"))
    if column is None:
        return False
    sent = recording.values[since:, column]
    return bool(sent[-1] != sent[0])


def _waits(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    """(link, links that frames which came over it leave by), for each lane that flows are in."""
    ways = plan.ways()
    by_port = {way.sender.entity: way for way in plan.directions()}
    lane_of = {p: lane.suffix for lane in plan.lanes() for p in lane.priorities}
    found: dict[str, set[str]] = {}
    for flow in plan.flows():
        entry = plan.traffic[flow.entry]
        suffix = lane_of[entry.priority]
        for destination in flow.members or (flow.destination,):
            first = ways[flow.node].get(destination, [])
            waiting = [by_port[f"{flow.node}.{port}"] for port in first]
            seen = set()
            while waiting:
                way = waiting.pop()
                if way.entity in seen:
                    continue
                seen.add(way.entity)
                here = way.receiver.node
                after = [by_port[f"{here}.{port}"] for port in ways[here].get(destination, [])]
                if here != destination:
                    names = {next_way.entity + suffix for next_way in after}
                    found.setdefault(way.entity + suffix, set()).update(names)
                    waiting += after
    for name, after_names in found.items():
        yield name, sorted(after_names)


def _ring(waits: dict[str, list[str]]) -> list[str] | None:
    """Some ring of a graph, from its first name on; None when there is none."""
    done: set[str] = set()
    for start in waits:
        path: list[str] = []
        branches = [iter([start])]
        while branches:
            name = next(branches[-1], None)
            if name is None:
                branches.pop()
                if path:
                    done.add(path.pop())
            elif name in path:
                ring = path[path.index(name) :]
                first = ring.index(min(ring))
                return ring[first:] + ring[:first]
            elif name not in done:
                path.append(name)
                branches.append(iter(waits.get(name, [])))
    return None
