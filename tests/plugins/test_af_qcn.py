"""AF-QCN: who sends more than its share is told more, who sends less is told less."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.kernel_answers import NOTIFY_ARRIVING
from orchestrator.engine.records import QUEUE
from plugins.af_qcn import AF_QCN, STATE, AfQcn, on_arrival

INTERVAL = 1_000_000


class Point:
    """The congestion point's kernel by itself, at a queue of 60 KB with the set point at 20 KB."""

    def __init__(self, **params: object) -> None:
        settings = {"set_point": 20_000, "jitter": False, "interval": INTERVAL, "sample_base": 64}
        self.params = AfQcn(**settings | params).record().view(np.recarray)[0]  # type: ignore[arg-type]
        self.state = np.zeros(1, STATE).view(np.recarray)[0]
        self.queue = np.zeros(1, QUEUE).view(np.recarray)[0]
        self.queue.bytes, self.queue.capacity = 60_000, 10**9
        self.state.old = 60_000  # no growth: the offset alone counts
        self.message = empty_descriptors(1)[0]

    def arrives(self, source: int, octets: int, now: int, priority: int = 0) -> int:
        """The feedback that an arriving frame is told; 0: none."""
        frame = empty_descriptors(1)[0]
        frame.source, frame.length, frame.priority = source, octets, priority
        handed = self.state, self.params, self.queue, frame, now, self.message
        self.notified = int(on_arrival(*handed))
        return int(self.message.feedback) if self.notified else 0


QCN_SAYS = 40_000 * 63 // (20_000 * 5)


def test_before_an_interval_has_passed_it_is_qcn() -> None:
    assert Point().arrives(1, 1500, 0) == QCN_SAYS == 25


def test_a_share_is_what_all_sent_by_weight() -> None:
    point = Point()
    for _ in range(3):
        point.arrives(1, 1000, 0)
    point.arrives(2, 1000, 0)
    # 4000 octets of two sources: 2000 each; source 1 sent 3000, source 2 sent 1000
    assert point.arrives(1, 1000, INTERVAL) == (QCN_SAYS + 63 * 1000 // 3000) // 2
    assert point.arrives(2, 1000, INTERVAL) == QCN_SAYS // 2
    assert point.arrives(3, 1000, INTERVAL) == QCN_SAYS, "it sent nothing that was counted"


def test_a_heavier_source_may_send_more() -> None:
    point = Point(weights="priority", alpha="1/1")
    for _ in range(3):
        point.arrives(1, 1000, 0, priority=2)
    point.arrives(2, 1000, 0, priority=0)
    assert point.arrives(1, 1000, INTERVAL, priority=2) == 0
    assert point.arrives(2, 1000, INTERVAL, priority=0) == 0


def test_with_alpha_0_it_is_qcn() -> None:
    point = Point(alpha="0/1")
    for _ in range(5):
        point.arrives(1, 1000, 0)
    assert point.arrives(1, 1000, INTERVAL) == QCN_SAYS


def test_without_congestion_nobody_is_told() -> None:
    point = Point()
    point.queue.bytes = point.state.old = 10_000
    for now in (0, INTERVAL, 2 * INTERVAL):
        assert point.arrives(1, 1500, now) == 0


@pytest.mark.parametrize("sampling", ["head", "departure", "occupancy-random"])
def test_only_arrivals_are_sampled(sampling: str) -> None:
    with pytest.raises(ValueError, match="sampling"):
        AfQcn(sampling=sampling)  # type: ignore[arg-type]
    assert AF_QCN.kind == "congestion_point"


def test_an_interval_ends_on_time_and_the_next_counts_from_there() -> None:
    point = Point(alpha="1/1")
    for source, octets in ((1, 3000), (2, 1000)):
        point.arrives(source, octets, 10)
    over = 63 * (3000 - 2000) // 3000
    assert point.arrives(1, 500, 9 + INTERVAL) == QCN_SAYS, "nothing was counted before"
    assert point.arrives(1, 64, 10 + INTERVAL) == 63 * (3500 - 2250) // 3500 == over + 1
    assert point.arrives(1, 64, 9 + 2 * INTERVAL) == over + 1
    assert point.arrives(1, 64, 10 + 2 * INTERVAL) == 0, "it was alone: all was its share"
    assert point.arrives(1, 64, 10 + 3 * INTERVAL) == 0
    assert point.state.all_octets == 64, "those of the last interval alone"


def test_who_is_told_nothing_is_not_notified_and_who_is_told_1_is() -> None:
    """All of what QCN says, or a 25th of it, to one that sent less than its share."""
    for alpha, notified in (("1/1", 0), ("24/25", NOTIFY_ARRIVING)):
        point = Point(alpha=alpha)
        point.arrives(1, 3000, 0)
        point.arrives(2, 1000, 0)
        point.arrives(2, 64, INTERVAL)
        assert (point.notified, int(point.message.feedback)) == (notified, int(notified != 0))


def test_sources_are_told_apart_by_the_low_octet() -> None:
    point = Point(alpha="1/1")
    for source, octets in ((255, 3000), (256, 1000)):
        point.arrives(source, octets, 0)
    assert point.arrives(511, 64, INTERVAL) == 63 * 1000 // 3000
    assert point.arrives(0, 64, INTERVAL) == 0


def test_a_source_that_was_not_counted_has_what_qcn_says() -> None:
    point = Point(alpha="1/1")
    point.arrives(1, 1000, 0)
    assert point.arrives(2, 1000, INTERVAL) == QCN_SAYS
    assert point.state.all_octets == 1000
    assert point.state.all_weights == 1


def test_a_weight_is_the_priority_and_one() -> None:
    """Priorities 3 and 1 weigh 4 and 2: of 6000 octets 4000 and 2000 are fair."""
    point = Point(weights="priority", alpha="1/1")
    point.arrives(1, 2000, 0, priority=3)
    point.arrives(2, 4000, 0, priority=1)
    assert point.arrives(2, 64, INTERVAL, priority=1) == 63 * 2000 // 4000
    assert point.arrives(1, 64, INTERVAL, priority=3) == 0
    equal = Point(alpha="1/1")
    equal.arrives(1, 2000, 0, priority=3)
    equal.arrives(2, 4000, 0, priority=1)
    assert equal.arrives(2, 64, INTERVAL, priority=1) == 63 * 1000 // 4000


def test_alpha_is_the_share_of_what_weighing_says() -> None:
    point = Point(alpha="1/4")
    for source, octets in ((1, 3000), (2, 1000)):
        point.arrives(source, octets, 0)
    assert point.arrives(1, 64, INTERVAL) == (3 * QCN_SAYS + 63 * 1000 // 3000) // 4


def test_who_qcn_does_not_sample_is_not_told() -> None:
    point = Point(sample_base=150_000)
    assert point.arrives(1, 1500, 0) == 0
    assert point.arrives(1, 1500, INTERVAL) == 0
