"""The figures of ECN marking held to devices that are drawn: right ones pass, wrong ones miss."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from tests.hardware.marked_bursts import (
    DEQUEUE,
    ENQUEUE,
    Marks,
    above_kmax,
    below_kmin,
    bins,
    chance,
    described,
    ramp,
    tail,
)
from traces.pytest_plugin.dut_description import Marking

FRAME, BURSTS, FRAMES = 500, 8, 300
STATED = Marking(kmin=20_000, kmax=100_000, pmax=Fraction(1, 2))
Rule = Callable[[np.ndarray], np.ndarray]
"""Chance of a mark for each frame of a burst, float64[n], by the length of its queue."""


def stated(kmin: int = 20_000, kmax: int = 100_000, pmax: Fraction = Fraction(1, 2)) -> Rule:
    curve = Marking(kmin=kmin, kmax=kmax, pmax=pmax)
    return lambda lengths: chance(lengths, curve)


def bent(power: float) -> Rule:
    """From 0 at Kmin to Pmax at Kmax, by a power."""

    def rule(lengths: np.ndarray) -> np.ndarray:
        share = np.clip((lengths - 20_000) / 80_000, 0, 1)
        return np.where(lengths > 100_000, 1.0, share**power / 2)

    return rule


def level(share: float, begin: int = 20_000) -> Rule:
    """One share from `begin` to Kmax."""
    return lambda lengths: np.where(lengths > 100_000, 1.0, np.where(lengths > begin, share, 0.0))


def drawn(rule: Rule, at: str, seed: int, lag: float = 1.0) -> Marks:
    """The bursts of a device; `lag`: weight of a frame in the average length that it marks by."""
    rng = np.random.default_rng(seed)
    place = np.arange(FRAMES)
    lengths = (place if at == ENQUEUE else FRAMES - 1 - place) * FRAME
    if lag < 1:
        mean, found = 0.0, []
        for one in lengths.tolist():
            mean += lag * (one - mean)
            found.append(mean)
        lengths = np.array(found)
    chances = rule(lengths)
    marked = [rng.random(FRAMES) < chances for _ in range(BURSTS)]
    return Marks(
        np.tile(place, BURSTS), np.full(BURSTS * FRAMES, FRAMES), np.concatenate(marked), FRAME
    )


def missed(marks: Marks, at: str, curve: Marking = STATED) -> set[str]:
    """The figures that are not within their tolerances."""
    seen = marks.at()
    judged = seen or ENQUEUE
    found = ramp(marks, judged, curve)
    wrong = {
        "side": seen is not None and seen != at,
        "kmin": below_kmin(marks, judged, curve) > 0,
        "kmax": above_kmax(marks, judged, curve) > 0,
        "share": abs(found.seen - found.stated) > found.tolerance,
        "line": not all(one.likely for one in bins(marks, judged, curve)),
    }
    return {name for name, one in wrong.items() if one}


@pytest.mark.parametrize("at", [ENQUEUE, DEQUEUE])
def test_a_right_device_passes_with_every_seed(at: str) -> None:
    for seed in range(200):
        assert missed(drawn(stated(), at, seed), at) == set()


WRONG: dict[str, tuple[Rule, set[str]]] = {
    "kmin 10 KB": (stated(kmin=10_000), {"kmin"}),
    "kmin 18 KB, pmax 1": (stated(kmin=18_000, pmax=Fraction(1)), {"share", "line"}),
    "kmin 40 KB": (stated(kmin=40_000), {"line"}),
    "kmax 60 KB": (stated(kmax=60_000), {"share", "line"}),
    "kmax 130 KB": (stated(kmax=130_000), {"kmax"}),
    "pmax a quarter": (stated(pmax=Fraction(1, 4)), {"share", "line"}),
    "pmax a third": (stated(pmax=Fraction(1, 3)), {"share"}),
    "pmax 1": (stated(pmax=Fraction(1)), {"share", "line"}),
    "marks nothing": (lambda lengths: 0.0 * lengths, {"kmax", "share", "line"}),
    "marks everything": (lambda lengths: 0.0 * lengths + 1, {"kmin", "share", "line"}),
    "step at kmin": (level(1.0), {"share", "line"}),
    "step half way": (level(0.5, 60_000), {"line"}),
    "level of the right mean": (level(0.25), {"line"}),
    "bent upwards": (bent(2.0), {"share"}),
    "bent downwards": (bent(0.5), {"share"}),
    "pmax also above kmax": (
        lambda lengths: np.clip((lengths - 20_000) / 80_000, 0, 1) / 2,
        {"kmax"},
    ),
    "thresholds in frames of 1500": (stated(6_500, 33_000), {"kmin", "share", "line"}),
    "thresholds of another class": (stated(5_000, 200_000), {"kmin", "kmax"}),
}
"""A device, and the figures that miss it, each with 9 seeds of 10 at the least."""


@pytest.mark.parametrize("at", [ENQUEUE, DEQUEUE])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_device_misses(name: str, at: str) -> None:
    rule, expected = WRONG[name]
    found = [missed(drawn(rule, at, seed), at) for seed in range(20)]
    for figure in expected:
        assert sum(figure in one for one in found) >= 18, (figure, found)


@pytest.mark.parametrize(("at", "other"), [(ENQUEUE, DEQUEUE), (DEQUEUE, ENQUEUE)])
def test_the_other_side_misses_by_that_alone(at: str, other: str) -> None:
    for seed in range(50):
        assert missed(drawn(stated(), other, seed), at) == {"side"}


def test_an_averaged_queue_misses() -> None:
    """A weight of 1/64 lags 64 frames, 32 KB, behind."""
    for seed in range(20):
        assert {"share", "line"} <= missed(drawn(stated(), ENQUEUE, seed, 1 / 64), ENQUEUE)


def test_what_is_found_is_said_as_an_engineer_would() -> None:
    marks = drawn(stated(kmin=10_000, pmax=Fraction(1)), DEQUEUE, 1)
    assert described(marks, DEQUEUE).startswith("the device marks at dequeue, from 1")
    off = [one for one in bins(marks, DEQUEUE, STATED) if not one.likely]
    assert "frames marked" in str(off[0])
    assert "% configured" in str(off[0])
    assert described(drawn(level(0.0, 10**9), ENQUEUE, 1), ENQUEUE).startswith("the device marks")
    nothing = drawn(lambda lengths: 0.0 * lengths, ENQUEUE, 1)
    assert described(nothing, ENQUEUE) == "none of 2400 frames is marked"


def test_the_exact_tail_is_that_of_a_binomial_where_chances_are_equal() -> None:
    from scipy import stats

    for count in range(0, 41, 5):
        exact = stats.binom(40, 0.3)
        two = min(1.0, 2 * min(exact.cdf(count), exact.sf(count - 1)))
        assert tail(np.full(40, 0.3), count) == pytest.approx(two)
