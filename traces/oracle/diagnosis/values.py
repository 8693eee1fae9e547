"""Diagnosis of a wrong feedback value in a message with the right offset and delta."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from orchestrator.engine.records import CNM
from orchestrator.plan.catalog import Use
from traces.oracle.diagnosis.case import Case, Diagnosis, kind_of
from traces.oracle.levels import LEVELS, WITHIN, level

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
