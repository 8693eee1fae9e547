"""Random flows: random sizes at random times, one rate within a flow (P4QCN, section 4).

The paper has hosts begin UDP streams of random size at random; it gives no distribution. Here sizes
are uniform between `least` and `most`, pauses uniform from 0 to twice the mean that makes the
average rate `rate`, the last frame of a flow being as long as all. Draws have 16 bits.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from orchestrator.algorithm import Algorithm, traffic
from orchestrator.engine.jit import compiled
from orchestrator.engine.lfsr import lfsr_next
from orchestrator.engine.node.link import wire_time
from orchestrator.engine.records import record
from orchestrator.plan.params import Params, Rate, Size

DRAW_BITS = 16


class RandomFlows(Params):
    """Parameters of the random traffic model."""

    rate: Rate = Field(1_000_000_000, ge=1, le=10**12, description="rate of the source, on average")
    peak: Rate = Field(2_000_000_000, ge=1, le=10**12, description="rate of a flow while it lasts")
    least: Size = Field(1_500, ge=64, le=10**7, description="smallest flow")
    most: Size = Field(15_000, ge=64, le=10**7, description="largest flow")

    @model_validator(mode="after")
    def _in_order(self) -> RandomFlows:
        if self.rate > self.peak:
            raise ValueError("'rate' must not be above 'peak'")
        if self.least > self.most:
            raise ValueError("'least' must not be above 'most'")
        return self


STATE = record("left", "lfsr")
"""Octets of the flow under way."""


@compiled
def _uniform(state, span):  # type: ignore[no-untyped-def]
    """Uniform draw from 0 to `span`, at most 2^46."""
    state.lfsr = lfsr_next(state.lfsr)
    return span * (state.lfsr >> (32 - DRAW_BITS)) >> DRAW_BITS


def interval(state, params, flow, frame, now, message):  # type: ignore[no-untyped-def]
    """ps from this frame to the next: of the same flow, or of the next one after a pause."""
    state.left -= flow.length
    gap = wire_time(flow.length, params.peak)
    if state.left > 0:
        return gap
    mean = (params.least + params.most + flow.length) // 2
    pause = wire_time(mean, params.rate) - wire_time(mean, params.peak)
    state.left = params.least + _uniform(state, params.most - params.least)
    return gap + (_uniform(state, 2 * pause // 1_000_000) * 1_000_000)


RANDOM_FLOWS: Algorithm = traffic(
    "random-flows", "flows of random size at random times", RandomFlows, STATE, next=interval
)
