"""Delay line that loses frames in bursts: the channel of Gilbert and Elliott.

A Markov chain with a good and a bad state loses frames with a probability of its own in each
(Gilbert 1960: none is lost in the good state; Elliott 1963: some may be). A step of the chain is a
frame here, a bit there. A frame meets the state that the frame before left, and then the chain
moves; it begins in the good state.

With p = `to_bad` and r = `to_good` the chain is bad for p / (p + r) of the frames, 1 / r of them in
a row on the mean, and the share (p loss_bad + r loss_good) / (p + r) is lost.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from plugins.lossy_link import is_of_kinds
from tailback.plugin import (
    LOST,
    Algorithm,
    Observed,
    Params,
    Ratio,
    RatioLimit,
    compiled,
    delay_line,
    lfsr_next,
    record,
)

Share = Annotated[Ratio, RatioLimit(10**9)]
WORD = 32
"""Bits of a draw."""


class GilbertElliott(Params):
    """Parameters of the channel, shares of the frames that `frame_kinds` names."""

    to_bad: Share = Field(
        Fraction(1, 1000), ge=0, le=1, description="probability that a good frame turns bad (p)"
    )
    to_good: Share = Field(
        Fraction(1, 10), ge=0, le=1, description="probability that a bad frame turns good (r)"
    )
    loss_good: Share = Field(
        Fraction(0), ge=0, le=1, description="share that is lost in the good state"
    )
    loss_bad: Share = Field(
        Fraction(1), ge=0, le=1, description="share that is lost in the bad state"
    )
    frame_kinds: Literal["all", "cnm", "data"] = Field("all", description="kinds that are lost")

    def most_added(self) -> int:
        """Nothing."""
        return 0


STATE = record("lfsr", "bad", "bad_frames", "bursts")


@compiled
def happens(state, num, den):
    """True with probability num / den, by one draw."""
    state.lfsr = lfsr_next(state.lfsr)
    return state.lfsr * den < num << WORD


def delay(state, params, port, frame, now, message):
    """The link's delay, or that the frame is lost; two draws for each frame."""
    if not is_of_kinds(params.frame_kinds, frame.kind):
        return port.delay
    if state.bad != 0:
        state.bad_frames += 1
        lost = happens(state, params.loss_bad_num, params.loss_bad_den)
        if happens(state, params.to_good_num, params.to_good_den):
            state.bad = 0
    else:
        lost = happens(state, params.loss_good_num, params.loss_good_den)
        if happens(state, params.to_bad_num, params.to_bad_den):
            state.bad = 1
            state.bursts += 1
    return LOST if lost else port.delay


GILBERT_ELLIOTT: Algorithm = delay_line(
    "gilbert-elliott",
    "the link's delay; frames are lost in bursts (Gilbert 1960, Elliott 1963)",
    GilbertElliott,
    STATE,
    delay=delay,
    columns=(
        Observed("bad_frames", "1", "frames that met the bad state", kind="counter"),
        Observed("bursts", "1", "times that the channel turned bad", kind="counter"),
    ),
)
