"""Delay line that duplicates frames at random (RFC 5560, one-way packet duplication).

A copy follows its frame directly and takes its own time on the wire. On a link with several stages
it passes those behind this one by itself.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from plugins.lossy_link import is_of_kinds
from tailback.plugin import Algorithm, Params, Ratio, RatioLimit, delay_line, lfsr_next, record


class Duplication(Params):
    """Parameters of the duplication."""

    duplication_rate: Annotated[Ratio, RatioLimit(10**9)] = Field(
        Fraction(1, 100), ge=0, le=1, description="share of the frames that is duplicated"
    )
    copies: int = Field(1, ge=1, le=16, description="copies of such a frame")
    frame_kinds: Literal["all", "cnm", "data"] = Field(
        "all", description="kinds that are duplicated"
    )

    def most_added(self) -> int:
        """Nothing: a copy leaves behind its frame, and takes as long."""
        return 0

    def most_copies(self) -> int:
        """Of each frame."""
        return self.copies


STATE = record("lfsr")


def delay(state, params, port, frame, now, message):
    """The link's delay; copies, or none, by one draw."""
    if is_of_kinds(params.frame_kinds, frame.kind):
        state.lfsr = lfsr_next(state.lfsr)
        if state.lfsr * params.duplication_rate_den < params.duplication_rate_num << 32:
            message.copies = params.copies
    return port.delay


DUPLICATION: Algorithm = delay_line(
    "duplication",
    "the link's delay; some frames are duplicated",
    Duplication,
    STATE,
    delay=delay,
    alters_frames=True,
)
