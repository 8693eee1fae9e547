"""RED marking of DCQCN's congestion point (docs/settled/algorithms.md#dcqcn): ECN by queue length.

An ECN-capable frame gets ECN 11 by chance: none up to `low` (KMIN), `max_probability` (PMAX) at
`high` (KMAX),
linear in between, and always above. The queue is the instantaneous one without the frame: as it
arrives, or with `mark` "departure" as it leaves, which tells its source of what waits behind it, a
queue's time earlier. What is not ECN-capable passes unmarked; it is neither dropped early.

The defaults are those DCQCN was published with for 40 Gb/s: 5 KB, 200 KB, 1 %.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tailback.plugin import (
    CE,
    FORWARD,
    NOT_ECT,
    Algorithm,
    Params,
    Ratio,
    RatioLimit,
    Size,
    compiled,
    congestion_point,
    lfsr_next,
    record,
)

DRAW_BITS = 20
ARRIVAL, DEPARTURE = range(2)


class RedMarking(Params):
    """Parameters of the marking."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"dcqcn": {}}
    former: ClassVar[dict[str, str]] = {"most": "max_probability"}

    low: Size = Field(5_000, ge=0, le=10**9, description="no mark up to this queue, KMIN")
    high: Size = Field(200_000, ge=1, le=10**9, description="every frame above it, KMAX")
    max_probability: Annotated[Ratio, RatioLimit(1_000_000)] = Field(
        Fraction(1, 100), ge=0, le=1, description="chance at `high`, PMAX"
    )

    mark: Literal["arrival", "departure"] = Field(
        "arrival", description="when the queue is looked at and the frame marked"
    )

    @model_validator(mode="after")
    def _in_order(self) -> RedMarking:
        if self.low >= self.high:
            raise ValueError("low must be below high")
        return self

    def marks(self) -> bool:
        """Always true."""
        return True

    def marking_curve(self) -> list[tuple[int, float]]:
        """0 up to `low`, PMAX at `high`, 1 above."""
        most = float(self.max_probability)
        return [(0, 0.0), (self.low, 0.0), (self.high, most), (self.high, 1.0)]

    def needless(self) -> frozenset[str]:
        """Only frames that arrive, or only frames that leave, are looked at."""
        return frozenset({"departure" if self.mark == "arrival" else "arrival"})

    def operating_queue(self, rate: int) -> int:
        """The middle of the range in which it marks some frames."""
        return (self.low + self.high) // 2


STATE = record("lfsr")


@compiled
def mark_by_line(state, queue, frame, low, high, num, den):
    """Mark a frame by chance: none up to a queue of `low` octets, num/den at `high`, all above;
    `queue.bytes` does not hold the frame."""
    above = queue.bytes - low
    if above <= 0 or frame.mark & CE == NOT_ECT:
        return
    if queue.bytes <= high:
        state.lfsr = lfsr_next(state.lfsr)
        share = (above << DRAW_BITS) // (high - low)
        if state.lfsr >> (32 - DRAW_BITS) >= share * num // den:
            return
    frame.mark |= CE


@compiled
def _mark(state, params, queue, frame):
    mark_by_line(
        state,
        queue,
        frame,
        params.low,
        params.high,
        params.max_probability_num,
        params.max_probability_den,
    )


def on_arrival(state, params, queue, frame, now, message):
    """A frame arrives; `queue.bytes` does not hold it yet."""
    if params.mark == ARRIVAL:
        _mark(state, params, queue, frame)
    return FORWARD


def on_departure(state, params, queue, frame, now, message):
    """A frame leaves; `queue.bytes` does not hold it any more."""
    if params.mark == DEPARTURE:
        _mark(state, params, queue, frame)
    return FORWARD


RED: Algorithm = congestion_point(
    "red",
    "marks ECN by the queue's length, as DCQCN's switches do",
    RedMarking,
    STATE,
    arrival=on_arrival,
    departure=on_departure,
)
