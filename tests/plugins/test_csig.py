"""CSIG: the stamp of each signal, and the rate that a port measures for it."""

from __future__ import annotations

import pytest

from orchestrator.capability import Capability
from plugins.csig import CSIG, Csig
from tailback.plugin import STAMP_IF_LARGER, STAMP_IF_SMALLER
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

US, GBPS = 10**6, 10**9


def port(signal: str, rate: int = 10 * GBPS, line: int = 0) -> Driver:
    params = Csig(signal=signal, interval=100 * US)  # type: ignore[arg-type]
    return Driver(CSIG, params, service_rate=rate, line_rate=line or rate)


def stamp(driver: Driver) -> tuple[int, int, int]:
    fields = ("offset", "delta", "feedback")
    return tuple(int(driver.message[name][0]) for name in fields)  # type: ignore[return-value]


def test_the_longest_queue_and_the_longest_delay_are_kept() -> None:
    queue = port("queue", 10 * GBPS, 4 * GBPS)
    queue.set(bytes=777, bytes_out=5)
    assert queue.come("departure", 9) == STAMP_IF_LARGER
    assert stamp(queue) == (777, 5, 4 * GBPS)
    delay = port("delay", 3 * GBPS, 4 * GBPS)
    assert delay.come("departure", 12_999, entered=2_000) == STAMP_IF_LARGER
    assert stamp(delay) == (10, 0, 3 * GBPS)  # in ns, rounded down


def test_the_least_bandwidth_left_is_kept_in_kbps_and_as_parts_in_a_million() -> None:
    """After an interval of 100 us with 75 000 octets, 6 Gb/s of 10 are used."""
    for signal, idle, busy in (("bandwidth", 10_000_000, 4_000_000), ("share", 10**6, 400_000)):
        one = port(signal)
        assert one.come("departure", 0) == STAMP_IF_SMALLER
        assert stamp(one) == (idle, 0, 10 * GBPS)
        one.set(bytes_out=75_000)
        assert one.come("departure", 100 * US - 1) == STAMP_IF_SMALLER
        assert stamp(one)[0] == idle, "the interval is not over"
        one.come("departure", 100 * US)
        assert stamp(one) == (busy, 75_000, 10 * GBPS)
        one.set(bytes_out=75_000 + 25_000)
        one.come("departure", 150 * US)
        assert stamp(one)[0] == busy
        one.come("departure", 300 * US)  # 25 000 octets in 200 us: 1 Gb/s
        assert stamp(one)[0] == idle * 9 // 10


def test_a_port_that_sends_more_than_its_rate_has_nothing_left() -> None:
    one = port("bandwidth", GBPS)
    one.set(bytes_out=75_000)
    one.come("departure", 100 * US)
    assert stamp(one)[0] == 0
    one.set(bytes_out=0)  # a counter that went back counts as nothing sent
    one.come("departure", 200 * US)
    assert stamp(one)[0] == GBPS // 1000


@pytest.mark.parametrize("rate", [9 * 10**12, 9 * 10**12 + 2, 10**13])
def test_shares_of_the_largest_rates_are_exact(rate: int) -> None:
    one = port("share", rate)
    one.set(bytes_out=rate // 8 // 10**4 // 4)  # a quarter of an interval's octets
    one.come("departure", 100 * US)
    assert stamp(one)[0] == pytest.approx(750_000, abs=1)


def test_a_port_without_a_rate_has_no_share() -> None:
    one = port("share", 0)
    one.come("departure", 0)
    assert stamp(one) == (0, 0, 0)


def test_it_needs_room_for_stamps_and_keeps_one() -> None:
    assert CSIG.needs == {Capability.STAMPS}
    assert CSIG.keeps_one_stamp
    (column,) = CSIG.columns
    assert (column.field, column.unit) == ("used", "bit/s")
    assert check_page("plugins.csig") == 3
