"""Feeding a node's world what a capture says came in, and collecting what it sends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orchestrator.assembly import Assembly
from orchestrator.node.records import DATA, FRAME
from traces.replay import driven
from traces.replay.reference import rows_of
from traces.replay.sightings import Reader, Sighted, merged, sightings
from traces.replay.witnesses import Node

ROOM = 1 << 14
"""Frames that a node can send before they are looked at."""
CLOSES = 64
TRACES = 1 << 12
LAST = 1 << 62
Ranks = Mapping[tuple[int, int], int]
Met = Callable[[np.ndarray, np.ndarray, np.ndarray], None]
"""Gets times (ps), frames and what they met, int64[n, 2]: octets of a queue before and after."""
Take = Callable[[np.ndarray, np.ndarray, bool], Any]
"""Gets what was sent (FRAME[n], `due` in ps), its wires int64[n], and whether that is all; what it
answers ends the feeding unless it is None."""


@dataclass(frozen=True)
class Timing:
    """How a capture's clock relates to the run's."""

    epoch_ns: int
    until_ns: int
    """Nothing is predicted behind this."""
    through: bool
    """A real-time loop: at a frame's arrival everything that was due has happened."""
    late_ns: int
    """How much later than it was due a frame may be captured."""
    nudges: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """By node, inputs whose time is taken to be at the end of its nanosecond."""


class Feeder:
    """One world and its inputs."""

    def __init__(
        self,
        built: Assembly,
        node: Node,
        timing: Timing,
        ranks: Ranks,
        watch: tuple[str, int] | None = None,
    ) -> None:
        self.built, self.node, self.timing, self.ranks = built, node, timing, ranks
        self.state = driven.new_state()
        if watch is not None:
            self.state[driven.WATCHED] = watch[1]
            self.state[driven.WATCH_QUEUE] = watch[0] == "queues"
        self.sent = np.zeros(ROOM, FRAME).view(np.recarray)
        self.sent_wires = np.zeros(ROOM, np.int64)
        self.closes = np.zeros(CLOSES, np.int64)
        self.trace = np.zeros(TRACES, driven.TRACE).view(np.recarray)
        self.inputs_met: Met | None = None
        self.near: list[int] = []
        """Inputs so close to an event of the node that either may have been first."""
        self.fed = 0

    def run(self, take: Take) -> Any:
        """Feed everything; what `take` answered, None at the end."""
        for times, rows, frames in self._inputs():
            answer = self._feed(times, rows, frames, take)
            self.fed += len(times)
            if answer is not None:
                return answer
        return self._finish(take)

    def _hand_over(self, take: Take, last: bool) -> Any:
        count = int(self.state[driven.SENT])
        self.state[driven.SENT] = 0
        return take(self.sent[:count], self.sent_wires[:count], last)

    def _inputs(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Times (ps), port rows and frames of what came in."""
        order = {row: index for index, row in enumerate(self._peer_rows())}
        places = [self.node.inputs[index] for index in order.values()]
        rows = rows_of(self.built, [place.port for place in places])
        timing = self.timing
        readers = [Reader(sightings(p, timing.epoch_ns, timing.until_ns)) for p in places]
        nudged = np.array(sorted(timing.nudges.get(self.node.name, ())), np.int64)
        done = 0
        for seen, owner in merged(readers):
            if self.ranks:
                _put_in_rank(seen, owner, self.ranks)
            times = seen.times_ns * 1000
            mine = nudged[(nudged >= done) & (nudged < done + len(times))] - done
            times[mine] += driven.RESOLUTION_PS - 1
            times = np.maximum.accumulate(times)
            done += len(times)
            yield times, rows[owner], seen.frames

    def _peer_rows(self) -> list[int]:
        """Inputs by the row of the port that sends to them: the simulator's order of ties."""
        plan = self.built.resolved.plan
        senders = {way.receiver.entity: way.sender.entity for way in plan.directions()}
        rows = [self.built.indices.port_rows[senders[place.port]] for place in self.node.inputs]
        return [i for _, i in sorted(zip(rows, range(len(rows)), strict=True))]

    def _feed(self, times: np.ndarray, rows: np.ndarray, frames: np.ndarray, take: Take) -> Any:
        known = frames["kind"] >= 0
        times, rows, frames = times[known], rows[known], frames[known].view(np.recarray)
        self.state[driven.NEXT] = 0
        met = np.zeros((len(times), 2), np.int64)
        while True:
            self.state[driven.CLOSE] = 0
            answer = driven.drive(
                self.built.world,
                self.state,
                times,
                rows,
                frames,
                self.timing.through,
                self.sent,
                self.sent_wires,
                self.closes,
                self.trace,
                met,
            )
            count = min(int(self.state[driven.CLOSE]), CLOSES)
            near = [self.fed + int(one) for one in self.closes[:count]]
            self.near = sorted(self.near + near)[-CLOSES:]
            taken = self._hand_over(take, False)
            if answer == driven.MORE and self.inputs_met is not None:
                self.inputs_met(times, frames, met)
            if taken is not None or answer == driven.MORE:
                return taken

    def _finish(self, take: Take) -> Any:
        """Everything has come in: carry out the rest."""
        until = self.timing.until_ns * 1000 + 999
        while True:
            answer = driven.run_until(
                self.built.world,
                self.state,
                until,
                True,
                self.sent,
                self.sent_wires,
                self.trace,
            )
            taken = self._hand_over(take, answer == driven.MORE)
            if taken is not None or answer == driven.MORE:
                return taken

    def traced(self) -> np.ndarray:
        """TRACE[n]: what was watched, the last changes of it."""
        count = int(self.state[driven.TRACED])
        if count <= TRACES:
            return np.asarray(self.trace[:count])
        return np.roll(self.trace, -(count % TRACES))


def _put_in_rank(seen: Sighted, owner: np.ndarray, ranks: Ranks) -> None:
    """Order frames of one nanosecond by rank; those without one, which found no room, come last."""
    times = seen.times_ns
    begins = np.flatnonzero(np.diff(times, prepend=times[0] - 1))
    ends = np.append(begins[1:], len(times))
    for begin, end in zip(begins[ends - begins > 1], ends[ends - begins > 1], strict=True):
        keys = [ranks.get(key_of(frame), LAST) for frame in seen.frames[begin:end]]
        order = begin + np.argsort(keys, kind="stable")
        for array in (seen.frames, seen.octets, seen.numbers, owner):
            array[begin:end] = array[order].copy()


def key_of(frame: np.ndarray) -> tuple[int, int]:
    """What tells a data frame from all others."""
    return int(frame["flow"]), int(frame["sequence"])


def ranks_of(node: Node, timing: Timing) -> Ranks:
    """Places among the captured departures of frames that came in at one nanosecond through
    several ports: a queue keeps their order, which the separate captures do not tell."""
    if len(node.inputs) < 2:
        return {}
    tied: set[tuple[int, int]] = set()
    readers = [Reader(sightings(p, timing.epoch_ns, timing.until_ns)) for p in node.inputs]
    for seen, _ in merged(readers):
        same = np.diff(seen.times_ns) == 0
        rows = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
        tied.update(key_of(frame) for frame in seen.frames[rows] if frame["kind"] == DATA)
    ranks: dict[tuple[int, int], int] = {}
    for place in node.outputs if tied else ():
        for seen in sightings(place, timing.epoch_ns, timing.until_ns + timing.late_ns):
            data = seen.frames[seen.frames["kind"] == DATA]
            for frame in data:
                if (key := key_of(frame)) in tied:
                    ranks[key] = len(ranks)
    return ranks
