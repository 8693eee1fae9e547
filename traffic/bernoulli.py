"""Bernoulli source: slots of one frame at the peak rate, each filled with a fixed probability.

So frames come at the rate on average, with gaps of geometric length: the counterpart in slots of a
Poisson source (the "non-bursty Bernoulli UDP traffic" of FECN, section IV).
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from orchestrator.algorithm import Algorithm, traffic
from orchestrator.engine.lfsr import lfsr_next
from orchestrator.engine.node.link import wire_time
from orchestrator.engine.records import NEVER, record
from orchestrator.plan.params import Params, Rate

MOST_SLOTS = 100_000


class Bernoulli(Params):
    """Parameters of a Bernoulli source."""

    rate: Rate = Field(1_000_000_000, ge=1, le=10**12, description="rate of the source, on average")
    peak: Rate = Field(10_000_000_000, ge=1, le=10**12, description="rate within a slot")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.rate <= self.peak <= self.rate * MOST_SLOTS:
            raise ValueError(f"'peak' has to be 1 to {MOST_SLOTS} times 'rate'")
        return self


STATE = record("lfsr")


def interval(state, params, flow, frame, now, message):  # type: ignore[no-untyped-def]
    """ps from this frame to the next: a slot, and one more for every draw that fails."""
    share = (params.rate << 20) // params.peak
    slots = 1
    state.lfsr = lfsr_next(state.lfsr)
    # never false (`slots < 100 * MOST_SLOTS`): ten million draws in a row do not fail
    while (state.lfsr >> 12) >= share and slots < 100 * MOST_SLOTS:
        slots += 1
        state.lfsr = lfsr_next(state.lfsr)
    slot = max(wire_time(flow.length, params.peak), 1)
    return min(slots, NEVER // slot) * slot


BERNOULLI: Algorithm = traffic(
    "bernoulli", "frames in slots by chance", Bernoulli, STATE, next=interval
)
