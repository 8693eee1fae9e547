"""P4QCN congestion point (P4QCN, section 3.1.1, equation 1).

A frame that arrives at a queue above `low` is answered by chance, a(q - low) up to `high` and 1
above, but a flow at most once every `min_interval`. The answer is the frame's own header with ECN
11, sent back to its source; with `points = "three"` the frame is marked instead and goes on, and a
notification point at its destination answers it (`notify`, preset `p4qcn`, has the interval then).

Decided where the paper is silent:
- a is 1/(high - low), so that the chance reaches 1 at `high` without a step; the paper gives none,
  as its experiments have low = high;
- q is the queue without the arriving frame (bmv2's enq_qdepth), and "exceeds" is strictly above;
- a flow is one source address and one destination, by IP and by MAC alike: every source of a plan
  has addresses of its own, and both select the same frames. The way back is by IP;
- both the paper's "every N us" and its queue in packets are octets and time here: `min_interval`
  has DCQCN's 50 us as its default, the marks the paper's 11 frames of 1500 octets.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from tailback.plugin import (
    CE,
    FORWARD,
    NOTIFY_ARRIVING,
    RETURNED,
    Algorithm,
    Duration,
    Params,
    Size,
    congestion_point,
    lfsr_next,
    record,
)

US = 10**6
DRAW_BITS = 20
THREE = 1


class P4qcnCongestionPoint(Params):
    """Parameters of the congestion point."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"low": "16500B", "high": "16500B"},
    }

    low: Size = Field(16_500, ge=0, le=10**9, description="no message up to this queue, Q_min")
    high: Size = Field(16_500, ge=0, le=10**9, description="every frame above it, Q_max")
    min_interval: Duration = Field(
        50 * US, ge=0, le=10**13, description="least time between messages to one flow"
    )
    points: Literal["two", "three"] = Field(
        "two", description="notify from here, or mark for the destination to notify"
    )

    @model_validator(mode="after")
    def _marks_in_order(self) -> P4qcnCongestionPoint:
        if self.low > self.high:
            raise ValueError("low must not be above high")
        return self

    def marks(self) -> bool:
        """With three points the destination answers marked frames."""
        return self.points == "three"


STATE = record("notified", "last", "lfsr")


def on_arrival(state, params, queue, frame, now, message):
    """A frame arrives; `queue.bytes` does not hold it yet, `state` is that of its flow."""
    above = queue.bytes - params.low
    if above <= 0:
        return FORWARD
    if queue.bytes <= params.high:
        state.lfsr = lfsr_next(state.lfsr)
        chance = (above << DRAW_BITS) // (params.high - params.low)
        if state.lfsr >> (32 - DRAW_BITS) >= chance:
            return FORWARD
    if params.points == THREE:
        frame.mark |= CE
        return FORWARD
    if state.notified != 0 and now - state.last < params.min_interval:
        return FORWARD
    state.notified = 1
    state.last = now
    message.kind = RETURNED
    message.feedback = 0
    message.offset = above
    message.delta = 0
    return NOTIFY_ARRIVING


P4QCN_CP: Algorithm = congestion_point(
    "p4qcn-cp",
    "P4QCN: returns headers of frames above a mark to their sources",
    P4qcnCongestionPoint,
    STATE,
    per_flow=True,
    arrival=on_arrival,
)
