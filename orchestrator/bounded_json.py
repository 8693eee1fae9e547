"""Parser of JSON from elsewhere: integers of 64 bits and finite floats.

Python's own parser makes integers of up to 4300 digits, and NaN and infinities of words and of huge
exponents. Arithmetic and output fail on these later, where the message no longer has a name.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

MOST_DIGITS = 20
"""Characters of an integer of 64 bits, with its sign."""
SHOWN = 20


def loads(text: str | bytes) -> Any:
    """The data in a text. Raises ValueError, also for numbers that do not fit; RecursionError."""
    return json.loads(
        text, parse_int=_integer, parse_float=_finite, parse_constant=_refuse_constant
    )


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS or not -(2**63) <= (number := int(text)) < 2**63:
        raise ValueError(f"{_shown(text)} is a number of more than 64 bits")
    return number


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{_shown(text)} is no finite number")
    return number


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{_shown(text)} is no finite number")


def _shown(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
