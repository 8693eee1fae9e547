"""Comparison of a node's captured frames with the frames its reference predicts."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from orchestrator.assembly import Assembly
from orchestrator.engine.frames import FOREIGN, frame_layout
from orchestrator.engine.records import (
    CNM,
    DATA,
    FRAME,
    NONE,
    PAUSE,
    PFC,
    WRONG_ICRC,
    WRONG_IPV4,
)
from orchestrator.plan import ResolvedPlan
from traces.oracle import reference_driver
from traces.oracle.capture_feeder import Close, Feeder, Ranks, Timing
from traces.oracle.captured_streams import ADDRESSES, SNAP, CapturedFrames, Reader, frame_stream
from traces.oracle.port_captures import Node
from traces.oracle.reference_model import Variant, build, ports_of

CONTEXT_FRAMES = 64
"""Frames behind a departure that are kept, to see what the device does next."""
CLOCK_NS = 2
"""Two clocks' roundings: a predicted and a captured time that differ by this much agree."""
END_NS = 1000
"""Before the horizon nothing is called too much: its prediction may lie just behind."""
JUST_NS = 100_000
"""A deviation within this time of an earlier one may follow from that one."""
DRAWN_PS = 1000
"""A time in a payload may be off by the resolution of the frame that caused it, and by what a
clocked device takes to act on that frame."""

DATA_FIELDS = (
    "length",
    "priority",
    "flow",
    "source",
    "destination",
    "sequence",
    "mark",
    "hops",
    "inner",
)
CNM_FIELDS = (
    "flow",
    "sequence",
    "destination",
    "source",
    "priority",
    "inner",
    "mark",
    "length",
    "offset",
    "delta",
    "feedback",
)
PAUSE_FIELDS = ("feedback", "source", "length")
PFC_FIELDS = ("mark", "feedback", "offset", "delta", "inner", "source", "length")
FIELDS = {DATA: DATA_FIELDS, CNM: CNM_FIELDS, PAUSE: PAUSE_FIELDS, PFC: PFC_FIELDS}
IDENTITY = ("kind", "flow", "sequence")


@dataclass
class Expected:
    """A predicted frame; `due_ps` is when it is captured at the earliest."""

    frame: np.ndarray
    due_ps: int


@dataclass
class SeenFrame:
    """A captured frame; `number` is its place in its file, from 1."""

    frame: np.ndarray
    time_ns: int
    octets: np.ndarray
    number: int


