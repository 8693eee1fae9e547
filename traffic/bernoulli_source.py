"""Bernoulli source: slots of one frame at the peak rate, each filled with a fixed probability.

So frames come at the rate on average, with gaps of geometric length: the counterpart in slots of a
Poisson source (the "non-bursty Bernoulli UDP traffic" of FECN, section IV).
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from tailback.plugin import NEVER, Algorithm, Params, Rate, Sender, lfsr_next, record, traffic
from traffic.pareto_on_off import scale_down, slot

MOST_SLOTS = 100_000
DRAWS = (1 << 32) - 1
"""Values that a draw has, 1 and all above."""


class Bernoulli(Params):
    """Parameters of a Bernoulli source."""

    rate: Rate = Field(1_000_000_000, ge=1, le=10**12, description="rate of the source, on average")
    peak: Rate = Field(10_000_000_000, ge=1, le=10**12, description="rate within a slot")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.rate <= self.peak <= self.rate * MOST_SLOTS:
            raise ValueError(f"'peak' has to be 1 to {MOST_SLOTS} times 'rate'")
        return self

    def frames_offered(self, sender: Sender) -> int | None:
        """At `rate`, each flow."""
        return sender.flows * sender.frames_at(self.rate)


STATE = record("lfsr", "carry")
"""`carry`: what is left over of the slots so far, see `traffic.pareto_on_off.slot`."""


def interval(state, params, flow, frame, now, message):
    """ps from this frame to the next: a slot, and one more for every draw that fails."""
    chance = scale_down(DRAWS, params.rate, params.peak)
    gap = max(slot(state, flow.length, params.peak), 1)
    state.lfsr = lfsr_next(state.lfsr)
    tries = 1
    # never false (`tries < 100 * MOST_SLOTS`): ten million draws in a row do not fail
    while state.lfsr > chance and tries < 100 * MOST_SLOTS:
        gap = min(gap + slot(state, flow.length, params.peak), NEVER)
        tries += 1
        state.lfsr = lfsr_next(state.lfsr)
    return gap


BERNOULLI: Algorithm = traffic(
    "bernoulli", "frames in slots by chance", Bernoulli, STATE, next=interval
)
