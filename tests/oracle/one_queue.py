"""Sources, a way and one queue: a model of the NetFPGA experiment, made apart from the engine.

Its congestion point and reaction points are the pseudo code's (`pseudocode_cp`, `pseudocode_rp`);
everything else is a heap of events. It leaves out what the engine has and the mean queue does not
need: the ports of the NICs, the bucket's period, the steps of a limiter's rate. Time is in ps,
lengths in octets, rates in bit/s.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.oracle.pseudocode_cp import CongestionPoint, CpParameters, FBFrame
from tests.oracle.pseudocode_rp import ACTIVE, RateLimiter, RpParameters

SECOND = 10**12
FRAME = 1500
LINK = 10**9
SERVICE = 950_000_000
BUFFER = 150_000


def _duration(rate: int) -> int:
    """ps that one frame takes at `rate`."""
    return FRAME * 8 * SECOND // rate


@dataclass(frozen=True)
class Outcome:
    """Of the seconds that were looked at: the mean queue in octets, the service rate's share."""

    queue: float
    utilization: float


class OneQueue:
    """`sources` at link rate into one queue, `round_trip` ps away, told of by the pseudo code."""

    def __init__(self, weight: int, round_trip: int, sources: int, seed: int) -> None:
        chance = random.Random(seed)

        def jitter(interval: int) -> int:
            return int(interval * chance.uniform(0.85, 1.15))

        netfpga = RpParameters(
            C=LINK, TIMER_PERIOD=25 * 10**9, R_AI=500_000, R_HAI=5_000_000, MIN_RATE=500_000
        )
        self.limiters = [RateLimiter(netfpga, jitter) for _ in range(sources)]
        self.point = CongestionPoint(CpParameters(Q_EQ=33_000, W=weight), jitter)
        self.way = round_trip // 2
        self.queue: deque[int] = deque()
        self.events: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self.count = 0
        self.now = self.since = 0
        self.area = self.served = 0
        for source in range(sources):
            self.after(chance.randrange(10**7), self.send, source)

    def after(self, delay: int, happens: Callable[..., None], *what: object) -> None:
        """Those of one instant happen in the order in which they were asked for."""
        self.count += 1
        heapq.heappush(self.events, (self.now + delay, self.count, happens, what))

    def send(self, source: int) -> None:
        """One frame leaves its limiter; the next as soon as the rate after it allows."""
        limiter = self.limiters[source]
        limiter.now = self.now
        self.after(_duration(LINK) + self.way, self.arrive, source)
        before = limiter.timer
        limiter.transmit(FRAME)
        self.follow(source, before)
        self.after(_duration(min(limiter.crate, LINK)), self.send, source)

    def arrive(self, source: int) -> None:
        """Tail drop; a frame that does not fit is no arrival for the congestion point."""
        length = len(self.queue) * FRAME
        if length + FRAME > BUFFER:
            return
        self.point.qlen = length
        message = self.point.arrival(FRAME)
        if message is not None:
            self.after(self.way, self.notify, source, message)
        self.queue.append(source)
        if len(self.queue) == 1:
            self.after(_duration(SERVICE), self.depart)

    def depart(self) -> None:
        self.queue.popleft()
        self.served += 1
        if self.queue:
            self.after(_duration(SERVICE), self.depart)

    def notify(self, source: int, message: FBFrame) -> None:
        limiter = self.limiters[source]
        limiter.now = self.now
        before = limiter.timer
        limiter.feedback(message.fb)
        self.follow(source, before)

    def expire(self, source: int, due: int) -> None:
        """Of a timer that was set again since, nothing happens."""
        limiter = self.limiters[source]
        if limiter.timer == due and limiter.state == ACTIVE:
            limiter.now = self.now
            limiter.timer_expired()
            self.follow(source, due)

    def follow(self, source: int, before: int | None) -> None:
        timer = self.limiters[source].timer
        if timer is not None and timer != before:
            self.after(timer - self.now, self.expire, source, timer)

    def until(self, end: int) -> None:
        """All events up to `end`, with the area below the queue's curve."""
        while self.events[0][0] <= end:
            instant, _, happens, what = heapq.heappop(self.events)
            self.area += len(self.queue) * FRAME * (instant - self.since)
            self.now = self.since = instant
            happens(*what)

    def between(self, begin: int, end: int) -> Outcome:
        """The outcome of these seconds."""
        self.until(begin * SECOND)
        area, served, since = self.area, self.served, self.since
        self.until(end * SECOND)
        elapsed = self.since - since
        busy = (self.served - served) * _duration(SERVICE)
        return Outcome(queue=(self.area - area) / elapsed, utilization=busy / elapsed)
