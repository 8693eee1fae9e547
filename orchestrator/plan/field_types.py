"""Types of a plan's fields, with the bounds that keep a run within the machine's integers.

Bounds are wide (a frame's time on the wire times 2^12 still fits an int64 of picoseconds); they
exist so that a slip of the pen is a sentence, and no plan can exhaust memory or never end.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from orchestrator.plan.algorithm_params import Duration, Rate, Size

SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")


def _slug(text: str) -> str:
    if not SLUG.fullmatch(text):
        raise ValueError("a name has 1 to 63 letters, digits, '-' and '_', the first no sign")
    return text


def _code_point(text: str) -> str:
    if not re.fullmatch(r"[0-9]|[1-5][0-9]|6[0-3]", text):
        raise ValueError("a DSCP is a number from 0 to 63")
    return text


def _line(text: str) -> str:
    if len(text) > 1000 or any(0xD800 <= ord(sign) < 0xE000 for sign in text):
        raise ValueError("a text of at most 1000 characters is expected")
    return text


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        return _line(value)
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 1 << 63):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError("a text, a number, true or false is expected")


def _option(value: Any) -> Any:
    if isinstance(value, list) and len(value) <= 1000:
        return [_scalar(each) for each in value]
    return _scalar(value)


def _names(value: Any) -> Any:
    if isinstance(value, str):
        return _slug(value)
    if not isinstance(value, list | tuple) or not 0 < len(value) <= 100_000:
        raise ValueError("a name or a list of 1 to 100000 names is expected")
    if not all(isinstance(name, str) for name in value):
        raise ValueError("every name in the list is a text")
    return [_slug(name) for name in value]


def _number(value: Any) -> Any:
    """A whole number is a share too: 0 and 1."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


Slug = Annotated[str, AfterValidator(_slug)]
"""A name: no dot, slash, colon, space or '>', which names of ports, links and folders use."""
Group = Annotated[list[Slug], Field(min_length=1)]
Slugs = Annotated[Any, AfterValidator(_names)]
"""One name, or a list of names."""
Line = Annotated[str, AfterValidator(_line)]
"""A text for people or a name in dotted notation."""
Scalar = Annotated[Any, AfterValidator(_scalar)]
"""A value whose type only a plugin or a metric knows."""
OptionValue = Annotated[Any, AfterValidator(_option)]
"""A value, or a list of values, of an option that only a target knows."""

LONGEST_FRAME = 9216
"""Octets without the FCS: as long as switches of Ethernet have their jumbo frames. All that depends
on it reads it here, but `orchestrator.engine.datapath.mmsg_batch`, which lies below and has padding
for so many."""
LineRate = Annotated[Rate, Field(ge=1000, le=10**13)]
"""Of a link or a service: 1 kb/s to 10 Tb/s."""
Granularity = Annotated[Rate, Field(le=10**12)]
Delay = Annotated[Duration, Field(le=10 * 10**12)]
"""Of a link, each way: at most 10 s."""
LongestDelay = Annotated[Duration, Field(gt=0, le=10**12)]
"""Of a single frame that is delayed: above 0, at most 1 s."""
Instant = Annotated[Duration, Field(le=3600 * 10**12)]
"""A time of the run, which lasts at most one hour."""
SampleInterval = Annotated[Duration, Field(ge=10**6, le=3600 * 10**12)]
"""Between rows of samples: at least 1 us."""
AgeingTime = Annotated[Duration, Field(ge=10 * 10**12, le=10**6 * 10**12)]
"""802.1Q-2018, table 8-6."""
Buffer = Annotated[Size, Field(gt=0, le=10**9)]
Overhead = Annotated[Size, Field(le=1000)]
FrameSize = Annotated[Size, Field(ge=70, le=LONGEST_FRAME)]
"""From destination address up to, not including, the FCS; 70 octets are headers."""
SnapSize = Annotated[Size, Field(ge=14, le=LONGEST_FRAME)]
MessageSize = Annotated[Size, Field(ge=1, le=10**12)]
"""Of a message, without headers: at most 1 TB."""
CodePoint = Annotated[str, AfterValidator(_code_point)]
DscpMap = Annotated[
    dict[CodePoint, Annotated[int, Field(ge=0, le=7)]], Field(min_length=1, max_length=64)
]
"""DSCP, 0 to 63, as a key -> priority, 0 to 7."""
PriorityMap = Annotated[list[Annotated[int, Field(ge=0, le=7)]], Field(min_length=8, max_length=8)]
"""Priority, 0 to 7, of each of the priorities 0 to 7."""
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_number)]
Point = Annotated[tuple[MessageSize, Share], Field(strict=False)]
"""One point of a distribution of sizes."""
Depth = Annotated[Size, Field(ge=64, le=10**5)]
"""Of a token bucket, which counts in 10^-12 bit: 100 KB are 0.8e18 of them."""
Period = Annotated[Duration, Field(ge=10**5, le=10**10)]
"""Between refills of a token bucket: 100 ns to 10 ms."""
