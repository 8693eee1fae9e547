"""Bit errors: the share of corrupted frames by their length, against 1 - (1 - p)^bits."""

from __future__ import annotations

from fractions import Fraction
from math import expm1, log1p

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.bit_errors import BIT_ERRORS, ONE, BitErrors, frame_error, in_sixtieths
from tailback.plugin import FCS_RIGHT, FCS_WRONG, lfsr_next
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

DELAY = 77
FCS_OCTETS = 4
RATES = st.builds(
    Fraction, st.integers(0, 10**6), st.sampled_from([10**6, 10**8, 10**9, 10**10, 10**12])
)


def corrupted(count: int, length: int, rate: str, fcs: str = "wrong") -> float:
    """Share of frames of a length that is corrupted; all of them have the link's delay."""
    line = Driver(BIT_ERRORS, BitErrors(bit_error_rate=rate, fcs=fcs), delay=DELAY)
    marks = []
    for _ in range(count):
        line.message["mark"] = 0
        assert line.come("delay", 0, length=length) == DELAY
        marks.append(int(line.message["mark"][0]))
    assert set(marks) <= {0, {"wrong": FCS_WRONG, "right": FCS_RIGHT}[fcs]}
    return sum(mark != 0 for mark in marks) / count


@pytest.mark.parametrize("length", [60, 576, 1500, 9000])
@pytest.mark.parametrize("rate", ["1/100000", "1/20000", "0.0004"])
def test_the_share_of_corrupted_frames_follows_their_length(length: int, rate: str) -> None:
    bits = 8 * (length + FCS_OCTETS)
    expected = 1 - (1 - float(Fraction(rate))) ** bits
    count = 4000
    error = (expected * (1 - expected) / count) ** 0.5
    assert abs(corrupted(count, length, rate) - expected) <= 5 * error + 1e-9


@pytest.mark.parametrize("length", [60, 1500])
def test_each_frame_is_decided_by_sixty_bits_of_two_draws(length: int) -> None:
    """Frame by frame, beside the formula with exact fractions."""
    line = Driver(BIT_ERRORS, BitErrors(bit_error_rate="1/1000"), delay=DELAY)
    share = 1 - (1 - Fraction(1, 1000)) ** (8 * (length + FCS_OCTETS))
    register = int(line.state["lfsr"][0])
    for _ in range(1000):
        high = lfsr_next(register)
        register = lfsr_next(high)
        line.message["mark"] = 0
        line.come("delay", 0, length=length)
        expected = Fraction((high << 28) + (register >> 4), 1 << 60) < share
        assert bool(line.message["mark"][0]) == expected
        assert int(line.state["lfsr"][0]) == register


@pytest.mark.parametrize(("rate", "share"), [("0", 0), ("1", 1)])
@pytest.mark.parametrize("fcs", ["wrong", "right"])
def test_no_bit_or_every_bit_is_wrong(rate: str, share: int, fcs: str) -> None:
    assert corrupted(20, 60, rate, fcs) == share


@given(RATES, st.integers(1, 80_000))
def test_the_probability_is_exact_to_a_thousandth_of_a_millionth(rate: Fraction, bits: int) -> None:
    found = frame_error(in_sixtieths(rate.numerator, rate.denominator), bits) / ONE
    exact = -expm1(bits * log1p(-float(rate))) if rate < 1 else 1.0
    assert found == pytest.approx(exact, rel=1e-6, abs=1e-15)


@given(st.integers(0, 10**12), st.integers(1, 10**12))
def test_a_ratio_is_divided_out_to_sixty_bits(num: int, den: int) -> None:
    num = min(num, den)
    assert in_sixtieths(num, den) == (num << 60) // den


def test_its_parameters_are_those_of_the_page() -> None:
    assert BitErrors().most_added() == 0
    assert check_page("plugins.bit_errors") == 2
