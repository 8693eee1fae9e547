"""`of_seeds` of an expectation: a bound on the distribution of its metric over seeds."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator

MEDIAN = "median"
_SHARE = re.compile(r"(\d{1,6})/(\d{1,6})")


def _checked(text: str) -> str:
    """The text as it stands. Raises ValueError where it is neither a median nor a share."""
    share(text)
    return text


def share(text: str) -> Fraction | None:
    """The least share of the seeds that have to meet it; None where the median is judged."""
    if text == MEDIAN:
        return None
    match = _SHARE.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError("'median', or a share of the seeds such as '18/20', is expected")
    return Fraction(int(match[1]), int(match[2]))


OfSeeds = Annotated[str, AfterValidator(_checked)]
"""The text, once it is known to be one of the two."""