@dataclass
class Deviation:
    """The first frame of a node that deviates from the prediction."""

    node: str
    port: str
    seen_at: str
    path: str
    expected: Expected | None
    seen: SeenFrame | None
    what: str
    """Difference: a field, "time", "frame" (another one), "missing" or "unexpected"."""
    before: list[SeenFrame]
    """The last ones that agreed."""
    expected_next: list[Expected]
    seen_next: list[SeenFrame]
    others: list[Deviation] = field(default_factory=list)
    """Deviations at other ports at about the same time."""
    elsewhere: str = ""
    """Another port where the frame that is missing is seen, or the one too many expected."""
    is_missing: bool = False
    """Of these, the former."""

    @property
    def time_ns(self) -> int:
        """Time of the deviation: the earlier of the expected and the captured frame."""
        times = [] if self.expected is None else [self.expected.due_ps // 1000]
        return min(times + ([] if self.seen is None else [self.seen.time_ns]))


@dataclass
class Outcome:
    """Extent to which a node agrees with a reference."""

    agreed: int
    """Frames that were compared and found as predicted."""
    departure: Deviation | None
    closes: list[Close]
    """Inputs so close to an event of the node that they may have come the other way round."""
    ties: list[Close]
    """Inputs of one nanosecond with the one before, and a time behind that."""
    assembly: Assembly
    inputs: int
    trace: np.ndarray
    """TRACE[n], of what was watched."""

    @property
    def reached_ns(self) -> float:
        """Up to where they agree."""
        return float("inf") if self.departure is None else self.departure.time_ns


@dataclass
class _OutputCheck:
    """One output port: predicted frames that were not compared yet, and the captured ones."""

    port: str
    seen_at: str
    path: str
    reader: Reader
    waiting: list[np.ndarray] = field(default_factory=list)
    agreed: int = 0
    before: deque[SeenFrame] = field(default_factory=lambda: deque(maxlen=8))


def check(
    resolved: ResolvedPlan,
    node: Node,
    timing: Timing,
    variants: Sequence[Variant] = (),
    watch: tuple[str, int] | None = None,
    ranks: Ranks | None = None,
    ignored: Set[tuple[int, str]] = frozenset(),
) -> Outcome | None:
    """Compare a node with its reference, or with variants of it (None when one changes nothing).

    `watch` traces ("limiters" or "queues", row). `ranks` orders frames of one nanosecond that came
    in through several ports, by (flow, sequence). `ignored` are fields of a kind of frames that
    are not compared.
    """
    built = build(resolved, node.name, variants)
    if built is None:
        return None
    feeder = Feeder(built, node, timing, ranks or {}, watch)
    checking = _Check(feeder, resolved, ignored)
    departure = feeder.run(checking.compare)
    return Outcome(
        agreed=sum(way.agreed for way in checking.ways.values()),
        departure=departure,
        closes=sorted(feeder.near, key=lambda close: close[1]),
        ties=feeder.tied,
        assembly=built,
        inputs=feeder.fed,
        trace=feeder.traced(),
    )


def predicted(resolved: ResolvedPlan, node: Node, timing: Timing, ranks: Ranks) -> np.ndarray:
    """The control frames that a node would send, FRAME[n] in order of `due` (ps)."""
    built = build(resolved, node.name)
    assert built is not None
    kept: list[np.ndarray] = [np.zeros(0, FRAME)]

    def take(sent: np.ndarray, wires: np.ndarray, last: bool) -> None:
        kept.append(np.asarray(sent[sent["kind"] != DATA]).copy())

    Feeder(built, node, timing, ranks).run(take)
    found = np.concatenate(kept)
    return found[np.argsort(found["due"], kind="stable")]


class _Check:
    def __init__(
        self,
        feeder: Feeder,
        resolved: ResolvedPlan,
        ignored: Set[tuple[int, str]],
    ) -> None:
        self.feeder = feeder
        self.node, self.timing, self.ignored = feeder.node, feeder.timing, ignored
        wires = ports_of(resolved, self.node.name)
        self.ways: dict[int, _OutputCheck] = {}
        until = self.timing.until_ns + self.timing.late_ns
        for place in self.node.outputs:
            reader = Reader(frame_stream(place, self.timing.epoch_ns, until))
            way = _OutputCheck(place.port, place.seen_at, place.path, reader)
            self.ways[wires.index(place.port)] = way

    def compare(self, sent: np.ndarray, wires: np.ndarray, last: bool) -> Deviation | None:
        """Compare what was predicted since; the earliest departure of all ports."""
        found = []
        for wire, way in self.ways.items():
            mine = sent[wires == wire].copy()
            if len(mine):
                way.waiting.append(mine)
            departure = self._compare_output(way, last)
            if departure is not None:
                found.append(departure)
        if not found:
            return None
        first = self._earliest(found)
        first.others = [one for one in found if one is not first]
        first.elsewhere, first.is_missing = self._elsewhere(first)
        return first

    def _earliest(self, found: list[Deviation]) -> Deviation:
        """The first of them; where the reference has left the device just before, that at the port
        for which it has: what departs elsewhere follows from that."""
        first = min(found, key=lambda one: one.time_ns)
        blamed = self.feeder.blamed()
        if blamed is None or not 0 <= first.time_ns - blamed[1] // 1000 < JUST_NS:
            return first
        rows = self.feeder.built.indices.port_rows
        soon = [one for one in found if one.time_ns - first.time_ns < JUST_NS]
        return next((one for one in soon if rows[one.port] == blamed[0]), first)

    def _elsewhere(self, departure: Deviation) -> tuple[str, bool]:
        """The port where a frame that departs here stands on the other side, and whether it is
        seen there."""
        if departure.what not in ("frame", "octets", "time", "missing", "unexpected"):
            return "", False
        wanted, got = departure.expected, departure.seen
        for way in self.ways.values():
            if way.port == departure.port:
                continue
            way.reader.ready(CONTEXT_FRAMES)
            seen = np.zeros(0, FRAME) if way.reader.rest is None else way.reader.rest.frames
            waiting = _together(way.waiting)
            if wanted is not None and _holds(seen, wanted.frame, waiting):
                return way.port, True
            if got is not None and _holds(waiting, got.frame, seen):
                return way.port, False
        return "", False

    def _compare_output(self, way: _OutputCheck, last: bool) -> Deviation | None:
        predicted = _together(way.waiting)
        # behind the horizon nothing is compared; a frame that was due before it may come later
        limit = self.timing.until_ns * 1000
        if last:
            predicted = predicted[predicted["due"] <= limit - self.timing.late_ns * 1000]
        count = min(way.reader.ready(len(predicted)), len(predicted))
        if count:
            seen = way.reader.rest
            assert seen is not None
            index, what = self._first_difference(way.port, predicted[:count], seen.rows(0, count))
            if index is not None:
                return self._departure(way, predicted, index, what)
            self._keep(way, seen, count)
            way.reader.take(count)
            way.agreed += count
        rest = predicted[count:]
        way.waiting = [rest] if len(rest) else []
        if len(rest) and way.reader.ready(1) == 0:
            bound = rest["due"][0] // 1000 + self.timing.late_ns
            if bound <= self.timing.until_ns:
                return self._departure(way, rest, 0, "missing")
            way.waiting = []
        if last and not len(rest) and way.reader.ready(1) > 0:
            assert way.reader.rest is not None
            sure = self.timing.until_ns - self.timing.late_ns - END_NS
            if int(way.reader.rest.times_ns[0]) <= sure:
                return self._departure(way, rest, 0, "unexpected")
        return None

    def _first_difference(
        self, port: str, predicted: np.ndarray, seen: CapturedFrames
    ) -> tuple[int | None, str]:
        """The first row that differs, and in what."""
        frames = seen.frames
        worst, what = len(predicted), ""
        same = np.ones(len(predicted), bool)
        for name in IDENTITY:
            same &= predicted[name] == frames[name]
        # no codec knows a frame that the plan has leave with a wrong checksum or ICRC
        wrong = np.isin(predicted["port"], (WRONG_IPV4, WRONG_ICRC))
        wrong &= (frames["kind"] == FOREIGN) & (predicted["length"] == frames["length"])
        same |= wrong
        worst, what = _first(~same, worst, what, "frame")
        late = seen.times_ns - predicted["due"] // 1000
        for kind, names in FIELDS.items():
            rows = same & ~wrong & (predicted["kind"] == kind)
            if not rows.any():
                continue
            for name in names:
                if (kind, name) in self.ignored:
                    continue
                wanted = predicted[name]
                if kind == CNM and name in ("offset", "delta"):
                    wanted = (
                        np.clip(wanted // frame_layout.CNM_UNIT, -0x8000, 0x7FFF)
                        * frame_layout.CNM_UNIT
                    )
                worst, what = _first(rows & (wanted != frames[name]), worst, what, name)
            if kind == DATA:
                apart = DRAWN_PS + self.timing.window_ns * 1000
                off = np.abs(predicted["created"] - frames["created"]) > apart
                worst, what = _first(rows & off, worst, what, "created")
                differ = self._octets_differ(port, predicted, seen, rows)
                worst, what = _first(rows & differ, worst, what, "addresses")
            elif not any(other == kind for other, _ in self.ignored):
                differ = self._octets_differ(port, predicted, seen, rows)
                worst, what = _first(rows & differ, worst, what, "octets")
        others = same & ~wrong & ~np.isin(predicted["kind"], list(FIELDS))
        if others.any():  # kinds that plugins brought: octet by octet
            differ = self._octets_differ(port, predicted, seen, others)
            worst, what = _first(others & differ, worst, what, "octets")
        off = same & ((late < -CLOCK_NS) | (late > self.timing.late_ns))
        for kind in {kind for kind, name in self.ignored if name == "time"}:
            off &= predicted["kind"] != kind
        worst, what = _first(off, worst, what, "time")
        return (None, "") if worst == len(predicted) else (worst, what)

    def _octets_differ(
        self, port: str, predicted: np.ndarray, seen: CapturedFrames, rows: np.ndarray
    ) -> np.ndarray:
        """True if any octet of a control frame differs from the codec's encoding at that port.

        The sampled frame's own times are in a message's MSDU: those are the frame's, not ours.
        """
        differ = np.zeros(len(predicted), bool)
        picked = np.flatnonzero(rows)
        octets = np.zeros((len(picked), 256), np.uint8)
        built = self.feeder.built
        row = built.indices.port_rows[port]
        reference_driver.encoded(built.world, row, predicted[picked].view(np.recarray), octets)
        data = predicted["kind"][picked] == DATA
        octets[data, ADDRESSES:] = 0  # of data the rest is in the descriptor, but for the padding
        differ[picked] = (octets[:, :SNAP] != seen.octets[picked]).any(axis=1)
        return differ

    def _keep(self, way: _OutputCheck, seen: CapturedFrames, count: int) -> None:
        for row in range(max(count - 8, 0), count):
            way.before.append(_seen(seen, row))

    def _departure(
        self, way: _OutputCheck, predicted: np.ndarray, index: int, what: str
    ) -> Deviation:
        way.agreed += index
        have = way.reader.ready(index + CONTEXT_FRAMES)
        seen = way.reader.rest
        if seen is not None:
            for row in range(max(index - 8, 0), min(index, have)):
                way.before.append(_seen(seen, row))
        after = (
            []
            if seen is None
            else [_seen(seen, r) for r in range(index, min(have, index + CONTEXT_FRAMES))]
        )
        expected = [
            Expected(predicted[row].copy(), int(predicted["due"][row]))
            for row in range(index, min(index + CONTEXT_FRAMES, len(predicted)))
        ]
        return Deviation(
            node=self.node.name,
            port=way.port,
            seen_at=way.seen_at,
            path=way.path,
            expected=expected[0] if expected else None,
            seen=after[0] if after else None,
            what=what,
            before=list(way.before),
            expected_next=expected[1:],
            seen_next=after[1:],
        )


def _holds(frames: np.ndarray, one: np.ndarray, others: np.ndarray) -> bool:
    """True if a frame, whatever its destination, is among some frames and not among the others."""
    if int(one["kind"]) in (PAUSE, PFC, NONE):
        return False
    return _count(frames, one) > _count(others, one)


def _count(frames: np.ndarray, one: np.ndarray) -> int:
    same = np.ones(len(frames), bool)
    more = () if int(one["kind"]) == CNM else ("offset", "delta")  # which a message has rounded
    for name in (*IDENTITY, "feedback", "source", *more):
        same &= frames[name] == one[name]
    return int(same.sum())


def _first(rows: np.ndarray, worst: int, what: str, name: str) -> tuple[int, str]:
    """The first row of a mask, if it comes before `worst`."""
    places = np.flatnonzero(rows[:worst])
    return (int(places[0]), name) if len(places) else (worst, what)


def _together(parts: list[np.ndarray]) -> np.ndarray:
    if not parts:
        return np.zeros(0, FRAME)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _seen(seen: CapturedFrames, row: int) -> SeenFrame:
    return SeenFrame(
        seen.frames[row].copy(),
        int(seen.times_ns[row]),
        seen.octets[row].copy(),
        int(seen.numbers[row]),
    )
