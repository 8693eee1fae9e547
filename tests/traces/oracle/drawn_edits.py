"""Edits drawn by a seed: what a device does wrong to one frame or some frames of a drawn plan.

An edit changes what one port of one node sends, in that port's own capture; each neighbour is
judged by its own. The rules that count as right were written from the kind of edit, the kind of
frame and the node alone, and so were the words without which the reason is not true.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator.engine.frames import frame_layout as at
from orchestrator.engine.frames import type_table
from orchestrator.engine.frames.big_endian import put16
from orchestrator.engine.frames.core_frame_types import CORE
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_codec import decode
from orchestrator.engine.frames.frame_field import CHECKED, CHECKSUM, ICRC, IP, MAC, NEAR, NUMBER
from orchestrator.engine.frames.frame_type import LINK
from orchestrator.engine.frames.ipv4_header import checksum, rewrite
from orchestrator.engine.frames.roce_icrc import put_icrc
from orchestrator.engine.records import CE, CNM, DATA, PAUSE, PFC, PROBE, RETURNED
from orchestrator.plan import Nic, ResolvedPlan, Sink
from orchestrator.recording import Recording
from tests.traces.oracle.drawn_plans import plan
from tests.traces.oracle.edits import frames, port, put_in, taken_out
from traces.oracle.port_captures import by_answers

US = 10**6
SHIFT_PS = 10 * US
COPY_PS = 1 * US
SLOWER = 1.05
STRETCH = 40
FIRST_PLAN = 100_000
"""Plans of edits are others than those that have to conform."""
TYPES = {one.kind: one for one in CORE}
PAUSES = frozenset({"pause.stop", "pause.go", "pause.refresh"})
PAUSE_FIELD = frozenset({"pause.quanta", "pause.class", "pause.frame"})
NAMED = {
    "offset": {"cp.offset"},
    "delta": {"cp.delta"},
    "feedback": {"cp.feedback", "cp.quantise"},
    "destination": {"cp.culprit", "cp.message"},
    "flow": {"cp.culprit", "cp.message"},
}
"""Fields of a congestion message, and the rules that a reader would name."""


@dataclass(frozen=True)
class Place:
    """A frame that a port sends."""

    port: str
    row: int
    kind: int
    node: str
    is_nic: bool
    is_made_here: bool
    """A message of the node's own congestion point."""


@dataclass(frozen=True)
class DrawnEdit:
    """What was edited, and what a reader would say of it."""

    what: str
    place: Place
    rules: frozenset[str]
    says: str
    """Regular expression of what the reason has to say."""

    def is_named_by(self, rule: str, why: str) -> bool:
        """True if the rule is a right one and the reason true."""
        rate = re.search("slower|faster", why) is not None
        return (
            rule in self.rules
            and re.search(self.says, why) is not None
            and (not rate or self.what.startswith("rate"))
        )


Operator = Callable[[random.Random, ResolvedPlan, Recording, Place], DrawnEdit | None]


def drawn(
    seed: int, record: Callable[[dict[str, Any]], tuple[ResolvedPlan, Recording]]
) -> tuple[ResolvedPlan, Recording, DrawnEdit, str]:
    """The plan of a seed, its recording with an edit, the edit and its operator's name.

    `record` runs a plan.
    """
    draw = random.Random(f"edit {seed}")
    for turn in range(100):
        resolved, recording = record(plan(FIRST_PLAN + seed + 1000 * turn))
        name = draw.choice(list(OPERATORS))
        for _ in range(20):
            place = _place(draw, resolved, recording)
            found = None if place is None else OPERATORS[name](draw, resolved, recording, place)
            if found is not None:
                return resolved, recording, found, name
    raise AssertionError(f"seed {seed} draws no edit")


