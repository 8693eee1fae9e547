"""Diagnosis of congestion messages: wrong source, time or sample, missing or superfluous
message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from orchestrator.engine.records import CNM
from orchestrator.plan.plugin_catalog import Use
from traces.oracle.diagnosis.diagnosis_case import (
    SOON_NS,
    Case,
    Diagnosis,
    explained,
    explanations,
    kind_of,
)
from traces.oracle.faults import CONGESTION
from traces.oracle.feedback_quantization import LEVELS, WITHIN, level
from traces.oracle.node_check import Deviation, Expected, SeenFrame

Value = Callable[[int, int], int]
MOST_WEIGHT = 8
FEWEST_CLIPPED = 2
"""So many messages that have the same value, which is too low, are clipped."""


def feedback(case: Case) -> Diagnosis:
    """The weight, or how the value is clipped and quantised."""
    messages = [one.frame for one in case.seen if kind_of(one) == CNM]
    points = [use for use in case.resolved.uses["congestion_point"].values() if _is_qcn(use)]
    if not points:
        return Diagnosis("cp.feedback", "the value differs")
    set_point, weight = points[0].params.set_point, points[0].params.weight  # type: ignore[attr-defined]
    for rule, ways in (
        ("cp.quantise", _quantised(set_point, weight)),
        ("cp.feedback", _weighed(set_point, weight)),
    ):
        for why, value in ways:
            if all(_fits(value, message) for message in messages):
                return Diagnosis(rule, f"{why}, in {len(messages)} messages")
    ceiling = _ceiling(partial(level, set_point, weight), messages)
    if ceiling is not None:
        return Diagnosis(
            "cp.quantise",
            f"it is clipped at {ceiling} and not at {LEVELS}, in {len(messages)} messages",
        )
    return Diagnosis("cp.feedback", "offset and delta are right and the value is not")


def _quantised(set_point: int, weight: int) -> list[tuple[str, Value]]:
    """Ways of clipping and cutting to 6 bits."""
    ways: list[tuple[str, Value]] = [
        (f"every value is {k:+d} of what it should be", partial(level, set_point, weight, k=k))
        for k in (1, -1, 2, -2)
    ]
    ways.append(("it is not clipped", partial(level, set_point, weight, clipped=False)))
    ways += [
        (
            f"its scale is {over}/{under} of what it should be",
            partial(level, set_point, weight, scale=(over, under)),
        )
        for over, under in ((2, 1), (1, 2))
    ]
    ways.append(("it is rounded up", partial(level, set_point, weight, up=True)))
    return ways


def _weighed(set_point: int, weight: int) -> list[tuple[str, Value]]:
    """Other weights, with the clipping of the right one or with their own."""
    others = [w for w in range(MOST_WEIGHT + 1) if w != weight]
    limits: list[int | None] = [weight, None]
    return [
        (f"as if the weight were {w}", partial(level, set_point, w, limit_weight=limit))
        for limit in limits
        for w in others
    ]


def _ceiling(value: Value, messages: Sequence[np.ndarray]) -> int | None:
    """The highest value, where only messages that should have a higher one are wrong."""
    wrong = [one for one in messages if not _fits(value, one)]
    highest = max(int(one["feedback"]) for one in messages)
    too_low = all(
        int(one["feedback"]) == highest and min(_possible(value, one)) > highest for one in wrong
    )
    return highest if too_low and len(wrong) >= FEWEST_CLIPPED else None


def _is_qcn(use: Use) -> bool:
    return {"set_point", "weight"} <= set(type(use.params).model_fields)


def _possible(value: Value, message: np.ndarray) -> set[int]:
    """Offset and delta are known to 64 octets: the values of all that they may have been."""
    offset, delta = int(message["offset"]), int(message["delta"])
    return {value(offset + a, delta + b) for a in WITHIN for b in WITHIN}


def _fits(value: Value, message: np.ndarray) -> bool:
    """Some value within those is enough."""
    found = _possible(value, message)
    return min(found) <= int(message["feedback"]) <= max(found)


CULPRIT = "cp.culprit"
UNIT = 64


def message(case: Case) -> Diagnosis:
    """The broken rule, by the field that differs; where the frame as such differs, by the fate of
    the message."""
    departure, what = case.departure, case.departure.what
    if what == "offset":
        assert departure.expected is not None and departure.seen is not None  # noqa: PT018
        wanted, got = departure.expected.frame["offset"], departure.seen.frame["offset"]
        sign = abs(int(wanted) + int(got)) <= UNIT and abs(int(wanted)) > UNIT
        return Diagnosis("cp.offset", "its sign is the other one" if sign else "its value differs")
    if what == "delta":
        return Diagnosis("cp.delta", "offset is right and delta is not")
    if what == "feedback":
        return feedback(case)
    if what == "time":
        return Diagnosis("cp.delay", "the message is right and its time is not")
    if what == "destination":
        return _culprit(case, "its address is not that of the sampled frame's source")
    if what not in ("frame", "missing", "unexpected"):
        return Diagnosis("cp.message", f"{what} differs, the feedback does not")
    return _another(case)


def _another(case: Case) -> Diagnosis:
    """Another message was expected, or none."""
    departure = case.departure
    if departure.elsewhere:
        return _culprit(case, _misrouted(departure))
    if (late := _late(case)) is not None:
        return late
    skipped = _skipped(departure)
    variant = explained(case, explanations(case, CONGESTION))
    if variant is not None:
        return variant
    if skipped is not None:
        return skipped
    if _is_same_sample(case):
        return Diagnosis(CULPRIT, "offset, delta and feedback are right, and the flow is another")
    partner = _partner(departure)
    if partner is not None:
        return Diagnosis(CULPRIT, f"the same message went out of {partner.port}")
    return Diagnosis("cp.interval", "the frame that was sampled is another one than expected")


def _misrouted(departure: Deviation) -> str:
    """Diagnosis of a message to the wrong destination."""
    here, there = departure.port, departure.elsewhere
    wanted, got = (here, there) if departure.is_missing else (there, here)
    return f"the message went out of {got} and not of {wanted}"


def _culprit(case: Case, why: str) -> Diagnosis:
    """The source is wrong; the sampling that would notify it, if there is one."""
    ways = [variant for variant in CONGESTION if variant.rule == CULPRIT]
    found = explained(case, explanations(case, ways))
    return found if found is not None else Diagnosis(CULPRIT, why)


def _late(case: Case) -> Diagnosis | None:
    """The message comes behind others that it should have been before."""
    wanted = case.departure.expected
    if wanted is None or kind_of(wanted) != CNM:
        return None
    for one in case.departure.seen_next:
        late_ns = one.time_ns - wanted.due_ps // 1000
        if _same(one, wanted) and late_ns > case.late_ns:
            return Diagnosis("cp.delay", f"the message leaves {late_ns / 1000:.3f} us late")
    return None


def _is_same_sample(case: Case) -> bool:
    """True if the message is as expected in all that the queue decides."""
    wanted, got = case.departure.expected, case.departure.seen
    if wanted is None or got is None or not kind_of(wanted) == kind_of(got) == CNM:
        return False
    apart = abs(got.time_ns - wanted.due_ps // 1000)
    alike = all(
        int(wanted.frame[name]) // UNIT == int(got.frame[name]) // UNIT
        for name in ("offset", "delta")
    )
    return alike and wanted.frame["feedback"] == got.frame["feedback"] and apart <= case.late_ns


def _same(one: SeenFrame | None, other: Expected | None) -> bool:
    if one is None or other is None:
        return False
    names = ("kind", "flow", "sequence", "feedback")
    return all(one.frame[name] == other.frame[name] for name in names)


def _skipped(departure: Deviation) -> Diagnosis | None:
    """One message is missing or too much, and those behind it are right."""
    expected = [e for e in (departure.expected, *departure.expected_next) if kind_of(e) == CNM]
    seen = [s for s in (departure.seen, *departure.seen_next) if kind_of(s) == CNM]
    if len(expected) > 1 and seen and _same(seen[0], expected[1]):
        return Diagnosis("cp.send", "the message is missing, and those behind it are right")
    if len(seen) > 1 and expected and _same(seen[1], expected[0]):
        return Diagnosis("cp.send", "the message is one too many, and those behind it are right")
    if departure.expected is not None and not seen:
        return Diagnosis("cp.send", "the message is missing, and none comes behind it")
    return None


def _partner(departure: Deviation) -> Deviation | None:
    for other in departure.others:
        mine, theirs = departure.expected, other.seen
        if mine is None or theirs is None:
            mine, theirs = other.expected, departure.seen
        if mine is not None and theirs is not None and kind_of(theirs) == CNM:
            same = mine.frame["feedback"] == theirs.frame["feedback"]
            if same and abs(mine.due_ps // 1000 - theirs.time_ns) < SOON_NS:
                return other
    return None
