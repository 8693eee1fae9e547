"""Units: exact both ways, and every refusal says what would be accepted."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plan.units import (
    DURATION,
    LIMIT,
    RATE,
    SIZE,
    Quantity,
    UnitError,
    format_duration,
    format_ratio,
    format_size,
    parse_duration,
    parse_rate,
    parse_ratio,
    parse_size,
)

QUANTITIES = st.sampled_from([SIZE, DURATION, RATE])


@pytest.mark.parametrize(
    ("quantity", "text", "value"),
    [
        (SIZE, "33KB", 33_000),
        (SIZE, "0.3KB", 300),
        (SIZE, "1.5 MB", 1_500_000),
        (SIZE, "4KiB", 4096),
        (SIZE, "0.5KiB", 512),
        (SIZE, "26_000B", 26_000),
        (SIZE, "0", 0),
        (DURATION, "500us", 500_000_000),
        (DURATION, "500µs", 500_000_000),
        (DURATION, "500\u03bcs", 500_000_000),
        (DURATION, "12.75us", 12_750_000),
        (DURATION, "1.5min", 90 * 10**12),
        (DURATION, "3ps", 3),
        (RATE, "0.95Gb/s", 950_000_000),
        (RATE, "400Mbps", 400_000_000),
        (RATE, "10Gbit/s", 10**10),
        (RATE, "7b/s", 7),
    ],
)
def test_reads(quantity: Quantity, text: str, value: int) -> None:
    assert quantity.parse(text) == value


@pytest.mark.parametrize(
    ("quantity", "value", "text"),
    [
        (SIZE, 33_000, "33KB"),
        (SIZE, 26_000, "26KB"),
        (SIZE, 1_500, "1500B"),
        (SIZE, 0, "0B"),
        (SIZE, -1_500, "-1500B"),
        (DURATION, 0, "0s"),
        (DURATION, 500_000_000, "500us"),
        (DURATION, 12 * 10**12, "12s"),
        (DURATION, 6_700_000_000_000, "6.7s"),
        (RATE, 950_000_000, "950Mb/s"),
        (RATE, 0, "0b/s"),
        (RATE, 10**12, "1Tb/s"),
    ],
)
def test_writes_the_shortest_exact_text(quantity: Quantity, value: int, text: str) -> None:
    assert quantity.format(value) == text


@pytest.mark.parametrize(
    ("quantity", "value", "words"),
    [
        (DURATION, "1.5ps", "nothing is rounded; nearest: 1ps or 2ps"),
        (SIZE, "0.3B", "nothing is rounded; nearest: 0B or 1B"),
        (SIZE, 33_000, "'33KB'"),
        (SIZE, "33", "the unit is missing"),
        (SIZE, "33Kb", "8 Kb is '1KB'"),
        (RATE, "1GB/s", "1 GB/s is '8Gb/s'"),
        (RATE, "1gb/s", "did you mean Gb/s?"),
        (DURATION, "5 sec", "did you mean s?"),
        (RATE, "-1b/s", "not negative"),
        (SIZE, "9" * 30 + "B", "below 2^62"),
        (SIZE, True, "'33KB'"),
        (SIZE, 0.0, "'33KB'"),
        (SIZE, "1e3B", "is no unit"),
        (SIZE, "", "'33KB'"),
        (SIZE, "1" * 5000 + "B", "'33KB'"),
        (SIZE, "\u0663KB", "'33KB'"),
    ],
)
def test_refuses_and_says_why(quantity: Quantity, value: object, words: str) -> None:
    with pytest.raises(UnitError) as caught:
        quantity.parse(value)
    assert words in str(caught.value)


def test_a_program_may_hand_over_base_units() -> None:
    assert SIZE.parse(33_000, bare=True) == 33_000
    with pytest.raises(UnitError):
        SIZE.parse(33_000.0, bare=True)


@given(QUANTITIES, st.integers(0, LIMIT - 1))
def test_every_value_survives_its_text(quantity: Quantity, value: int) -> None:
    assert quantity.parse(quantity.format(value)) == value


@given(st.decimals(0, 10**6, places=4, allow_nan=False))
def test_decimals_are_exact_or_refused(number: object) -> None:
    exact = Fraction(str(number)) * 1000
    if exact.denominator == 1:
        assert parse_size(f"{number}KB") == exact
    else:
        with pytest.raises(UnitError, match="nothing is rounded"):
            parse_size(f"{number}KB")


@given(QUANTITIES, st.one_of(st.text(), st.from_regex(r"-?[0-9._]+ ?[a-zA-Zµ/]{0,4}"), st.floats()))
def test_garbage_is_a_unit_error(quantity: Quantity, value: object) -> None:
    with suppress(UnitError):
        assert 0 <= quantity.parse(value) < LIMIT


@pytest.mark.parametrize(
    ("value", "ratio"),
    [
        ("1/128", Fraction(1, 128)),
        ("0.5", Fraction(1, 2)),
        (0.15, Fraction(3, 20)),
        ("15%", Fraction(3, 20)),
        (2, Fraction(2)),
        (1e-7, Fraction(1, 10**7)),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_ratios(value: object, ratio: Fraction) -> None:
    assert parse_ratio(value) == ratio


def test_ratios_are_written_short() -> None:
    texts = [format_ratio(Fraction(text)) for text in ("1/128", "1/2", "1/3", "17/20", "3", "0")]
    assert texts == ["1/128", "0.5", "1/3", "0.85", "3", "0"]


@given(st.fractions(0, 10**6, max_denominator=10**9))
def test_every_ratio_survives_its_text(ratio: Fraction) -> None:
    assert parse_ratio(format_ratio(ratio)) == ratio


@given(st.one_of(st.text(), st.floats(), st.none(), st.booleans(), st.from_regex(r"[0-9]+/[0-9]+")))
def test_no_other_error_from_a_ratio(value: object) -> None:
    with suppress(UnitError):
        assert parse_ratio(value) >= 0


def test_named_functions() -> None:
    assert (parse_size("1KB"), parse_duration("1ns"), parse_rate("1kb/s")) == (1000, 1000, 1000)
    assert (format_size(1000), format_duration(1000)) == ("1KB", "1ns")