def _place(draw: random.Random, resolved: ResolvedPlan, recording: Recording) -> Place | None:
    """A node that is judged, a port of it, a kind of frame that leaves there, such a frame."""
    nodes = resolved.plan.nodes
    judged = [n for n in nodes if not isinstance(nodes[n], Sink) and not by_answers(resolved, n)]
    node = draw.choice(judged)
    entity = draw.choice([one.entity for one in resolved.plan.ports() if one.node == node])
    captured = port(recording, entity)
    kinds = frames(captured)["kind"]
    until = resolved.plan.duration
    amid = (captured.times_ps > until // 20) & (captured.times_ps < until * 4 // 5)
    there = sorted(set(kinds[amid & (kinds >= 0)].tolist()))
    if not there:
        return None
    kind = draw.choice(there)
    row = draw.choice(np.flatnonzero(amid & (kinds == kind)).tolist())
    is_nic = isinstance(nodes[node], Nic)
    return Place(
        entity, int(row), kind, node, is_nic, not is_nic and _is_own(recording, entity, row)
    )


def _is_own(recording: Recording, entity: str, row: int) -> bool:
    """True if a switch made a message: it came in nowhere."""
    captured = port(recording, entity)
    frame = frames(captured)[row]
    if int(frame["kind"]) not in (CNM, RETURNED):
        return False
    node = entity.split(".", maxsplit=1)[0]
    for other in recording.captures:
        if other.node == node and other is not captured:
            came = np.flatnonzero(~other.outgoing)
            if any((other.octets[k, 18:70] == captured.octets[row, 18:70]).all() for k in came):
                return False
    return True


def _edit(what: str, place: Place, rules: set[str] | frozenset[str], says: str) -> DrawnEdit:
    kind = TYPES[place.kind].name
    return DrawnEdit(f"{what}, {kind} at {place.port}", place, frozenset(rules), says)


def _fate(place: Place) -> set[str] | frozenset[str]:
    """The rule of a frame that is missing."""
    if place.kind in (PAUSE, PFC):
        return PAUSES
    if place.is_nic:
        return {"source.frames"} if place.kind == DATA else {"source.messages"}
    return {"cp.send"} if place.is_made_here else {"queue.drop"}


def _moment(place: Place) -> set[str] | frozenset[str]:
    """The rule of a frame that leaves at another time, or in another order."""
    if place.kind in (PAUSE, PFC):
        return PAUSES
    if place.is_nic:
        return {"source.frames", "rp.rate"} if place.kind == DATA else {"source.messages"}
    return {"cp.delay"} if place.is_made_here else {"queue.service"}


def _dropped(
    draw: random.Random, resolved: ResolvedPlan, recording: Recording, place: Place
) -> DrawnEdit | None:
    taken_out(port(recording, place.port), place.row)
    return _edit("dropped", place, _fate(place), "missing")


def _duplicated(
    draw: random.Random, resolved: ResolvedPlan, recording: Recording, place: Place
) -> DrawnEdit | None:
    captured = port(recording, place.port)
    frame = taken_out(captured, place.row)
    put_in(captured, frame)
    put_in(captured, frame | {"times_ps": frame["times_ps"] + COPY_PS})
    return _edit("duplicated", place, {"frame.once"}, "twice")


def _swapped(
    draw: random.Random, resolved: ResolvedPlan, recording: Recording, place: Place
) -> DrawnEdit | None:
    captured = port(recording, place.port)
    later = np.flatnonzero(captured.outgoing[place.row + 1 :]) + place.row + 1
    if not len(later) or captured.lengths[later[0]] != captured.lengths[place.row]:
        return None
    one, other = place.row, int(later[0])
    if (captured.octets[one] == captured.octets[other]).all() or place.kind in (PAUSE, PFC):
        return None
    if frames(captured)["kind"][other] != place.kind:
        return None
    captured.octets[[one, other]] = captured.octets[[other, one]]
    rules = {"cp.delay", "queue.service"} if place.is_made_here else _moment(place)
    return _edit("swapped", place, rules, "order|overtake")


def _shifted(
    draw: random.Random, resolved: ResolvedPlan, recording: Recording, place: Place
) -> DrawnEdit | None:
    captured, by = port(recording, place.port), draw.choice([SHIFT_PS, -SHIFT_PS])
    frame = taken_out(captured, place.row)
    put_in(captured, frame | {"times_ps": frame["times_ps"] + by})
    how = "late" if by > 0 else "early"
    says = rf"(10\.00[01]|9\.999) us {how}"
    return _edit(f"shifted by {by // US} us", place, _moment(place), says)


def _decoded(octets: np.ndarray, length: int) -> np.ndarray:
    """The descriptor of a frame."""
    found = empty_descriptors(1)
    decode(type_table(), octets, length, found.view(np.recarray)[0])
    return np.asarray(found[0])


def _signed_again(kind: int, octets: np.ndarray) -> None:
    """Make the checksums of a frame right."""
    for field in TYPES[kind].fields:
        if field.op == CHECKSUM:
            put16(octets, field.at, 0)
            put16(octets, field.at, checksum(octets, field.begins))
        elif field.op == ICRC:
            put_icrc(octets, field.at, field.begins)


def _rewritten(
    draw: random.Random, resolved: ResolvedPlan, recording: Recording, place: Place
) -> DrawnEdit | None:
    captured, kind = port(recording, place.port), place.kind
    octets, length = captured.octets[place.row], int(captured.lengths[place.row])
    before = _decoded(octets, length)
    ways = [f for f in TYPES[kind].fields if f.name and f.op in (NUMBER, NEAR, IP, MAC)]
    ways = [f for f in ways if not f.flags & CHECKED and f.name not in ("created", "hops", "mark")]
    field, step = draw.choice(ways), draw.choice([1, -1])
    new, ends = octets.copy(), slice(field.at, field.at + field.octets)
    bits = field.bits or 8 * field.octets
    mask = ((1 << bits) - 1) << field.low
    wire = int.from_bytes(octets[ends].tobytes(), "big")
    value = (wire & ~mask) | ((wire + (step << field.low)) & mask)
    new[ends] = np.frombuffer(value.to_bytes(field.octets, "big"), np.uint8)
    _signed_again(kind, new)
    after = _decoded(new, length)
    names = {n for n in after.dtype.names or () if after[n] != before[n]}
    if int(after["kind"]) != kind or names - {field.name, "inner", "flow"}:
        return None
    captured.octets[place.row] = new
    text = f"{field.name or 'octets'} by {step:+d}"
    if not names or field.op == MAC:
        says = f"octets|addresses|{field.name}"
    else:
        says = f"{field.name}|{after[field.name]}.* instead of |octets"
    return _edit(text, place, _about(place, field.name), says)


def _about(place: Place, field: str) -> set[str] | frozenset[str]:
    """The rule of a field that has another value."""
    if place.kind in (PAUSE, PFC):
        return PAUSE_FIELD
    if place.is_nic:
        return {"source.frames"} if place.kind == DATA else {"source.messages"}
    if place.kind == CNM and place.is_made_here:
        return NAMED.get(field, {"cp.message"})
    if place.kind == RETURNED and place.is_made_here:
        return {"cp.feedback"} if field == "feedback" else {"cp.message", "cp.culprit"}
    if place.kind == PROBE and field == "feedback":
        return {"cp.probe"}
    return {"forward.fields"}


def _marked(
    draw: random.Random, resolved: ResolvedPlan, recording: Recording, place: Place
) -> DrawnEdit | None:
    if place.kind != DATA:
        return None
    captured = port(recording, place.port)
    octets = captured.octets[place.row]
    frame = _decoded(octets, int(captured.lengths[place.row]))
    ecn = int(frame["mark"]) & 3
    new = (int(frame["mark"]) & ~3) | (CE if ecn != CE else 2)
    rewrite(octets, new, int(frame["hops"]))
    rules = {"source.frames"} if place.is_nic else {"cp.mark"}
    return _edit("mark off" if ecn == CE else "mark on", place, rules, "mark")


def _ttl(
    draw: random.Random, resolved: ResolvedPlan, recording: Recording, place: Place
) -> DrawnEdit | None:
    if not TYPES[place.kind].is_ip:
        return None
    octets, step = port(recording, place.port).octets[place.row], draw.choice([1, -1])
    octets[at.IP + 8] = (int(octets[at.IP + 8]) + step) % 256
    _signed_again(place.kind, octets)
    rules = {"source.frames", "source.messages"} if place.is_nic else {"forward.ttl"}
    if place.is_made_here:
        rules = {"forward.ttl", "cp.message"}
    return _edit(f"TTL by {step:+d}", place, rules, "TTL")


def _misrouted(
    draw: random.Random, resolved: ResolvedPlan, recording: Recording, place: Place
) -> DrawnEdit | None:
    ports = [one.entity for one in resolved.plan.ports() if one.node == place.node]
    ways = [one for one in ports if one != place.port]
    if not ways or TYPES[place.kind].carried == LINK:
        return None
    other = draw.choice(ways)
    put_in(port(recording, other), taken_out(port(recording, place.port), place.row))
    rules = {"cp.culprit", "forward.port"} if place.is_made_here else {"forward.port"}
    return _edit(f"sent out of {other}", place, rules, re.escape(other))


def _slowed(
    draw: random.Random, resolved: ResolvedPlan, recording: Recording, place: Place
) -> DrawnEdit | None:
    """STRETCH frames leave with 5 % more between them; behind them the port catches up."""
    captured = port(recording, place.port)
    rows = np.flatnonzero(captured.outgoing)
    rows = rows[rows >= place.row][: 4 * STRETCH]
    times = captured.times_ps[rows].astype(np.int64)
    if place.kind != DATA or len(times) < 2 * STRETCH:
        return None
    gaps = np.diff(times)
    if not place.is_nic and np.median(gaps[:STRETCH]) > 1.5 * gaps.min():
        return None  # a port that idles has no rate of its own
    slot = int(gaps.min())
    moved = times.copy()
    for k in range(1, len(times)):
        if k <= STRETCH:
            moved[k] = moved[k - 1] + int(gaps[k - 1] * SLOWER)
        else:
            moved[k] = max(times[k], moved[k - 1] + min(slot, int(gaps[k - 1])))
    captured.times_ps[rows] = moved
    later = np.flatnonzero(captured.outgoing)
    later = later[later > rows[-1]]
    captured.times_ps[later] = np.maximum(captured.times_ps[later], moved[-1])
    order = np.argsort(captured.times_ps, kind="stable")
    for name in ("times_ps", "outgoing", "lengths", "kept", "octets"):
        setattr(captured, name, getattr(captured, name)[order])
    rules = {"rp.rate", "source.frames"} if place.is_nic else {"queue.service"}
    return _edit("rate 5 % less", place, rules, r"(4\.[5-9]|5\.[0-5]) % slower")


OPERATORS: dict[str, Operator] = {
    "drop": _dropped,
    "duplicate": _duplicated,
    "swap": _swapped,
    "shift": _shifted,
    "field": _rewritten,
    "mark": _marked,
    "ttl": _ttl,
    "port": _misrouted,
    "rate": _slowed,
}
