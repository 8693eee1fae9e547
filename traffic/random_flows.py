"""Random flows: random sizes at random times, one rate within a flow (P4QCN, section 4).

The paper has hosts begin UDP streams of random size at random; it gives no distribution. Here sizes
are uniform between `min_size` and `max_size`, pauses uniform from 0 to twice the mean that makes
the average rate `rate`, the last frame of a flow being as long as all: a flow of S octets is
ceil(S / frame) frames, of which the mean over all sizes is taken. Draws have 31 bits.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, model_validator

from tailback.plugin import (
    Algorithm,
    Params,
    Rate,
    Sender,
    Size,
    compiled,
    lfsr_next,
    record,
    traffic,
    wire_time,
)
from traffic.pareto_on_off import slot

DRAW_BITS = 31
MOST_OCTETS = 1 << 59
"""Never reached: all flows of 1 to 10^7 octets together are below 2^46."""
MOST_MEAN = 1 << 24
"""Never reached: octets of the frames of a flow of 10^7, one of them 65 535 long."""


class RandomFlows(Params):
    """Parameters of the random traffic model."""

    former: ClassVar[dict[str, str]] = {"least": "min_size", "most": "max_size"}

    rate: Rate = Field(1_000_000_000, ge=1, le=10**12, description="rate of the source, on average")
    peak: Rate = Field(2_000_000_000, ge=1, le=10**12, description="rate of a flow while it lasts")
    min_size: Size = Field(1_500, ge=64, le=10**7, description="smallest flow")
    max_size: Size = Field(15_000, ge=64, le=10**7, description="largest flow")

    @model_validator(mode="after")
    def _in_order(self) -> RandomFlows:
        if self.rate > self.peak:
            raise ValueError("'rate' must not be above 'peak'")
        if self.min_size > self.max_size:
            raise ValueError("'min_size' must not be above 'max_size'")
        return self

    def frames_offered(self, sender: Sender) -> int | None:
        """At `rate`, each flow."""
        return sender.flows * sender.frames_at(self.rate)


STATE = record("left", "lfsr", "carry")
"""`left`: octets of the flow under way; `carry`: of the slots, see `traffic.pareto_on_off.slot`."""


@compiled
def _uniform(state, span):
    """From 0 to `span` (at most 2^62), which is left out."""
    state.lfsr = lfsr_next(state.lfsr)
    draw = state.lfsr >> (32 - DRAW_BITS)
    low = (span & ((1 << DRAW_BITS) - 1)) * draw >> DRAW_BITS
    return (span >> DRAW_BITS) * draw + low


@compiled
def _frames_to(size, length):
    """Frames of `length` octets in flows of 1, 2, ... `size` octets, one of each."""
    full = size // length
    return length * full * (full + 1) // 2 + (size - full * length) * (full + 1)


def interval(state, params, flow, frame, now, message):
    """ps from this frame to the next: of the same flow, or of the next one after a pause."""
    state.left -= flow.length
    gap = slot(state, flow.length, params.peak)
    if state.left > 0:
        return gap
    sizes = max(params.max_size - params.min_size, 0) + 1
    length = max(flow.length, 1)
    frames = _frames_to(params.max_size, length) - _frames_to(params.min_size - 1, length)
    octets = min(max(min(frames, MOST_OCTETS // length) * length // sizes, 0), MOST_MEAN)
    pause = wire_time(octets, params.rate) - wire_time(octets, params.peak)
    state.left = params.min_size + _uniform(state, sizes)
    return gap + _uniform(state, 2 * pause + 1)


RANDOM_FLOWS: Algorithm = traffic(
    "random-flows", "flows of random size at random times", RandomFlows, STATE, next=interval
)
