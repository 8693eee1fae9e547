"""The channel of Gilbert and Elliott: its loss rate and its bursts, against their formulas."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

from plugins.burst_loss import GILBERT_ELLIOTT, GilbertElliott
from tailback.plugin import CNM, DATA, LOST
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

DELAY = 77


def channel(**params: object) -> Driver:
    return Driver(GILBERT_ELLIOTT, GilbertElliott(**params), delay=DELAY)


def losses(count: int, **params: object) -> np.ndarray:
    """bool[count]: whether each data frame is lost; the others have the link's delay."""
    line = channel(**params)
    found = np.array([line.come("delay", 0, kind=DATA) for _ in range(count)])
    assert set(found.tolist()) <= {DELAY, LOST}
    return found == LOST


def runs(lost: np.ndarray, which: bool) -> np.ndarray:
    """Lengths of the runs of lost frames, or of the others, without the last one, which is cut."""
    found = [(value, len(list(some))) for value, some in groupby(lost.tolist())][:-1]
    return np.array([length for value, length in found if value == which])


@pytest.mark.parametrize(("p", "r"), [(0.02, 0.25), (0.1, 0.5), (0.01, 0.1), (0.3, 0.9)])
def test_bursts_of_gilberts_channel_are_geometric(p: float, r: float) -> None:
    """Bursts of mean 1 / r and deviation sqrt(1 - r) / r, 1 / p frames apart; p / (p + r) lost."""
    count = 40_000
    lost = losses(count, to_bad=str(p), to_good=str(r))
    bursts, gaps = runs(lost, True), runs(lost, False)
    assert abs(bursts.mean() - 1 / r) < 5 * (1 - r) ** 0.5 / r / len(bursts) ** 0.5
    assert abs(gaps.mean() - 1 / p) < 5 * (1 - p) ** 0.5 / p / len(gaps) ** 0.5
    assert bursts.std() == pytest.approx((1 - r) ** 0.5 / r, rel=0.15)
    share = p / (p + r)
    correlated = share * (1 - share) * (2 - p - r) / (p + r)
    assert abs(lost.mean() - share) < 5 * (correlated / count) ** 0.5
    for longer in (1, 2, 3):  # P(length > k) = (1 - r)^k
        expected = (1 - r) ** longer
        error = (expected * (1 - expected) / len(bursts)) ** 0.5
        assert abs((bursts > longer).mean() - expected) < 5 * error


@pytest.mark.parametrize(("good", "bad"), [(0.0, 0.5), (0.05, 0.5), (0.1, 0.1), (0.5, 0.0)])
def test_elliotts_channel_loses_in_both_states(good: float, bad: float) -> None:
    p, r, count = 0.05, 0.2, 40_000
    lost = losses(count, to_bad=str(p), to_good=str(r), loss_good=str(good), loss_bad=str(bad))
    share = (p * bad + r * good) / (p + r)
    assert abs(lost.mean() - share) < 0.02
    if good == bad:  # no bursts: as long as those of independent losses
        bursts = runs(lost, True)
        assert abs(bursts.mean() - 1 / (1 - bad)) < 0.05


def test_what_it_counts_is_what_the_chain_did() -> None:
    line = channel(to_bad="1/20", to_good="1/4")
    found = np.array([line.come("delay", 0, kind=DATA) for _ in range(20_000)])
    lost = found == LOST
    assert int(line.state["bad_frames"][0]) == lost.sum()
    bursts = int(line.state["bursts"][0])
    assert len(runs(lost, True)) <= bursts  # two may join: bad, one frame good, bad again
    assert lost.sum() / bursts == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize(
    ("to_bad", "to_good", "first"),
    [("1", "1", [0, 1, 0, 1]), ("1", "0", [0, 1, 1, 1]), ("0", "1", [0, 0, 0, 0])],
)
def test_a_frame_meets_the_state_that_the_one_before_left(
    to_bad: str, to_good: str, first: list[int]
) -> None:
    assert losses(4, to_bad=to_bad, to_good=to_good).tolist() == [bool(one) for one in first]


def test_frames_of_other_kinds_pass_and_move_no_chain() -> None:
    line = channel(to_bad="1", to_good="0", frame_kinds="data")
    assert [line.come("delay", 0, kind=CNM) for _ in range(3)] == [DELAY] * 3
    assert int(line.state["bad"][0]) == 0
    assert [line.come("delay", 0, kind=kind) for kind in (DATA, DATA, CNM)] == [DELAY, LOST, DELAY]


def test_its_parameters_are_those_of_the_page() -> None:
    assert GilbertElliott().most_added() == 0
    assert check_page("plugins.burst_loss") == 5
