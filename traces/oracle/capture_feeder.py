"""Feeder: delivers captured input to a node's world and collects the frames that it sends."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from orchestrator.assembly import Assembly
from orchestrator.engine.node_api import by_clock, wire_time
from orchestrator.engine.records import CNM, DATA, FRAME, NEVER, NONE
from orchestrator.plan import Switch
from traces.oracle import conditioned_reference, reference_driver, token_tolerance
from traces.oracle.captured_streams import (
    CapturedFrames,
    Reader,
    StreamSource,
    frame_stream,
    merged,
)
from traces.oracle.nic_limiter_blocks import limiter_blocks, shared_block
from traces.oracle.port_captures import Node
from traces.oracle.reference_model import rows_of
from traces.oracle.rtl_tolerance import RtlTiming
from traces.oracle.switch_bus import Bus, acts_at_once

ROOM = 1 << 14
"""Frames that a node can send before they are looked at."""
CLOSES = 1 << 12
TRACES = 1 << 12
LAST = 1 << 62
Key = tuple[int, ...]
"""Flow and sequence number of a data frame; and when it came in (ns), where that is exact: a frame
that was sent again has both of the first."""
Ranks = Mapping[Key, float]
DeviationCallback = Callable[[np.ndarray, np.ndarray, np.ndarray], None]
"""Gets times (ps), frames and what they met, int64[n, 2]: octets of a queue before and after."""
Take = Callable[[np.ndarray, np.ndarray, bool], Any]
"""Gets what was sent (FRAME[n], `due` in ps), its wires int64[n], and whether that is all; what it
answers ends the feeding unless it is None."""


Close = tuple[int, int]
"""An input or a followed departure, by its ordinal, and the time (ps) on the other side of an event
that it is near."""
FIRST_SENT = -2


@dataclass(frozen=True)
class Timing:
    """Relation of a capture's clock to the run's."""

    epoch_ns: int
    until_ns: int
    """Nothing is predicted behind this."""
    through: bool
    """A real-time loop: at a frame's arrival everything that was due has happened."""
    late_ns: int
    """Accepted lateness of a captured frame."""
    nudges: Mapping[str, frozenset[Close]] = field(default_factory=dict)
    """By node, inputs that are taken to have come behind an event that they are close to."""
    window_ns: int = 0
    """Time in which a clocked device acts on a frame; 0: at once, as the reference."""
    clocked: RtlTiming | None = None
    """Of gateware: what is known of its clocks."""


