"""What sources offer is what was asked for: loads of messages, rates of frames."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.algorithm import Algorithm
from orchestrator.plan.algorithm_params import Params
from tests.orchestrator.worlds import MS, Table, recorded
from tests.plugins.described import check_page
from tests.plugins.kernel_driver import KernelDriver
from traffic.bernoulli_source import BERNOULLI, Bernoulli
from traffic.pareto_on_off import PARETO, ParetoOnOff, scale_down
from traffic.poisson_flows import DATA_MINING, WEB_SEARCH, Cdf, draw, mean_of_frames
from traffic.random_flows import RANDOM_FLOWS, RandomFlows

HEADERS, FRAME, RATE = 70, 1500, 10**10
SEGMENT = FRAME - HEADERS
SIZES: dict[str, Cdf] = {
    "1 B": [(1, 1.0)],
    "100 B": [(100, 1.0)],
    "700 B": [(700, 1.0)],
    "a full frame": [(SEGMENT, 1.0)],
    "an octet more": [(SEGMENT + 1, 1.0)],
    "64 KB": [(65_536, 1.0)],
    "up to 3 KB": [(1, 0.01), (3_000, 1.0)],
    "small or large": [(80, 0.9), (20_000, 1.0)],
    "web search / 100": [(size // 100, share) for size, share in WEB_SEARCH[1:]],
    "data mining / 10^4": [(1, 0.8), *((size // 10_000, p) for size, p in DATA_MINING[9:])],
}
"""Ten distributions: sizes of less than a frame, of one and of many, with and without a tail."""


def offered(cdf: Cdf, load: str, seed: int, **changes: Any) -> tuple[float, float]:
    """Utilisation of a link that nothing else uses, and the standard error of its expectation."""
    duration = 20 * MS
    table: Table = {
        "name": "offered",
        "seed": seed,
        "duration": duration,
        "sample_interval": duration,
        "nodes": {"a": {"kind": "nic"}, "b": {"kind": "sink"}},
        "links": {"l": {"ends": ["a", "b"], "rate": RATE}},
        "traffic": {
            "t": {
                "plugin": "poisson",
                "from": "a",
                "to": "b",
                "frame": FRAME,
                "load": load,
                "sizes": "cdf",
                "cdf": [list(point) for point in cdf],
                **changes,
            }
        },
    }
    recording = recorded(table)
    sent = int(recording.column("a>b", "bytes_out")[-1]) * 8 / RATE / (duration / 1e12)
    sizes = draw(cdf, np.random.default_rng(0).random(200_000)).astype(float)
    octets = sizes + HEADERS * np.ceil(sizes / SEGMENT)
    # of a compound Poisson process: variance = arrivals times the mean square
    arrivals = float(load) * RATE * duration / 1e12 / 8 / octets.mean()
    return sent, float(np.sqrt(arrivals * (octets**2).mean())) * 8 / RATE / (duration / 1e12)


@pytest.mark.parametrize("load", ["0.1", "0.5", "0.8"])
@pytest.mark.parametrize("cdf", SIZES.values(), ids=SIZES)
def test_a_link_is_as_busy_as_the_load_says(cdf: Cdf, load: str) -> None:
    sent, error = offered(cdf, load, seed=1)
    assert sent == pytest.approx(float(load), abs=4 * error + 1e-3)
    assert error < 0.08


@given(
    points=st.lists(st.tuples(st.integers(0, 9_000), st.floats(0.01, 1)), min_size=1, max_size=4),
    frame=st.integers(71, 9_000),
)
@settings(deadline=None)
def test_the_mean_of_frames_is_that_of_every_size(
    points: list[tuple[int, float]], frame: int
) -> None:
    total = sum(weight for _, weight in points)
    shares = np.cumsum([weight / total for _, weight in points])
    cdf = list(zip(sorted(size for size, _ in points), [*shares[:-1].tolist(), 1.0], strict=True))
    weights: dict[int, float] = {}
    for (low, p), (high, q) in pairwise([(cdf[0][0], 0.0), *cdf] if cdf[0][1] else cdf):
        for size in range(low, max(high, low + 1)):
            weights[max(size, 1)] = weights.get(max(size, 1), 0) + (q - p) / max(high - low, 1)
    exact = sum(w * (s + HEADERS * -(-s // (frame - HEADERS))) for s, w in weights.items())
    assert mean_of_frames(cdf, frame, HEADERS) == pytest.approx(exact, rel=1e-9)


def rate(algorithm: Algorithm, params: Params, length: int, count: int) -> float:
    """bit/s of the first frames of a source."""
    driver = KernelDriver(algorithm)
    driver.reset(params, 7)
    driver.entity["length"] = length
    now = 0
    for _ in range(count):
        now += driver.call("next", now)
    return count * length * 8e12 / now


@pytest.mark.parametrize("share", [1e-5, 3e-5, 1e-3, 0.3, 0.999])
def test_bernoulli_keeps_its_rate_however_small_a_share_of_the_peak_it_is(share: float) -> None:
    peak = 10**11
    asked = round(peak * share)
    count = 2_000 if share < 1e-3 else 20_000
    found = rate(BERNOULLI, Bernoulli(rate=asked, peak=peak), 64, count)
    assert found == pytest.approx(asked, rel=4 * ((1 - share) / count) ** 0.5 + 1e-6)


@pytest.mark.parametrize("asked", range(1_000_000, 1_000_100, 9))
def test_the_chance_of_a_slot_is_the_share_of_the_peak(asked: int) -> None:
    peak = asked * 99_991
    chance = scale_down((1 << 32) - 1, asked, peak)
    assert chance / ((1 << 32) - 1) == pytest.approx(asked / peak, rel=3e-5)


@pytest.mark.parametrize("length", [64, 70, 1500])
@pytest.mark.parametrize("slot", [333_333_333_333, 999_999_999_999])
def test_slots_of_a_fraction_of_a_picosecond_add_up(length: int, slot: int) -> None:
    """Rounded up one by one they are up to 0.2 % too long."""
    for algorithm, params in (
        (BERNOULLI, Bernoulli(rate=slot, peak=slot)),
        (PARETO, ParetoOnOff(rate=slot, peak=slot)),
        (RANDOM_FLOWS, RandomFlows(rate=slot, peak=slot)),
    ):
        assert rate(algorithm, params, length, 3_000) == pytest.approx(slot, rel=1e-6)


@pytest.mark.parametrize("burst", [10**6, 3 * 10**6, 20 * 10**6, 10**9])
@pytest.mark.parametrize("peak", ["1.0005", "2", "30"])
def test_pareto_keeps_its_rate_in_bursts_of_any_length(burst: int, peak: str) -> None:
    """Bursts of less than a slot of 1.2 us and of many; silence of less than a thousandth."""
    asked = round(10**10 / float(peak))
    params = ParetoOnOff(rate=asked, peak=10**10, burst=burst, shape="10")
    count = 30_000 if burst < 10**9 else 300_000
    assert rate(PARETO, params, 1500, count) == pytest.approx(asked, rel=0.01)


@pytest.mark.parametrize(
    "sizes", [(64, 64), (64, 1500), (1500, 1500), (1501, 1501), (1000, 40_000)]
)
@pytest.mark.parametrize(("asked", "peak"), [(10**9, 2 * 10**9), (4 * 10**10, 10**11)])
def test_random_flows_keep_their_rate_at_every_size(
    sizes: tuple[int, int], asked: int, peak: int
) -> None:
    params = RandomFlows(rate=asked, peak=peak, least=sizes[0], most=sizes[1])
    assert rate(RANDOM_FLOWS, params, 1500, 40_000) == pytest.approx(asked, rel=0.015)


def test_the_page_has_its_parameters() -> None:
    assert check_page("traffic.random_flows") > 0
