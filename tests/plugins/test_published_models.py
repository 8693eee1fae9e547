"""NewReno and CUBIC, as kernels and in the TCP model, beside their published models.

Beside the formulas of the mean window over the share p of lost segments, and beside the RFCs' rules
in floating point on the same losses. Segments are acknowledged one by one, a loss is known at once.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

from orchestrator.engine.jit import compiled
from orchestrator.engine.records import ACK
from plugins.cubic import CUBIC, Cubic
from plugins.newreno import NEWRENO, NewReno
from tests.orchestrator.worlds import MS
from tests.plugins.scheme_driver import Driver
from traffic.tcp import STATE, Tcp
from traffic.tcp_sender import SEGMENT, grow, reduce

FRAME = 1500
S = 1000 * MS
C, BETA = 0.4, 0.7


class Kernels:
    """A reaction point."""

    def __init__(self, algorithm: Any, params: Any) -> None:
        self.rp = Driver(algorithm, params, link_rate=10**11)
        self.rp.come("start")

    @property
    def window(self) -> float:
        return int(self.rp.window) / FRAME

    def acked(self, now: int, trip: int) -> None:
        window = int(self.rp.window)
        self.rp.set(acked=FRAME, flight=window - FRAME, rtt=trip)
        self.rp.come("acked", now, kind=ACK, created=now)

    def lost(self, now: int) -> None:
        window = int(self.rp.window)
        self.rp.set(lost=1, lost_made=now, flight=window - FRAME, flight_before=window)
        self.rp.come("lost", now, kind=ACK)


@compiled
def _grow(states, params, now):
    grow(states[0], params[0], 1, now)


@compiled
def _reduce(states, params, now):
    reduce(states[0], params[0], now)
    states[0].window = states[0].threshold


class TcpModel:
    """The window of the transport `tcp`."""

    def __init__(self, congestion: str) -> None:
        self.params = Tcp(congestion=congestion).record()
        self.state = np.zeros(1, STATE)
        self.state["window"] = 10 * SEGMENT
        self.state["threshold"] = 1 << 40

    @property
    def window(self) -> float:
        return int(self.state["window"][0]) / SEGMENT

    def acked(self, now: int, trip: int) -> None:
        self.state["srtt"] = trip
        _grow(self.state, self.params, now)

    def lost(self, now: int) -> None:
        self.state["nxt"] = self.state["una"] + int(self.window)
        _reduce(self.state, self.params, now)


class Reno:
    """RFC 5681: equations 3 (per acknowledged segment) and 4 (per loss)."""

    def __init__(self) -> None:
        self.window, self.threshold = 10.0, float("inf")

    def acked(self, now: int, trip: int) -> None:
        slow = self.window < self.threshold
        self.window += 1 if slow else 1 / self.window

    def lost(self, now: int) -> None:
        self.window = self.threshold = max(self.window / 2, 2)


class CubicModel:
    """RFC 9438: sections 4.2 to 4.7."""

    def __init__(self) -> None:
        self.window, self.threshold = 10.0, float("inf")
        self.most = self.prior = self.reno = self.k = 0.0
        self.epoch: float | None = None

    def acked(self, now: int, trip: int) -> None:
        if self.window < self.threshold:
            self.window += 1
            return
        if self.epoch is None:
            self.epoch, self.reno = now / S, self.window
            self.k = (max(self.most - self.window, 0) / C) ** (1 / 3)
        t = (now + trip) / S - self.epoch
        curve = C * (t - self.k) ** 3 + self.most
        target = min(max(curve, self.window), 1.5 * self.window)
        alpha = 3 * (1 - BETA) / (1 + BETA) if self.reno < self.prior else 1
        self.reno += alpha / self.window
        self.window += (target - self.window) / self.window
        self.window = max(self.window, self.reno)

    def lost(self, now: int) -> None:
        self.most = self.window * (1 + BETA) / 2 if self.window < self.most else self.window
        self.prior = self.window
        self.window = self.threshold = max(BETA * self.window, 2)
        self.epoch = None


SENDERS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "newreno": (lambda: Kernels(NEWRENO, NewReno()), Reno),
    "cubic": (lambda: Kernels(CUBIC, Cubic()), CubicModel),
    "tcp-newreno": (lambda: TcpModel("newreno"), Reno),
    "tcp-cubic": (lambda: TcpModel("cubic"), CubicModel),
}


def mean_window(
    sender: Any, losses: Iterator[bool], segments: int, trip: int, begins: float
) -> float:
    """Segments per round trip, of the second half of so many segments, from a window on."""
    now = begun = S
    while sender.window < begins:
        sender.acked(now, trip)
    sender.lost(now)
    for number, lost in enumerate(islice(losses, segments)):
        if number == segments // 2:
            begun = now
        now += int(trip / max(sender.window, 1))
        sender.lost(now) if lost else sender.acked(now, trip)
    return (segments - segments // 2) * trip / (now - begun)


def evenly(every: int) -> Iterator[bool]:
    number = 0
    while True:
        number += 1
        yield number % every == 0


def by_chance(every: int, seed: int) -> Iterator[bool]:
    chance = random.Random(seed)
    while True:
        yield chance.random() * every < 1


def reno_mean(p: float) -> float:
    """Mathis et al. 1997, equation 3: sqrt(3 / 2p)."""
    return (1.5 / p) ** 0.5


def cubic_mean(p: float, trip_s: float) -> float:
    """RFC 9438, equations 5 and 6: the larger of the Reno-friendly and the cubic region."""
    friendly = (9 / 17 * (1 + BETA) / (2 * (1 - BETA) * p)) ** 0.5
    cubic = (C * (3 + BETA) / (4 * (1 - BETA))) ** 0.25 * (trip_s / p) ** 0.75
    return max(friendly, cubic)


@pytest.mark.parametrize("every", [300, 3_000, 10_000])
@pytest.mark.parametrize("name", ["newreno", "tcp-newreno"])
def test_newreno_has_the_mean_window_of_the_square_root_law(name: str, every: int) -> None:
    wanted = reno_mean(1 / every)
    got = mean_window(SENDERS[name][0](), evenly(every), 8 * every, 100 * MS, wanted)
    assert got == pytest.approx(wanted, rel=0.01, abs=0.6)


@pytest.mark.parametrize(
    ("every", "trip_ms"), [(300, 10), (3_000, 10), (10_000, 10), (10_000, 100)]
)
@pytest.mark.parametrize("name", ["cubic", "tcp-cubic"])
def test_cubic_has_the_mean_window_of_its_two_regions(name: str, every: int, trip_ms: int) -> None:
    """In the cubic region the rules of the RFC are 6 % below its formula, which is of a window that
    is on the curve at any time: it follows the curve by a share of what is missing."""
    trip, wanted = trip_ms * MS, cubic_mean(1 / every, trip_ms / 1000)
    got, rules = (
        mean_window(made(), evenly(every), 10 * every, trip, wanted) for made in SENDERS[name]
    )
    assert got == pytest.approx(rules, rel=0.002)
    assert got == pytest.approx(wanted, rel=0.07)


@pytest.mark.parametrize("trip_ms", [1, 100])
@pytest.mark.parametrize("every", [400, 2_000])
@pytest.mark.parametrize("name", SENDERS)
def test_on_the_same_random_losses_it_is_where_the_rules_of_the_rfc_are(
    name: str, every: int, trip_ms: int
) -> None:
    made, transcribed = SENDERS[name]
    """A window of whole segments lacks half a one at each cut."""
    segments, trip, begins = 20 * every, trip_ms * MS, reno_mean(1 / every)
    got = mean_window(made(), by_chance(every, 7), segments, trip, begins)
    wanted = mean_window(transcribed(), by_chance(every, 7), segments, trip, begins)
    assert got == pytest.approx(
        wanted, rel=0.002 if "cubic" in name else 0.01, abs=0.7 if "newreno" in name else 0
    )


@pytest.mark.parametrize("segments", [50, 400, 1_200])
@pytest.mark.parametrize("name", SENDERS)
def test_seconds_after_a_loss_the_window_is_the_transcriptions(name: str, segments: int) -> None:
    """What an acknowledgement adds to a window of many segments is a fraction of its unit."""
    made, transcribed = (one() for one in SENDERS[name])
    for sender in (made, transcribed):
        now, trip = S, 50 * MS
        while sender.window < segments:
            sender.acked(now, trip)
        sender.lost(now)
        while now < 6 * S:
            now += int(trip / sender.window)
            sender.acked(now, trip)
    assert made.window == pytest.approx(transcribed.window, rel=0.005, abs=0.02)