def has_own_delays(port: np.record) -> bool:
    """True if frames of a port may arrive later than its link's delay: by an algorithm of the delay
    line, or by the timeline, which delays or drops single frames there."""
    return int(port.delay_line) != NONE or int(port.injector) != 0


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
        self.state = reference_driver.new_state()
        if watch is not None:
            self.state[reference_driver.WATCHED] = watch[1]
            self.state[reference_driver.WATCH_QUEUE] = watch[0] == "queues"
            if watch[0] == "limiters":
                limiter = next(n for n, row in built.indices.limiters.items() if row == watch[1])
                at = {
                    "byte_stage": reference_driver.BYTE_STAGE_AT,
                    "timer_stage": reference_driver.TIMER_STAGE_AT,
                }
                for stage, place in at.items():
                    self.state[place] = built.built.state_at(limiter, stage)
        self.sent = np.zeros(ROOM, FRAME).view(np.recarray)
        self.sent_wires = np.zeros(ROOM, np.int64)
        self.closes = np.zeros((CLOSES, 2), np.int64)
        self.trace = np.zeros(TRACES, reference_driver.TRACE).view(np.recarray)
        self.inputs_met: DeviationCallback | None = None
        self.near: list[Close] = []
        """Inputs so close to an event of the node that either may have been first."""
        self.tied: list[Close] = []
        """Inputs of one time with the one before them, and a time behind that."""
        self.fed = 0
        world = built.world
        self._own = built.resolved.plan.nodes[node.name]
        self._crossbar = isinstance(self._own, Switch) and self._own.inputs is not None
        self._bus = self._bus_of()
        self._allowed = self._windows()
        self.followed = self._followed() if timing.window_ns else []
        """Outputs whose departures the reference goes by."""
        rows = [built.indices.port_rows[place.port] for place in self.followed]
        self._hold = conditioned_reference.new_hold(len(world.ports), rows)
        is_ours = timing.clocked is not None and node.name not in timing.clocked.beside
        self._blocks = limiter_blocks(built, node.name) if is_ours else shared_block(built)
        self._slack = token_tolerance.new_slack(len(world.limiters))
        self._lined = np.full(len(world.flows), NEVER, np.int64)

    def run(self, take: Take) -> Any:
        """Feed everything; what `take` answered, None at the end."""
        for times, rows, frames, ordinals in self._inputs():
            answer = self._feed(times, rows, frames, ordinals, take)
            self.fed += int((ordinals >= 0).sum())
            if answer is not None:
                return answer
        conditioned_reference.release_ports(
            self.built.world, self._hold, int(self.built.world.clock[0].now)
        )
        return self._finish(take)

    def _followed(self) -> list[StreamSource]:
        """Outputs whose frames' starts are known: captured, their links always the same."""
        if any(action.kind == "link" for action in self.built.resolved.actions):
            return []
        ports, rows = self.built.world.ports, self.built.indices.port_rows
        return [p for p in self.node.outputs if not has_own_delays(ports[rows[p.port]])]

    def _starts(self, place: StreamSource) -> Iterator[CapturedFrames]:
        """The captured frames of an output by when they started, rounded to whole ns."""
        port = self.built.world.ports[self.built.indices.port_rows[place.port]]
        for seen in frame_stream(place, self.timing.epoch_ns, self.timing.until_ns):
            octets = seen.frames["length"] + int(port.overhead)
            rate, drift = int(port.rate), int(port.drift)
            wire = [by_clock(wire_time(int(n), rate), drift) for n in octets]
            taken = int(port.delay) + np.array(wire, np.int64)
            yield replace(seen, times_ns=(seen.times_ns * 1000 + 999 - taken) // 1000)

    def _deliver_sent(self, take: Take, last: bool) -> Any:
        count = int(self.state[reference_driver.SENT])
        self.state[reference_driver.SENT] = 0
        return take(self.sent[:count], self.sent_wires[:count], last)

    def _inputs(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Times (ps), port rows, frames, ordinals of what came in, from 0 on, and of followed
        departures, from FIRST_SENT down."""
        order = {row: index for index, row in enumerate(self._peer_rows())}
        places = [self.node.inputs[index] for index in order.values()]
        timing, count = self.timing, len(places)
        rows = rows_of(self.built, [place.port for place in [*places, *self.followed]])
        readers = [Reader(frame_stream(p, timing.epoch_ns, timing.until_ns)) for p in places]
        readers += [Reader(self._starts(place)) for place in self.followed]
        nudges = sorted(timing.nudges.get(self.node.name, ()))
        done = gone = 0
        if self._bus is not None:
            yield from self._by_bus(self._bus, readers, rows, count, nudges)
            return
        for seen, owner in merged(readers):
            came = owner < count
            if self.ranks and timing.window_ns:
                _swap_by_rank(seen, owner, np.flatnonzero(came), self.ranks, timing.window_ns)
            elif self.ranks:
                _put_in_rank(seen, owner, self.ranks)
            times = seen.times_ns * 1000
            times[~came] += 999
            if self.ranks and not timing.window_ns and self._crossbar:
                times[came] += _offsets_ps(seen.times_ns[came])
            ordinals = np.zeros(len(times), np.int64)
            ordinals[came] = done + np.arange(came.sum())
            ordinals[~came] = FIRST_SENT - gone - np.arange((~came).sum())
            times[came] = np.maximum.accumulate(times[came])
            for ordinal, time in nudges:
                times[ordinals == ordinal] = time
            times[came] = np.maximum.accumulate(times[came])
            done, gone = done + int(came.sum()), gone + int((~came).sum())
            by_time = np.argsort(times, kind="stable")
            if not timing.window_ns:
                again = by_time[1:][np.diff(times[by_time]) == 0]
                self.tied += [(int(ordinals[row]), int(times[row]) + 1) for row in again]
            yield times[by_time], rows[owner][by_time], seen.frames[by_time], ordinals[by_time]

    def _windows(self) -> np.ndarray:
        """int64[5] in ps, see `conditioned_reference`."""
        timing, ports = self.timing, self.built.world.ports
        near, steps, charge = timing.window_ns * 1000, 0, timing.window_ns * 1000
        gap = max((wire_time(int(port.overhead), int(port.rate)) for port in ports), default=0)
        if timing.clocked is not None:
            charge = timing.clocked.charge_ps(gap)
        if self._bus is not None and timing.clocked is not None:
            near, steps = timing.clocked.order_ps(gap), timing.clocked.steps_ps
        late = timing.late_ns * 1000
        return np.array([timing.window_ns * 1000, near, steps, late, charge], np.int64)

    def _bus_of(self) -> Bus | None:
        """The bus of a gateware switch."""
        plan, timing = self.built.resolved.plan, self.timing
        if timing.clocked is None or not isinstance(self._own, Switch):
            return None
        rows = self.built.indices.port_rows
        inputs = [rows[port.entity] for port in plan.ports() if port.node == self.node.name]
        beside = {
            rows[way.receiver.entity]
            for way in plan.directions()
            if way.receiver.node == self.node.name and way.sender.node in timing.clocked.beside
        }
        return Bus(timing.clocked.period_ps, sorted(inputs), frozenset(beside), self.ranks)

    def _by_bus(
        self, bus: Bus, readers: list[Reader], rows: np.ndarray, count: int, nudges: list[Close]
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Inputs as of `_inputs`, enqueued when the bus has passed them."""
        done, last = 0, 0
        moved = dict(nudges)
        fed: list[tuple[int, int, np.ndarray, int]] = []
        for seen, owner in chain(merged(readers), [(None, None)]):
            until, came = None, []
            if seen is not None and owner is not None:
                until = int(seen.times_ns[-1]) * 1000
                for time_ns, row, way, frame in zip(
                    seen.times_ns.tolist(), rows[owner].tolist(), owner, seen.frames, strict=True
                ):
                    if way >= count:
                        if frame["kind"] == CNM:
                            bus.sent(time_ns * 1000 + 999, frame)
                        fed.append((time_ns * 1000 + 999, row, frame, FIRST_SENT))
                    elif acts_at_once(frame):
                        came.append((time_ns * 1000, row, frame))
                    else:
                        bus.enqueue(time_ns * 1000, row, frame)
            came += bus.passed(until)
            for time, row, frame in sorted(came, key=itemgetter(0)):
                last = max(moved.get(done, time), last)
                fed.append((last, row, frame, done))
                done += 1
            fed.sort(key=itemgetter(0))
            now = [one for one in fed if until is None or one[0] <= until + 999]
            fed = fed[len(now) :]
            if now:
                times, ways, frames, ordinals = zip(*now, strict=True)
                yield (
                    np.array(times),
                    np.array(ways),
                    np.array(list(frames), FRAME),
                    np.array(ordinals),
                )

    def _peer_rows(self) -> list[int]:
        """Inputs by the row of the port that sends to them: the simulator's order of ties."""
        plan = self.built.resolved.plan
        senders = {way.receiver.entity: way.sender.entity for way in plan.directions()}
        rows = [self.built.indices.port_rows[senders[place.port]] for place in self.node.inputs]
        return [i for _, i in sorted(zip(rows, range(len(rows)), strict=True))]

    def _feed(
        self,
        times: np.ndarray,
        rows: np.ndarray,
        frames: np.ndarray,
        ordinals: np.ndarray,
        take: Take,
    ) -> Any:
        known = frames["kind"] >= 0
        times, rows, ordinals = times[known], rows[known], ordinals[known]
        frames = frames[known].view(np.recarray)
        self.state[reference_driver.NEXT] = 0
        met = np.zeros((len(times), 2), np.int64)
        while True:
            self.state[reference_driver.CLOSE] = 0
            answer = self._drive(times, rows, frames, ordinals, met)
            count = min(int(self.state[reference_driver.CLOSE]), CLOSES)
            self.near += [(int(place), int(time)) for place, time in self.closes[:count]]
            taken = self._deliver_sent(take, False)
            if answer == reference_driver.MORE and self.inputs_met is not None:
                self.inputs_met(times, frames, met)
            if taken is not None or answer == reference_driver.MORE:
                return taken

    def _drive(
        self,
        times: np.ndarray,
        rows: np.ndarray,
        frames: np.ndarray,
        ordinals: np.ndarray,
        met: np.ndarray,
    ) -> int:
        """Let the world go on to the end of the inputs, or until it has sent too much."""
        world, state, sent = self.built.world, self.state, (self.sent, self.sent_wires)
        blocks = self._blocks
        if not self.followed:
            through = self.timing.through
            rest = through, *sent, self.closes, self.trace, met
            return int(
                reference_driver.feed_frames(
                    world, blocks, state, times, rows, frames, ordinals, *rest
                )
            )
        hold = self._hold, self._slack, self._lined, self._allowed
        fed = times, rows, frames, ordinals
        return int(
            conditioned_reference.follow(
                world, blocks, *hold, state, *fed, *sent, self.closes, self.trace
            )
        )

    def _finish(self, take: Take) -> Any:
        """Carry out the rest after the last input."""
        until = self.timing.until_ns * 1000 + 999
        while True:
            answer = reference_driver.run_until(
                self.built.world,
                self.state,
                until,
                True,
                self.sent,
                self.sent_wires,
                self.trace,
            )
            taken = self._deliver_sent(take, answer == reference_driver.MORE)
            if taken is not None or answer == reference_driver.MORE:
                return taken

    def blamed(self) -> tuple[int, int] | None:
        """The row of the port at which a followed device did what the reference does not allow,
        and when (ps): from then on the reference goes its own way, at all ports."""
        row, since = self.state[[reference_driver.BLAMED, reference_driver.SINCE_WHEN]].tolist()
        return None if row == NONE else (row, since)

    def traced(self) -> np.ndarray:
        """TRACE[n]: what was watched, the last changes of it."""
        count = int(self.state[reference_driver.TRACED])
        if count <= TRACES:
            return np.asarray(self.trace[:count])
        return np.roll(self.trace, -(count % TRACES))


def _put_in_rank(seen: CapturedFrames, owner: np.ndarray, ranks: Ranks) -> None:
    """Order frames of one nanosecond by rank; those without one, which found no room, come last."""
    times = seen.times_ns
    begins = np.flatnonzero(np.diff(times, prepend=times[0] - 1))
    ends = np.append(begins[1:], len(times))
    for begin, end in zip(begins[ends - begins > 1], ends[ends - begins > 1], strict=True):
        came = int(times[begin])
        keys = [ranks.get((*key_of(frame), came), LAST) for frame in seen.frames[begin:end]]
        order = begin + np.argsort(keys, kind="stable")
        for array in (seen.frames, seen.octets, seen.numbers, owner):
            array[begin:end] = array[order].copy()


def _offsets_ps(times_ns: np.ndarray) -> np.ndarray:
    """0, 1, ... ps within each nanosecond, int64[n]: frames through a crossbar keep the order in
    which they came, though their transfers take as long."""
    places = np.arange(len(times_ns))
    first = np.diff(times_ns, prepend=-1) != 0
    return np.minimum(places - np.maximum.accumulate(np.where(first, places, 0)), 998)


def _swap_by_rank(
    seen: CapturedFrames, owner: np.ndarray, inputs: np.ndarray, ranks: Ranks, window_ns: int
) -> None:
    """Order neighbours among the inputs that came within the window through different ports."""
    times = seen.times_ns
    keys = {row: ranks.get(key_of(seen.frames[row])) for row in inputs.tolist()}
    for _ in range(len(set(owner[inputs].tolist())) - 1):
        for one, other in zip(inputs[:-1].tolist(), inputs[1:].tolist(), strict=True):
            first, second = keys[one], keys[other]
            if owner[one] == owner[other] or times[other] - times[one] > window_ns:
                continue
            if first is not None and second is not None and first > second:
                times[one] = times[other]
                for array in (seen.frames, seen.octets, seen.numbers, owner):
                    array[[one, other]] = array[[other, one]]
                keys[one], keys[other] = second, first


def key_of(frame: np.ndarray) -> Key:
    """Identity of a data frame among all others."""
    return int(frame["flow"]), int(frame["sequence"])


@dataclass(frozen=True)
class Tie:
    """Data frames that came in at one nanosecond through several ports.

    One that never left has no place of its own among them, and those of several lanes, or behind a
    crossbar, may leave in another order than they came in.
    """

    time_ns: int
    keys: tuple[Key, ...]


def ranks_of(node: Node, timing: Timing) -> tuple[Ranks, list[Tie]]:
    """Places among the captured departures of frames that came in at one nanosecond (or within a
    device's window) through several ports: a queue keeps their order, which the separate captures
    do not tell. And, without a window, all of these frames, in order of time."""
    if len(node.inputs) < 2:
        return {}, []
    groups: list[tuple[int, list[Key]]] = []
    waiting: dict[Key, deque[Key]] = {}
    readers = [Reader(frame_stream(p, timing.epoch_ns, timing.until_ns)) for p in node.inputs]
    for seen, _ in merged(readers):
        same = np.diff(seen.times_ns) <= timing.window_ns
        rows = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
        for row in rows[seen.frames["kind"][rows] == DATA].tolist():
            name, time_ns = key_of(seen.frames[row]), int(seen.times_ns[row])
            key = name if timing.window_ns else (*name, time_ns)
            waiting.setdefault(name, deque()).append(key)
            if not groups or groups[-1][0] != time_ns:
                groups.append((time_ns, []))
            groups[-1][1].append(key)
    ranks: dict[Key, float] = {}
    for place in node.outputs if waiting else ():
        for seen in frame_stream(place, timing.epoch_ns, timing.until_ns + timing.late_ns):
            for row in np.flatnonzero(seen.frames["kind"] == DATA).tolist():
                keys = waiting.get(key_of(seen.frames[row]))
                if keys and (timing.window_ns or keys[0][-1] <= int(seen.times_ns[row])):
                    ranks[keys.popleft() if len(keys) > 1 else keys[0]] = len(ranks)
    if timing.window_ns:
        return ranks, []
    return ranks, [Tie(time_ns, tuple(keys)) for time_ns, keys in groups if len(keys) > 1]
