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
from orchestrator.engine.node.link import wire_time
from orchestrator.engine.records import NEVER, record
from orchestrator.plan.params import Duration, Params, Parts, Rate, Ratio
from traffic.fixedpoint import negative_log2, times_power

MOST_PEAK = 1000


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


STATE = record("lfsr", "until")
"""The end of the burst under way (ps); 0 before the first."""


@compiled
def drawn(state, params, mean):  # type: ignore[no-untyped-def]
    """A length (ps) of the Pareto distribution with this mean."""
    state.lfsr = lfsr_next(state.lfsr)
    least = min(mean // params.shape_num * (params.shape_num - params.shape_den), mean)
    exponent = negative_log2(state.lfsr) * params.shape_den // params.shape_num
    return times_power(least, exponent)


def interval(state, params, flow, frame, now, message):  # type: ignore[no-untyped-def]
    """ps from this frame to the next: of the burst under way, or of the next one."""
    slot = wire_time(flow.length, params.peak)
    if state.until == 0:  # begin within a burst or before one, as likely as at any other time
        state.lfsr = lfsr_next(state.lfsr)
        if (state.lfsr >> 12) * (params.peak >> 8) < (params.rate >> 8) << 20:
            state.until = now + drawn(state, params, params.burst)
        else:
            state.until = now
    gap = slot
    while now + gap > state.until:
        beyond = min(params.peak * 1000 // params.rate, MOST_PEAK * 1000) - 1000
        off = params.burst // 1000 * max(beyond, 0)
        begin = min(max(state.until, now + gap - slot) + drawn(state, params, off), NEVER)
        state.until = min(begin + max(drawn(state, params, params.burst), 1), NEVER)
        gap = max(begin - now, slot)
        if off == 0:
            gap = slot
            state.until = max(state.until, now + gap)
    return gap


PARETO: Algorithm = traffic(
    "pareto-onoff", "bursts and silence of Pareto lengths", ParetoOnOff, STATE, next=interval
)
