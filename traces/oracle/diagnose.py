"""Which rule a departure breaks: by what differs, or by the variant that explains what follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from orchestrator.engine.frames.pfc import quanta_of
from orchestrator.engine.records import CNM, DATA, PAUSE, PFC
from orchestrator.plan import Nic, ResolvedPlan
from orchestrator.plan.catalog import Use
from traces.oracle.check import Departure, Expected, Outcome, SeenFrame
from traces.oracle.faults import CONGESTION, REACTION
from traces.oracle.levels import WITHIN, level
from traces.oracle.reference import Variant

CONTROL = (CNM, PAUSE, PFC)
SOON_NS = 100_000
"""Departures of several ports within this time are one."""
UNIT = 64
Try = Callable[[Variant], Outcome | None]


@dataclass
class Diagnosis:
    """The rule, and why it is thought to be that one."""

    rule: str
    why: str
    variant: Variant | None = None
    others: list[str] = field(default_factory=list)
    """What would explain the capture just as well."""


def diagnose(
    resolved: ResolvedPlan, departure: Departure, reached: float, attempt: Try, state: Outcome
) -> Diagnosis:
    """Name the rule. `attempt` checks the node against a variant; `state` is the reference just
    before the departure; `reached` is how far it agreed (ns)."""
    node = resolved.plan.nodes[departure.node]
    kind = _odd_kind(departure)
    if kind in (PAUSE, PFC):
        return _pause(departure)
    if kind == CNM:
        return _message(resolved, departure, reached, attempt, state)
    if isinstance(node, Nic):
        return _sender(departure, reached, attempt, state)
    return _queue(departure, state)


def _kind(one: Expected | SeenFrame | None) -> int:
    return -1 if one is None else int(one.frame["kind"])


def _odd_kind(departure: Departure) -> int:
    """The kind of frame that is wrong: PAUSE before messages before data, where two differ."""
    kinds = {_kind(departure.expected), _kind(departure.seen)}
    for other in departure.others:
        if other.time_ns - departure.time_ns < SOON_NS:
            kinds |= {_kind(other.expected), _kind(other.seen)}
    for kind in (PAUSE, PFC, CNM):
        if kind in kinds:
            return kind
    return DATA


# --- messages


def _message(
    resolved: ResolvedPlan, departure: Departure, reached: float, attempt: Try, state: Outcome
) -> Diagnosis:
    what = departure.what
    if what == "offset":
        assert departure.expected is not None and departure.seen is not None  # noqa: PT018
        wanted, got = departure.expected.frame["offset"], departure.seen.frame["offset"]
        sign = abs(int(wanted) + int(got)) <= UNIT and abs(int(wanted)) > UNIT
        return Diagnosis("cp.offset", "its sign is the other one" if sign else "its value differs")
    if what == "delta":
        return Diagnosis("cp.delta", "offset is right and delta is not")
    if what == "feedback":
        return _feedback(resolved, departure)
    if what == "time":
        return Diagnosis("cp.delay", "the message is right and its time is not")
    if what not in ("frame", "missing", "unexpected"):
        return Diagnosis("cp.message", f"{what} differs, the feedback does not")
    simple = _skipped(departure)
    explained = _explained(CONGESTION, departure, reached, attempt)
    if explained is not None:
        return explained
    if simple is not None:
        return simple
    partner = _partner(departure)
    if partner is not None:
        return Diagnosis("cp.culprit", f"the same message went out of {partner.port}")
    return Diagnosis("cp.interval", "the frame that was sampled is another one than expected")


def _same(one: SeenFrame | None, other: Expected | None) -> bool:
    if one is None or other is None:
        return False
    names = ("kind", "flow", "sequence", "feedback")
    return all(one.frame[name] == other.frame[name] for name in names)


def _skipped(departure: Departure) -> Diagnosis | None:
    """One message is missing or too much, and those behind it are right."""
    expected = [e for e in (departure.expected, *departure.expected_next) if _kind(e) == CNM]
    seen = [s for s in (departure.seen, *departure.seen_next) if _kind(s) == CNM]
    if len(expected) > 1 and seen and _same(seen[0], expected[1]):
        return Diagnosis("cp.send", "the message is missing, and those behind it are right")
    if len(seen) > 1 and expected and _same(seen[1], expected[0]):
        return Diagnosis("cp.send", "the message is one too many, and those behind it are right")
    if departure.expected is not None and not seen:
        return Diagnosis("cp.send", "the message is missing, and none comes behind it")
    return None


def _partner(departure: Departure) -> Departure | None:
    for other in departure.others:
        mine, theirs = departure.expected, other.seen
        if mine is None or theirs is None:
            mine, theirs = other.expected, departure.seen
        if mine is not None and theirs is not None and _kind(theirs) == CNM:
            same = mine.frame["feedback"] == theirs.frame["feedback"]
            if same and abs(mine.due_ps // 1000 - theirs.time_ns) < SOON_NS:
                return other
    return None


def _feedback(resolved: ResolvedPlan, departure: Departure) -> Diagnosis:
    """Offset and delta are right and the value is not: what would make the next ones so?"""
    messages = [
        one.frame
        for one in (departure.seen, *departure.seen_next)
        if one is not None and _kind(one) == CNM
    ]
    points = [use for use in resolved.uses["congestion_point"].values() if _is_qcn(use)]
    if not points:
        return Diagnosis("cp.feedback", "the value differs")
    set_point, weight = points[0].params.set_point, points[0].params.weight  # type: ignore[attr-defined]
    quantise = [
        (f"every value is {k:+d} of what it should be", partial(level, set_point, weight, k=k))
        for k in (1, -1, 2, -2)
    ]
    quantise.append(("it is not clipped", partial(level, set_point, weight, clipped=False)))
    quantise += [
        (
            f"its scale is {over}/{under} of what it should be",
            partial(level, set_point, weight, scale=(over, under)),
        )
        for over, under in ((2, 1), (1, 2))
    ]
    quantise.append(("it is rounded up", partial(level, set_point, weight, up=True)))
    weighed = [
        (f"as if the weight were {w}", partial(level, set_point, w, limit_weight=weight))
        for w in range(9)
        if w != weight
    ]
    weighed += [
        (f"as if the weight were {w}", partial(level, set_point, w))
        for w in range(9)
        if w != weight
    ]
    for rule, ways in (("cp.quantise", quantise), ("cp.feedback", weighed)):
        for why, value in ways:
            if all(_fits(value, message) for message in messages):
                return Diagnosis(rule, f"{why}, in {len(messages)} messages")
    return Diagnosis("cp.feedback", "offset and delta are right and the value is not")


def _is_qcn(use: Use) -> bool:
    return {"set_point", "weight"} <= set(type(use.params).model_fields)


def _fits(value: Callable[[int, int], int], message: np.ndarray) -> bool:
    """Offset and delta are known to 64 octets: some value within those is enough."""
    offset, delta = int(message["offset"]), int(message["delta"])
    found = {value(offset + a, delta + b) for a in WITHIN for b in WITHIN}
    return min(found) <= int(message["feedback"]) <= max(found)


# --- senders


def _sender(departure: Departure, reached: float, attempt: Try, state: Outcome) -> Diagnosis:
    if departure.what not in ("time", "frame", "missing", "unexpected"):
        return Diagnosis("source.frames", f"{departure.what} differs")
    world, rows = state.assembly.world, state.assembly.indices.port_rows
    port = world.ports[rows[departure.port]]
    lanes = world.lanes[port.first_lane : port.first_lane + world.clock[0].lanes]
    held = max(int(port.paused_until), *(int(lane.paused_until) for lane in lanes))
    early = _is_early(departure)
    if early and departure.seen is not None:
        octets = int(departure.seen.frame["length"]) + int(port.overhead)
        way = int(port.delay) + octets * 8 * 10**12 // int(port.rate)
        if departure.seen.time_ns * 1000 - way < held:
            left = (held + way) // 1000 - departure.seen.time_ns
            return Diagnosis("pause.obey", f"data is sent {left} ns before the pause is over")
    explained = _explained(REACTION, departure, reached, attempt)
    if explained is not None:
        return explained
    if not early and departure.expected is not None and int(port.pause_received) > 0:
        begun = departure.expected.due_ps - int(port.delay)
        if begun - held < 10 * SOON_NS * 1000 and begun >= held:
            return Diagnosis("pause.resume", "the pause is over and nothing is sent")
    flow = _flow_of(departure, early)
    if flow is not None and int(world.flows[flow].limiter) >= 0:
        how = "earlier" if early else "later"
        return Diagnosis("rp.rate", f"flow {flow} sends {how} than its limiter lets it")
    return Diagnosis("source.frames", "the flow has no limiter, and its frames are others")


def _is_early(departure: Departure) -> bool:
    """Whether a frame came before it should have; otherwise one did not come when it should."""
    if departure.expected is None:
        return True
    if departure.seen is None:
        return False
    return departure.seen.time_ns < departure.expected.due_ps // 1000


def _flow_of(departure: Departure, early: bool) -> int | None:
    one = departure.seen if early else departure.expected
    return None if one is None else int(one.frame["flow"])


def _explained(
    variants: Sequence[Variant], departure: Departure, reached: float, attempt: Try
) -> Diagnosis | None:
    """The variant that agrees with the capture for longest, if one agrees for longer."""
    best: list[tuple[float, int, Variant]] = []
    for variant in variants:
        outcome = attempt(variant)
        if outcome is not None and outcome.reached_ns > reached:
            best.append((outcome.reached_ns, outcome.agreed, variant))
    if not best:
        return None
    far = max(best, key=lambda one: one[:2])
    alike = [one[2] for one in best if one[:2] == far[:2]]
    if far[0] == float("inf"):
        why = f"{far[2].what}: that explains the rest of the capture"
    else:
        why = f"{far[2].what}: that explains {(far[0] - reached) / 1e6:.3f} ms more"
    others = [f"{one.rule}: {one.what}" for one in alike[1:]]
    return Diagnosis(alike[0].rule, why, alike[0], others)


# --- pauses


def _quanta(one: Expected | SeenFrame) -> int:
    frame = one.frame
    if int(frame["kind"]) == PAUSE:
        return int(frame["feedback"])
    record = np.rec.array([frame], dtype=frame.dtype)[0]
    return max(quanta_of(record, p) for p in range(8) if int(frame["mark"]) >> p & 1 or p == 0)


def _pause(departure: Departure) -> Diagnosis:
    expected, seen = departure.expected, departure.seen
    if _kind(expected) in (PAUSE, PFC) and _kind(expected) == _kind(seen):
        assert expected is not None and seen is not None  # noqa: PT018
        if departure.what == "mark":
            return Diagnosis("pause.class", "the priorities that it enables differ")
        if departure.what not in ("time", "feedback", "offset", "delta", "inner", "octets"):
            return Diagnosis("pause.frame", f"{departure.what} differs")
        apart = abs(seen.time_ns - expected.due_ps // 1000) > SOON_NS // 10
        if not apart and departure.what == "time":
            return Diagnosis("pause.refresh", "it comes at another time")
        if not apart and departure.what == "octets":
            return Diagnosis("pause.frame", "its octets differ")
        if not apart:
            return Diagnosis("pause.quanta", f"{_quanta(seen)} instead of {_quanta(expected)}")
    held = any(_kind(one) in (PAUSE, PFC) for one in departure.before)
    if held:
        last = [one for one in departure.before if _kind(one) in (PAUSE, PFC)][-1]
        held = _quanta(last) > 0
    missing = not _is_early(departure) and _kind(expected) in (PAUSE, PFC)
    odd: Expected | SeenFrame | None = expected if missing else seen
    assert odd is not None
    how = "is missing" if missing else "is not expected"
    if _quanta(odd) == 0:
        return Diagnosis("pause.go", f"the end of the pause {how}")
    if held:
        return Diagnosis("pause.refresh", f"the pause, which is not over yet, said again: {how}")
    return Diagnosis("pause.stop", f"the pause {how}")


# --- queues


def _queue(departure: Departure, state: Outcome) -> Diagnosis:
    world, rows = state.assembly.world, state.assembly.indices.port_rows
    port = world.ports[rows[departure.port]]
    early = departure.seen if _is_early(departure) else None
    if early is not None and early.time_ns * 1000 < int(port.paused_until):
        return Diagnosis("pause.obey", "data is sent while the port is paused")
    seen = [one for one in (departure.seen, *departure.seen_next) if one is not None]
    expected = [e for e in (departure.expected, *departure.expected_next) if e is not None]
    if departure.what == "frame" and len(expected) > 1 and _key(seen[0]) == _key(expected[1]):
        return Diagnosis("queue.drop", "a frame is missing for which there was room")
    if departure.what == "frame" and len(seen) > 1 and _key(seen[1]) == _key(expected[0]):
        return Diagnosis("queue.drop", "a frame is sent for which there was no room")
    return Diagnosis("queue.service", "its frames leave in another order or at other times")


def _key(one: Expected | SeenFrame) -> tuple[int, ...]:
    return tuple(int(one.frame[name]) for name in ("kind", "flow", "sequence"))
