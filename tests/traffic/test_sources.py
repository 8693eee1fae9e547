"""Sources that make frames: their mean rates and how their gaps and bursts are distributed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from orchestrator.algorithm import Algorithm
from orchestrator.engine.lfsr import lfsr_next
from orchestrator.errors import BadInput
from orchestrator.plan.algorithm_params import Params
from tests.plugins.described import check_page
from tests.plugins.kernel_driver import KernelDriver
from traffic.bernoulli_source import BERNOULLI, Bernoulli
from traffic.pareto_on_off import PARETO, ParetoOnOff, negative_log2, times_power

GBPS, US, MS = 10**9, 10**6, 10**9


def gaps(algorithm: Algorithm, params: Params, count: int, seed: int = 7) -> np.ndarray:
    """ps between the first frames of a source, int64[count]."""
    driver = KernelDriver(algorithm)
    driver.reset(params, seed)
    driver.entity["length"] = 1500
    now, found = 0, []
    for _ in range(count):
        gap = driver.call("next", now)
        found.append(gap)
        now += gap
    return np.array(found)


def rate(found: np.ndarray) -> float:
    """bit/s of frames of 1500 octets."""
    return len(found) * 12000 / (int(found.sum()) / 1e12)


def test_bernoulli_gaps_are_geometric_numbers_of_slots() -> None:
    found = gaps(BERNOULLI, Bernoulli(rate=2 * GBPS, peak=10 * GBPS), 20_000)
    slot = 1_200_000
    assert (found % slot == 0).all()
    slots = found // slot
    assert rate(found) == pytest.approx(2 * GBPS, rel=0.02)
    for number in (1, 2, 3):
        assert (slots == number).mean() == pytest.approx(0.2 * 0.8 ** (number - 1), abs=0.01)


def test_bernoulli_at_its_peak_is_a_constant_rate() -> None:
    found = gaps(BERNOULLI, Bernoulli(rate=10 * GBPS, peak=10 * GBPS), 100)
    assert set(found.tolist()) == {1_200_000}


def test_bernoulli_differs_by_seed_alone() -> None:
    params = Bernoulli(rate=GBPS)
    assert np.array_equal(gaps(BERNOULLI, params, 100), gaps(BERNOULLI, params, 100))
    assert not np.array_equal(gaps(BERNOULLI, params, 100), gaps(BERNOULLI, params, 100, seed=8))


def test_pareto_bursts_have_the_given_lengths_and_rate() -> None:
    params = ParetoOnOff(rate=GBPS, peak=5 * GBPS, burst=MS, shape="3")
    found = gaps(PARETO, params, 200_000)
    slot = 2_400_000
    ends = np.flatnonzero(found > slot)
    bursts = np.diff(ends) * slot  # from the first frame to the end of the last one
    least = MS * 2 // 3
    assert bursts.min() > least - 2 * slot
    assert bursts.mean() == pytest.approx(MS, rel=0.05)
    assert found[ends].mean() - slot == pytest.approx(4 * MS, rel=0.08)
    assert rate(found) == pytest.approx(GBPS, rel=0.05)
    # of a Pareto distribution with shape 3, 1/8 is longer than twice the least
    assert (bursts > 2 * least).mean() == pytest.approx(0.125, abs=0.02)


def test_pareto_without_silence_is_a_constant_rate() -> None:
    found = gaps(PARETO, ParetoOnOff(rate=GBPS, peak=GBPS, burst=100 * US), 500)
    assert set(found.tolist()) == {12_000_000}


@pytest.mark.parametrize("params", [{"rate": "2Gb/s", "peak": "1Gb/s"}, {"rate": "1b/s"}])
@pytest.mark.parametrize("kind", [Bernoulli, ParetoOnOff])
def test_a_peak_that_does_not_go_with_the_rate_is_refused(
    kind: type[Params], params: dict[str, str]
) -> None:
    with pytest.raises(BadInput, match="'peak' has to be"):
        kind.from_table(params)


def test_whole_number_logarithm_and_power_agree_with_floating_point() -> None:
    random = 1
    for _ in range(2000):
        random = lfsr_next(random)
        exponent = negative_log2(random)
        assert exponent / 2**30 == pytest.approx(-math.log2(random / 2**32), abs=1e-7)
        base = 10**6 + random
        exact = base * 2 ** (exponent / 2**30 / 1.5)
        made = times_power(base, exponent * 2 // 3)
        assert made == pytest.approx(exact, rel=3e-3 if base < 10**7 else 2e-4)
    assert times_power(10**12, 60 << 30) == 1 << 61
    assert negative_log2(2**32 - 1) / 2**30 == pytest.approx(0, abs=1e-8)
    assert negative_log2(1) == 32 << 30


@pytest.mark.parametrize("module", ["traffic.bernoulli_source", "traffic.pareto_on_off"])
def test_the_page_has_the_parameters_of(module: str) -> None:
    assert check_page(module) > 0


def test_a_frame_of_more_bursts_than_are_drawn_takes_as_many_mean_ones_as_it_needs() -> None:
    """A burst that ends where the frame does is enough; a picosecond more takes another one."""
    params = ParetoOnOff(rate=GBPS, peak=2 * GBPS, burst=US, shape="3")
    driver, slot = KernelDriver(PARETO), 6 * US

    def with_left(left: int) -> tuple[int, int]:
        driver.reset(params, 7)
        driver.entity["length"] = 1500
        driver.state["begun"], driver.state["left"] = 1, left
        gap = driver.call("next", 0)
        return gap, int(driver.state["left"][0]) - slot

    gap, over = with_left(-(10**10))
    assert 0 < over < US
    assert with_left(-(10**10) - over) == (gap, 0)
    assert with_left(-(10**10) - over - 1) == (gap + US, US - 1)
