"""Delay line that holds frames back at random, so that others overtake them (RFC 4737, reordering).

A frame that is held back arrives `hold` later than it would; frames behind it that arrive before
have overtaken it. All others keep their order.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from plugins.lossy_link import is_of_kinds
from tailback.plugin import (
    Algorithm,
    Duration,
    Params,
    Ratio,
    RatioLimit,
    delay_line,
    lfsr_next,
    record,
)


class Reordering(Params):
    """Parameters of the reordering."""

    reordering_rate: Annotated[Ratio, RatioLimit(10**9)] = Field(
        Fraction(1, 100), ge=0, le=1, description="share of the frames that is held back"
    )
    hold: Duration = Field(
        20_000_000, gt=0, le=10**12, description="time that such a frame arrives later"
    )
    frame_kinds: Literal["all", "cnm", "data"] = Field(
        "all", description="kinds that are held back"
    )

    def most_added(self) -> int:
        """The time that a frame is held back."""
        return self.hold


STATE = record("lfsr")


def delay(state, params, port, frame, now, message):
    """The link's delay; whether the frame is held back, by one draw."""
    if is_of_kinds(params.frame_kinds, frame.kind):
        state.lfsr = lfsr_next(state.lfsr)
        if state.lfsr * params.reordering_rate_den < params.reordering_rate_num << 32:
            message.due = params.hold
    return port.delay


REORDERING: Algorithm = delay_line(
    "reordering",
    "the link's delay; some frames are held back, and others overtake them",
    Reordering,
    STATE,
    delay=delay,
    alters_frames=True,
)
