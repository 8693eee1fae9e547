"""NSCC against an independent transcription of its reference's rules (htsim, class UecSrc), step by
step over random events.

The transcription is in floating point and seconds and octets, with the reference's own state: what
was acknowledged since the last adjustment, octets to ignore, the end of a quick-adapt period. After
every event the two windows differ by rounding alone; the transcription then goes on from the
kernel's window, so that no step hides another.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from orchestrator.engine.records import ACK
from plugins.nscc import NSCC, Nscc
from tests.plugins.scheme_driver import Driver

PS = 10**12
US = 1e-6
REFERENCE_BDP = 100e9 / 8 * 12 * US
"""Octets: the reference has its constants for 100 Gb/s and 12 us."""


@dataclass
class Transcribed:
    """One sender by the reference's rules; times in s, sizes in octets."""

    rate: float
    base: float
    target: float
    segment: int
    steps: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.bdp = self.rate / 8 * self.base
        self.largest = 1.5 * self.bdp
        scale = self.bdp / REFERENCE_BDP
        share = self.target / (12 * US)
        self.alpha = 4.0 * self.segment * scale * share / self.target
        self.fair = 5.0 * self.segment * scale
        self.eta = 0.15 * self.segment * scale
        self.fast_gain = 0.25 * scale
        self.window = max(self.largest, self.segment)
        self.average = 0.0
        self.increment = 0.0
        self.received = self.achieved = self.ignored = self.to_ignore = 0.0
        self.calm, self.fast, self.alarm = 0.0, False, False
        self.period_ends: float | None = None
        self.decreased = self.adjusted = 0.0

    def answered(self, now: float, octets: int, delay: float, marked: bool, flight: int) -> None:
        """An acknowledgement of new octets, `delay` s later than on the empty path."""
        self.achieved += octets
        self.received += octets
        self.ignored += octets
        misleading = not marked and delay > self.target
        self._average(self.base / 4 if misleading else delay)
        if self._quick_adapt(now, marked, False, delay, flight):
            return
        if delay >= self.target and marked:
            self._decrease(now)
        elif delay >= self.target:
            self.steps["fair"] += 1
            self.increment += self.fair * octets
        elif not marked:
            self._increase(octets, delay)
        else:
            self.steps["path"] += 1
        self._bound()
        due = now - self.adjusted
        if due > self.base or self.received > 8 * self.segment:
            self.steps["adjusted"] += 1
            self.window += self.increment / self.window
            if due >= self.base:
                self.window += self.eta
                self.adjusted = now
            self.increment = self.received = 0.0
        self._bound()

    def lost(self, now: float, octets: int, flight: int) -> None:
        """Octets are known to be lost."""
        self.ignored += octets
        self._average(self.base)
        self.alarm = True
        if not self._quick_adapt(now, True, True, 0.0, flight):
            self.steps["loss"] += 1
            self.window -= octets
        self._bound()

    def _average(self, sample: float) -> None:
        self.average += 0.0125 * (sample - self.average)

    def _bound(self) -> None:
        self.window = max(min(self.window, self.largest), self.segment)

    def _quick_adapt(self, now: float, marked: bool, lost: bool, delay: float, flight: int) -> bool:
        done = False
        if marked and self.ignored < self.to_ignore:
            self.steps["ignored"] += 1
            done = True
        elif self.period_ends is None or now > self.period_ends:
            bad = self.alarm or lost or delay > 4 * self.target
            if self.period_ends is not None and bad and self.achieved < self.largest / 8:
                self.steps["quick"] += 1
                self.window = max(self.achieved, self.segment)
                self.to_ignore, self.ignored, self.alarm = flight, 0.0, False
                done = True
            self.achieved = 0.0
            self.period_ends = now + self.base + self.target
        if done:
            self.increment = self.received = 0.0
        return done

    def _increase(self, octets: int, delay: float) -> None:
        if delay < 1 * US:
            self.calm += octets
            self.fast = self.fast or self.calm > self.window
        else:
            self.calm, self.fast = 0.0, False
        if self.fast:
            self.steps["fast"] += 1
            self.window += self.fast_gain * octets
        else:
            self.steps["proportional"] += 1
            self.increment += self.alpha * octets * (self.target - delay)

    def _decrease(self, now: float) -> None:
        self.calm, self.fast = 0.0, False
        if self.average > self.target and now - self.decreased > self.base:
            self.steps["multiplicative"] += 1
            over = (self.average - self.target) / self.average
            self.window *= max(1 - 0.8 * over, 0.5)
            self.decreased = now


