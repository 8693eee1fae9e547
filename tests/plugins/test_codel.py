"""CoDel against the pseudo code of RFC 8289, written down a second time with floating point."""

from __future__ import annotations

import math
from collections import deque

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.kernel_answers import DROP
from orchestrator.engine.records import CE, ECT0
from plugins.codel import CODEL, Codel, control_law
from tests.plugins.described import check_page
from tests.plugins.kernel_driver import KernelDriver

MS = 10**9
TARGET, INTERVAL, LONGEST = 5 * MS, 100 * MS, 1500


class PseudoCode:
    """A queue of (when it came, octets) as the RFC's `deque` empties it."""

    def __init__(self) -> None:
        self.frames: deque[tuple[int, int]] = deque()
        self.octets = self.count = self.lastcount = 0
        self.first_above = self.drop_next = 0.0
        self.dropping = False
        self.dropped: list[tuple[int, int]] = []

    def take(self, now: int) -> tuple[tuple[int, int] | None, bool]:
        if not self.frames:
            self.first_above = 0
            return None, False
        frame = self.frames.popleft()
        self.octets -= frame[1]
        if now - frame[0] < TARGET or self.octets <= LONGEST:
            self.first_above = 0
            return frame, False
        if self.first_above == 0:
            self.first_above = now + INTERVAL
            return frame, False
        return frame, now >= self.first_above

    def law(self, at: float) -> float:
        return at + INTERVAL / math.sqrt(self.count)

    def dequeue(self, now: int) -> tuple[int, int] | None:
        frame, ok = self.take(now)
        delta = self.count - self.lastcount
        if self.dropping:
            if not ok:
                self.dropping = False
            while now >= self.drop_next and self.dropping:
                assert frame is not None
                self.dropped.append(frame)
                self.count += 1
                frame, ok = self.take(now)
                if not ok:
                    self.dropping = False
                else:
                    self.drop_next = self.law(self.drop_next)
        elif ok:
            assert frame is not None
            self.dropped.append(frame)
            frame, ok = self.take(now)
            self.dropping = True
            delta = self.count - self.lastcount
            recent = now - self.drop_next < 16 * INTERVAL
            self.count = delta if delta > 1 and recent else 1
            self.drop_next = self.law(now)
            self.lastcount = self.count
        return frame


class Queue:
    """The same queue before a port whose congestion point is the plugin."""

    def __init__(self) -> None:
        self.driver = KernelDriver(CODEL)
        self.driver.params[0] = Codel().record()[0]
        self.frames: deque[tuple[int, int]] = deque()
        self.dropped: list[tuple[int, int]] = []

    def dequeue(self, now: int) -> tuple[int, int] | None:
        while self.frames:
            frame = self.frames.popleft()
            self.driver.entity["bytes"] = sum(octets for _, octets in self.frames)
            self.driver.entity["frames"] = len(self.frames)
            self.driver.frame["entered"], self.driver.frame["length"] = frame
            if self.driver.call("departure", now) != DROP:
                return frame
            self.dropped.append(frame)
        return None


STEPS = st.tuples(
    st.sampled_from([10**8, MS, 20 * MS, 300 * MS]),  # ps from one step to the next
    st.integers(0, 3),  # frames that come
    st.integers(0, 2),  # frames that are asked for
)


def compared(steps: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Both queues, step by step; what was dropped."""
    sound, ours = PseudoCode(), Queue()
    now = 1
    for gap, come, leave in steps:
        now += gap
        for number in range(come):
            frame = (now, 300 + 400 * number)
            sound.frames.append(frame)
            sound.octets += frame[1]
            ours.frames.append(frame)
        for _ in range(leave):
            assert ours.dequeue(now) == sound.dequeue(now)
            now += 10**7
    assert ours.dropped == sound.dropped
    return ours.dropped


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=120))
def test_what_goes_on_and_what_is_dropped_is_that_of_the_pseudo_code(
    steps: list[tuple[int, int, int]],
) -> None:
    compared(steps)


def test_a_queue_that_stands_is_dropped_from_ever_more_often() -> None:
    dropped = compared([(MS, 2, 1)] * 700 + [(MS, 0, 2)] * 400 + [(MS, 2, 1)] * 400)
    assert len(dropped) > 20


def test_a_dropping_state_that_ends_with_the_queue_is_left() -> None:
    compared([(MS, 3, 1)] * 200 + [(300 * MS, 0, 2)] * 300 + [(MS, 3, 1)] * 300)


@given(st.integers(1, 1 << 20))
def test_the_law_is_that_of_the_root(count: int) -> None:
    exact = INTERVAL / math.sqrt(count)
    assert abs(law(count) - exact) <= exact / (1 << 19) + 1


def law(count: int) -> int:
    """The gap after `count` drops, by the kernel's own function."""
    driver = Queue().driver
    return int(control_law(driver.params[0], 0, count))


def test_with_ecn_a_capable_frame_is_marked_and_goes_on() -> None:
    queue = Queue()
    queue.driver.params[0] = Codel(ecn=True).record()[0]
    queue.driver.frame["mark"] = ECT0
    queue.driver.frame["entered"] = 0
    queue.driver.entity["bytes"], queue.driver.entity["frames"] = 10**6, 100
    answers = [queue.driver.call("departure", at * MS) for at in range(10, 400)]
    assert set(answers) == {0}
    assert queue.driver.frame["mark"][0] == CE
    assert queue.driver.state["count"][0] > 3


def test_the_page_has_its_parameters() -> None:
    assert check_page("plugins.codel") > 0
