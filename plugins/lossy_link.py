"""Lossy delay line: drops frames at random, all of them, or CNMs or data alone.

Not in the papers: the loss of congestion notification messages is one of our own experiments
(docs/settled/experiments.md#beyond-the-papers).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tailback.plugin import (
    CNM,
    DATA,
    LOST,
    Algorithm,
    Params,
    Ratio,
    RatioLimit,
    compiled,
    delay_line,
    lfsr_next,
    record,
)

ALL, ONLY_CNM, ONLY_DATA = range(3)


class Lossy(Params):
    """Parameters of the lossy line."""

    former: ClassVar[dict[str, str]] = {"share": "loss_rate", "frames": "frame_kinds"}

    loss_rate: Annotated[Ratio, RatioLimit(10**9)] = Field(
        Fraction(1, 10), ge=0, le=1, description="share of the frames that is lost"
    )
    frame_kinds: Literal["all", "cnm", "data"] = Field("all", description="kinds that are lost")

    def most_added(self) -> int:
        """Nothing."""
        return 0


STATE = record("lfsr")


@compiled
def is_of_kinds(frame_kinds, kind):
    """True if a parameter `frame_kinds` (its place among all, cnm, data) names a frame's kind."""
    if frame_kinds == ONLY_CNM:
        return kind == CNM
    return frame_kinds != ONLY_DATA or kind == DATA


def delay(state, params, port, frame, now, message):
    """The link's delay, or that the frame is lost."""
    if not is_of_kinds(params.frame_kinds, frame.kind):
        return port.delay
    state.lfsr = lfsr_next(state.lfsr)
    if state.lfsr * params.loss_rate_den < params.loss_rate_num << 32:
        return LOST
    return port.delay


LOSSY: Algorithm = delay_line(
    "lossy-delay", "the link's delay; some frames are lost", Lossy, STATE, delay=delay
)
