"""Constant bit rate: gaps of whole picoseconds whose sum is exact, whatever length and rate."""

from __future__ import annotations

import pytest

from orchestrator.plan.algorithm_params import Sender
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver
from traffic.cbr_source import CBR, ConstantBitRate

BIT_PS = 8 * 10**12


def source(rate: int, length: int) -> Driver:
    return Driver(CBR, ConstantBitRate(rate=rate), length=length)


@pytest.mark.parametrize(("rate", "length"), [(10**9, 1500), (3, 64), (7_000_003, 1518)])
def test_frames_are_never_off_by_a_picosecond(rate: int, length: int) -> None:
    """The sum of n gaps is n frames' time at the rate, rounded down."""
    driver, total = source(rate, length), 0
    exact = length * BIT_PS
    for count in range(1, 200):
        gap = driver.call("next", 0)
        assert gap - exact // rate in (0, 1)
        total += gap
        assert total == count * exact // rate


def test_a_changed_length_or_rate_counts_from_the_next_gap_on() -> None:
    driver = source(10**9, 1500)
    assert driver.call("next", 0) == 12_000_000
    driver.set(length=750)
    assert driver.call("next", 0) == 6_000_000
    driver.params["rate"] = 3 * 10**9
    assert driver.call("next", 0) == 2_000_000
    driver.set(length=64)
    driver.params["rate"] = 7
    total = sum(driver.call("next", 0) for _ in range(7))
    assert total == 64 * BIT_PS


def test_each_flow_offers_the_frames_of_its_rate() -> None:
    sender = Sender(span=10**12, link_rate=10**10, frame=1500, headers=0, flows=3, all_flows=6)
    found = ConstantBitRate(rate=12_000_000).frames_offered(sender)
    assert found == 3 * sender.frames_at(12_000_000)
    assert 3000 <= found <= 3006
    assert check_page("traffic.cbr_source") == 1