NETWORKS = {
    "the reference's": (100 * 10**9, 12 * 10**6, 9 * 10**6, 4_000),
    "slow and near": (10 * 10**9, 12 * 10**6, 9 * 10**6, 1_500),
    "fast and far": (400 * 10**9, 30 * 10**6, 30 * 10**6, 4_096),
    "one segment": (10 * 10**9, 2 * 10**6, 2 * 10**6, 1_500),
}
"""Name -> bit/s, base round trip and target in ps, octets of a segment."""
MOODS = ("calm", "below", "above", "marked", "congested", "any")


@pytest.mark.parametrize("network", NETWORKS)
def test_every_step_is_that_of_the_transcription(network: str) -> None:
    """And every rule was used, but quick adapt where an eighth of the window is no segment."""
    steps: Counter[str] = Counter()
    for seed in range(4):
        steps += stepped(network, seed)
    kinds = {"fair", "proportional", "fast", "multiplicative", "path", "loss", "adjusted"}
    if network != "one segment":
        kinds |= {"quick", "ignored"}
    assert not kinds - steps.keys(), steps


def stepped(network: str, seed: int) -> Counter[str]:
    """Step both through random events; the rules that were used."""
    rate, base, target, segment = NETWORKS[network]
    kernel = Driver(NSCC, Nscc(base_rtt=base, target=target, segment=segment), link_rate=rate)
    ours = Transcribed(rate, base / PS, target / PS, segment)
    kernel.come("start")
    assert kernel.window == pytest.approx(ours.window, abs=1)
    draw = random.Random(f"{network}/{seed}")
    now, mood = base, "any"
    for step in range(3_000):
        if step % 40 == 0:
            mood = draw.choice(MOODS)
        now += draw.randrange(1, base // 4 if draw.random() < 0.9 else 3 * base)
        before = kernel.window
        flight = draw.randrange(1, 12) * segment
        if draw.random() < 0.02:
            count = draw.randrange(1, 4)
            kernel.set(lost=count, flight=flight)
            kernel.come("lost", now, kind=ACK)
            ours.lost(now / PS, count * segment, flight)
        else:
            delay, marked = drawn(draw, mood, target)
            octets = draw.randrange(1, 4) * segment
            kernel.set(rtt=base + delay, acked=octets, flight=flight)
            kernel.set(marked=octets if marked else 0)
            kernel.come("acked", now, kind=ACK, feedback=0, offset=0)
            ours.answered(now / PS, octets, delay / PS, marked, flight)
        by_ns = before * 1e-9 * PS / target  # the kernel has the delays of a decrease in whole ns
        rounding = 3 + abs(ours.window - before) / 500 + by_ns
        assert kernel.window == pytest.approx(ours.window, abs=rounding), (step, mood)
        average = int(kernel.state["delay"][0])
        assert average == pytest.approx(ours.average * PS, abs=200), (step, mood)
        ours.window, ours.average = float(kernel.window), average / PS
    return ours.steps


def drawn(draw: random.Random, mood: str, target: int) -> tuple[int, bool]:
    """A queueing delay (ps) and a mark, as a network in this mood answers."""
    if mood == "calm":
        return draw.randrange(0, 10**6), False
    if mood == "below":
        return draw.randrange(0, target), draw.random() < 0.1
    if mood == "above":
        return draw.randrange(target, 3 * target), False
    if mood == "marked":
        return draw.randrange(target, 3 * target), True
    if mood == "congested":
        return draw.randrange(3 * target, 9 * target), draw.random() < 0.9
    return draw.randrange(0, 6 * target), draw.random() < 0.5
