"""Dynamic thresholds of a shared memory (Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998).

At every instant a buffer may hold alpha times the memory that is free: T = alpha (B - Q), for B
octets of memory of which Q are in use. A frame that would make it longer finds no room. n buffers
that always have more to take settle where each holds its limit, alpha B / (1 + alpha n), and
B / (1 + alpha n) stay free for buffers that begin to fill. Each priority has its own alpha.

At an input the limit is the XOFF threshold of the pause `dynamic-pfc`, as in the buffer model of
SONiC (`dynamic_th` of a buffer profile, where alpha is 2^dynamic_th).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import Field

from tailback.plugin import Algorithm, Params, Ratio, RatioLimit, buffer_management, record

MOST_ALPHA = 128
Alpha = Annotated[Ratio, RatioLimit(100_000)]


def _alpha(priority: int) -> Alpha:
    text = f"share of the free memory that a buffer of priority {priority} may hold"
    return Field(Fraction(1), ge=0, le=MOST_ALPHA, description=text)


class DynamicThreshold(Params):
    """Alpha of each priority."""

    alpha_0: Alpha = _alpha(0)
    alpha_1: Alpha = _alpha(1)
    alpha_2: Alpha = _alpha(2)
    alpha_3: Alpha = _alpha(3)
    alpha_4: Alpha = _alpha(4)
    alpha_5: Alpha = _alpha(5)
    alpha_6: Alpha = _alpha(6)
    alpha_7: Alpha = _alpha(7)


def on_limit(state, params, queue, frame, now, message):
    """Alpha of the frame's priority times the free memory, rounded down to octets."""
    num, den = params.alpha_0_num, params.alpha_0_den
    if frame.priority == 1:
        num, den = params.alpha_1_num, params.alpha_1_den
    elif frame.priority == 2:
        num, den = params.alpha_2_num, params.alpha_2_den
    elif frame.priority == 3:
        num, den = params.alpha_3_num, params.alpha_3_den
    elif frame.priority == 4:
        num, den = params.alpha_4_num, params.alpha_4_den
    elif frame.priority == 5:
        num, den = params.alpha_5_num, params.alpha_5_den
    elif frame.priority == 6:
        num, den = params.alpha_6_num, params.alpha_6_den
    elif frame.priority == 7:
        num, den = params.alpha_7_num, params.alpha_7_den
    return queue.free * num // den


DYNAMIC_THRESHOLD: Algorithm = buffer_management(
    "dynamic-threshold",
    "lets each buffer hold alpha times the free shared memory (Choudhury and Hahne)",
    DynamicThreshold,
    record("unused"),
    limit=on_limit,
)
