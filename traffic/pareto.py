"""Pareto on/off source: bursts at the peak rate and silences of Pareto distributed lengths.

A burst lasts `burst` on average; the mean silence is what makes the average rate `rate`. Lengths
are x_m / U^(1/shape) with x_m = mean (shape - 1) / shape (FECN, section IV: bursts of 10 ms,
shape 1.5). A small shape has a heavy tail: averages over a run stay far from the mean for long.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Self

from pydantic import Field, model_validator

from orchestrator.algorithm import Algorithm, traffic
from orchestrator.engine.jit import compiled
from orchestrator.engine.lfsr import lfsr_next
from orchestrator.engine.records import NEVER, record
from orchestrator.plan.params import Duration, Params, Parts, Rate, Ratio, Sender
from traffic.fixedpoint import negative_log2, part_of, slot, times_power

MOST_PEAK = 1000
MOST_DRAWS = 1000
"""Bursts that are drawn for one frame; beyond, mean ones are taken."""


class ParetoOnOff(Params):
    """Parameters of a Pareto on/off source."""

    rate: Rate = Field(1_000_000_000, ge=1, le=10**12, description="rate of the source, on average")
    peak: Rate = Field(10_000_000_000, ge=1, le=10**12, description="rate within a burst")
    burst: Duration = Field(10 * 10**9, ge=10**6, le=10**12, description="mean length of a burst")
    shape: Annotated[Ratio, Parts(10_000)] = Field(
        Fraction(3, 2), gt=1, le=100, description="of both distributions; small: heavy tail"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.rate <= self.peak <= self.rate * MOST_PEAK:
            raise ValueError(f"'peak' has to be 1 to {MOST_PEAK} times 'rate'")
        return self

    def frames_offered(self, sender: Sender) -> int | None:
        """At `rate`, each flow."""
        return sender.flows * sender.frames_at(self.rate)


STATE = record("lfsr", "begun", "left", "carry")
"""`left` (ps): of the burst under way, whose frames go on while a whole slot fits; what does not
fit lengthens the next burst, so that none of the rate is lost to whole frames. `begun`: 1 once the
first burst is drawn. `carry`: of the slots, see `traffic.fixedpoint.slot`."""


@compiled
def drawn(state, params, mean):  # type: ignore[no-untyped-def]
    """A length (ps) of the Pareto distribution with this mean."""
    state.lfsr = lfsr_next(state.lfsr)
    least = part_of(mean, params.shape_num - params.shape_den, params.shape_num)
    exponent = negative_log2(state.lfsr) * params.shape_den // params.shape_num
    return times_power(least, exponent)


def interval(state, params, flow, frame, now, message):  # type: ignore[no-untyped-def]
    """ps from this frame to the next: of the burst under way, or of the next one."""
    gap = slot(state, flow.length, params.peak)
    beyond = params.peak - params.rate
    if state.begun == 0:  # begin within a burst or before one, as likely as at any other time
        state.begun = 1
        state.lfsr = lfsr_next(state.lfsr)
        if (state.lfsr >> 12) * params.peak < params.rate << 20:
            state.left = drawn(state, params, params.burst)
    state.left -= gap
    if beyond == 0:
        return gap
    full = gap
    off = params.burst * (beyond // params.rate)
    off += part_of(params.burst, beyond % params.rate, params.rate)
    draws = 0
    while state.left < full and draws < MOST_DRAWS:
        draws += 1
        gap = min(gap + drawn(state, params, off), NEVER)
        state.left += drawn(state, params, params.burst)
    if state.left < full:  # a frame of so many bursts that their mean is known
        bursts = (full - state.left + params.burst - 1) // params.burst
        gap = min(gap + min(bursts, NEVER // max(off, 1)) * off, NEVER)
        state.left += bursts * params.burst
    return gap


PARETO: Algorithm = traffic(
    "pareto-onoff", "bursts and silence of Pareto lengths", ParetoOnOff, STATE, next=interval
)
