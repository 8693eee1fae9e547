"""ECN marking with thresholds per traffic class, as the WRED profiles of switch queues.

A frame is marked as by `red`, by the KMIN (`low_n`), KMAX (`high_n`) and PMAX
(`max_probability_n`) of its priority n: the traffic class that a switch puts it into, by PCP or by
its DSCP. Classes that `vector` does not name are not marked, as queues without a profile. With
separate lanes the queue is that of the class; in a shared one each class has its own thresholds of
the whole queue.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field, model_validator

from plugins.red_marking import ARRIVAL, DEPARTURE, mark_by_line
from tailback.plugin import (
    FORWARD,
    Algorithm,
    Params,
    Ratio,
    RatioLimit,
    Size,
    compiled,
    congestion_point,
    record,
)

CLASSES = 8
Share = Annotated[Ratio, RatioLimit(1_000_000)]


def _low(priority: int) -> Size:
    text = f"no mark up to this queue in priority {priority}, KMIN"
    return Field(5_000, ge=0, le=10**9, description=text)


def _high(priority: int) -> Size:
    text = f"every frame above it in priority {priority}, KMAX"
    return Field(200_000, ge=1, le=10**9, description=text)


def _share(priority: int) -> Share:
    text = f"chance at the upper threshold of priority {priority}, PMAX"
    return Field(Fraction(1, 100), ge=0, le=1, description=text)


class ClassMarking(Params):
    """Thresholds of each priority."""

    vector: int = Field(255, ge=0, le=255, description="bit n: frames of priority n are marked")
    mark: Literal["arrival", "departure"] = Field(
        "arrival", description="when the queue is looked at and the frame marked"
    )
    low_0: Size = _low(0)
    high_0: Size = _high(0)
    max_probability_0: Share = _share(0)
    low_1: Size = _low(1)
    high_1: Size = _high(1)
    max_probability_1: Share = _share(1)
    low_2: Size = _low(2)
    high_2: Size = _high(2)
    max_probability_2: Share = _share(2)
    low_3: Size = _low(3)
    high_3: Size = _high(3)
    max_probability_3: Share = _share(3)
    low_4: Size = _low(4)
    high_4: Size = _high(4)
    max_probability_4: Share = _share(4)
    low_5: Size = _low(5)
    high_5: Size = _high(5)
    max_probability_5: Share = _share(5)
    low_6: Size = _low(6)
    high_6: Size = _high(6)
    max_probability_6: Share = _share(6)
    low_7: Size = _low(7)
    high_7: Size = _high(7)
    max_probability_7: Share = _share(7)

    def thresholds(self) -> dict[int, tuple[int, int]]:
        """KMIN and KMAX in octets of every priority that is marked."""
        return {
            priority: (getattr(self, f"low_{priority}"), getattr(self, f"high_{priority}"))
            for priority in range(CLASSES)
            if self.vector >> priority & 1
        }

    @model_validator(mode="after")
    def _in_order(self) -> ClassMarking:
        for priority, (low, high) in self.thresholds().items():
            if low >= high:
                raise ValueError(f"low_{priority} must be below high_{priority}")
        return self

    def marks(self) -> bool:
        """True where a class is marked."""
        return self.vector != 0

    def needless(self) -> frozenset[str]:
        """Only frames that arrive, or only frames that leave, are looked at."""
        return frozenset({"departure" if self.mark == "arrival" else "arrival"})

    def operating_queue(self, rate: int) -> int | None:
        """The middle of the lowest range in which some frames are marked."""
        return min((sum(pair) // 2 for pair in self.thresholds().values()), default=None)


STATE = record("lfsr")


@compiled
def _mark(state, params, queue, frame):
    """Mark a frame by the thresholds of its priority; `queue.bytes` does not hold it."""
    priority = frame.priority & 7
    if (params.vector >> priority) & 1 == 0:
        return
    low, high = params.low_0, params.high_0
    num, den = params.max_probability_0_num, params.max_probability_0_den
    if priority == 1:
        low, high = params.low_1, params.high_1
        num, den = params.max_probability_1_num, params.max_probability_1_den
    elif priority == 2:
        low, high = params.low_2, params.high_2
        num, den = params.max_probability_2_num, params.max_probability_2_den
    elif priority == 3:
        low, high = params.low_3, params.high_3
        num, den = params.max_probability_3_num, params.max_probability_3_den
    elif priority == 4:
        low, high = params.low_4, params.high_4
        num, den = params.max_probability_4_num, params.max_probability_4_den
    elif priority == 5:
        low, high = params.low_5, params.high_5
        num, den = params.max_probability_5_num, params.max_probability_5_den
    elif priority == 6:
        low, high = params.low_6, params.high_6
        num, den = params.max_probability_6_num, params.max_probability_6_den
    elif priority == 7:
        low, high = params.low_7, params.high_7
        num, den = params.max_probability_7_num, params.max_probability_7_den
    mark_by_line(state, queue, frame, low, high, num, den)


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


RED_BY_CLASS: Algorithm = congestion_point(
    "red-by-class",
    "marks ECN by the queue's length, with thresholds for each traffic class",
    ClassMarking,
    STATE,
    arrival=on_arrival,
    departure=on_departure,
)
