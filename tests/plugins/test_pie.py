"""PIE: the controller against RFC 8033's formulas in floating point, and what is dropped by it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.kernel_answers import DROP
from orchestrator.engine.records import CE, ECT0, NEVER, NOT_ECT
from plugins.pie import CERTAIN, PIE, Pie
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

MS = 10**9
REF, T, BURST = 0.015, 0.015, 0.150


def queue(**params: object) -> Driver:
    """One that is long enough for drops, its burst over."""
    made = Driver(PIE, Pie(**params), bytes=10**6, frames=700, congestion_point_timer=NEVER)
    made.come("arrival")
    made.state["burst_left"] = 0
    return made


class Controller:
    """The chance of being dropped, and the allowance for bursts, in seconds."""

    def __init__(self) -> None:
        self.p = self.old = 0.0
        self.burst = BURST

    def update(self, delay: float) -> None:
        change = 0.125 * (delay - REF) + 1.25 * (delay - self.old)
        steps = ((1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (1e-1, 2))
        divisor = next((by for below, by in steps if self.p < below), 0)
        self.p += change / divisor if divisor else min(change, 0.02)
        if delay == 0 and self.old == 0:
            self.p *= 0.98
        self.p = min(max(self.p, 0.0), 1.0)
        self.burst = max(self.burst - T, 0.0)
        if self.p == 0 and delay < REF / 2 and self.old < REF / 2:
            self.burst = BURST
        self.old = delay


DELAYS = st.lists(st.sampled_from([0, 2, 7, 14, 16, 20, 40, 200, 900]), max_size=80)


@settings(max_examples=100, deadline=None)
@given(DELAYS)
def test_the_chance_is_that_of_the_controller(delays: list[int]) -> None:
    ours, sound = queue(), Controller()
    ours.state["burst_left"] = 150 * MS
    for number, delay in enumerate(delays):
        ours.state["delay"] = delay * MS
        ours.come("timer", number * 15 * MS)
        sound.update(delay / 1000)
        assert ours.state["drop_probability"][0] / CERTAIN == pytest.approx(sound.p, abs=1e-9)
        assert ours.state["burst_left"][0] / CERTAIN == pytest.approx(sound.burst)
        assert ours.congestion_point_timer == (number + 1) * 15 * MS


def test_the_delay_is_that_of_the_last_frame_and_nothing_without_frames() -> None:
    ours = queue()
    ours.come("departure", 30 * MS, entered=10 * MS)
    assert ours.state["delay"][0] == 20 * MS
    ours.come("timer", 30 * MS)
    assert ours.state["old"][0] == 20 * MS
    ours.set(frames=0)
    ours.come("timer", 45 * MS)
    assert ours.state["old"][0] == 0


@pytest.mark.parametrize("chance", [0.002, 0.05, 0.6])
def test_so_many_are_dropped_and_not_in_clusters(chance: float) -> None:
    ours = queue()
    ours.state["drop_probability"], ours.state["old"] = int(chance * CERTAIN), 20 * MS
    ours.state["summed"] = 0
    hits = [n for n in range(60_000) if ours.come("arrival", n) == DROP]
    gaps = [b - a for a, b in pairwise(hits)]
    assert min(gaps) * chance >= 0.85 - 1e-9
    assert max(gaps) * chance <= 8.5 + chance
    mean = sum(gaps) / len(gaps) * chance
    assert mean == pytest.approx(1.85 if chance < 0.5 else 1.8, rel=0.15), "0.85 for sure, then 1"


@pytest.mark.parametrize(
    "spared",
    [{"bytes": 3_000}, {"burst_left": 1}, {"old": 7 * MS}],
    ids=["a short queue", "a burst", "a short delay"],
)
def test_what_is_let_through(spared: dict[str, int]) -> None:
    ours = queue()
    ours.state["drop_probability"], ours.state["old"] = CERTAIN * 15 // 100, 20 * MS
    assert DROP in {ours.come("arrival", n) for n in range(200)}
    for name, value in spared.items():
        if name == "bytes":
            ours.set(bytes=value)
        else:
            ours.state[name] = value
    assert {ours.come("arrival", n) for n in range(200)} == {0}


def test_with_ecn_a_capable_frame_is_marked_up_to_a_tenth() -> None:
    ours = queue(ecn=True)
    ours.state["drop_probability"], ours.state["old"] = CERTAIN // 20, 20 * MS
    answers, marks = set(), set()
    for number in range(500):
        answers.add(ours.come("arrival", number, mark=ECT0))
        marks.add(int(ours.frame["mark"][0]))
    assert (answers, marks) == ({0}, {ECT0, CE})
    assert DROP in {ours.come("arrival", n, mark=NOT_ECT) for n in range(500)}
    ours.state["drop_probability"] = CERTAIN // 10
    assert DROP in {ours.come("arrival", n, mark=ECT0) for n in range(500)}


def test_the_page_has_its_parameters() -> None:
    assert check_page("plugins.pie") > 0
