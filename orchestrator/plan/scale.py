"""Rate scaling: `scale = 100` over a base has its rates 100 times and its times a 100th.

Every text of the base that is a rate with its unit is multiplied, every one that is a duration
divided by the scale, exactly; sizes, ratios, counts, presets, and texts for people stay. So
the same octets take the same number of frames: queues, thresholds and shares mean the same.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from orchestrator.errors import Problem
from orchestrator.plan.mistakes import shown
from orchestrator.plan.ranges import VALUE
from orchestrator.plan.units import DURATION, RATE, UnitError

KEPT = (
    "name",
    "title",
    "paper",
    "note",
    "caption",
    "same",
    "plugin",
    "preset",
    "like",
    "target",
    "command",
    "base",
    "prefix",
)
"""Keys whose texts are prose, names of algorithms, or commands."""
_UNIT = re.compile(r"[A-Za-z\u00b5\u03bc/]\s*$")


def scaled(value: Any, by: Fraction, where: str, problems: list[Problem]) -> Any:
    """A copy of a base's data at other rates; what cannot be scaled exactly is a problem."""
    if isinstance(value, dict):
        return {
            key: part if key in KEPT else scaled(part, by, f"{where}.{key}", problems)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [scaled(part, by, f"{where}[{at}]", problems) for at, part in enumerate(value)]
    if not isinstance(value, str) or not _UNIT.search(value):
        return value
    if VALUE.search(value) and _read(VALUE.sub("1", value)):
        text = "a quantity without braces is expected, so that it can be scaled"
        problems.append(Problem(where.lstrip("."), shown(value), text))
        return value
    return _at_scale(value, by, where.lstrip("."), problems)


def _at_scale(text: str, by: Fraction, where: str, problems: list[Problem]) -> str:
    found = _read(text)
    if found is None:
        return text
    quantity, amount = found
    exact = amount * by if quantity is RATE else amount / by
    if exact.denominator == 1:
        return quantity.format(int(exact))
    accepted = f"a value that stays a whole number of {quantity.base} at scale {by} is expected"
    problems.append(Problem(where, text, accepted))
    return text


def _read(text: str) -> tuple[Any, Fraction] | None:
    """The quantity that a text is, and its base units; None for any other text."""
    for quantity in (RATE, DURATION):
        try:
            return quantity, Fraction(quantity.parse(text))
        except UnitError:
            continue
    return None
