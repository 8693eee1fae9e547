"""Numbers, bars and states as the console writes them."""

from __future__ import annotations

import pytest

from orchestrator.console.text_format import (
    COLOURS,
    MARKS,
    STAGES,
    VERDICTS,
    amount,
    bar,
    load_colour,
    percent,
    seconds,
)

US, MS, S = 10**6, 10**9, 10**12


@pytest.mark.parametrize(
    ("ps", "text"),
    [
        (0, "0.0 µs"),
        (1_500_000, "1.5 µs"),
        (MS - 1, "1000.0 µs"),
        (1 - MS, "-1000.0 µs"),
        (MS, "0.001 s"),
        (-MS, "-0.001 s"),
        (1_234_000 * US, "1.234 s"),
        (1000 * S - 10 * MS, "999.990 s"),
        (1000 * S, "1000.0 s"),
        (-2000 * S, "-2000.0 s"),
    ],
)
def test_times_are_finer_when_they_are_short(ps: int, text: str) -> None:
    assert seconds(ps) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "B", "–"),
        (None, "1", "–"),
        (0.123456, "ratio", "0.1235"),
        (1234.5678, "1", "1,235"),
        (1234567, "", "1,234,567"),
        (1500.0, "B", "1.5 KB"),
        (0.0025, "s", "2.5 ms"),
    ],
)
def test_amounts_have_their_unit(value: float | None, unit: str, text: str) -> None:
    assert amount(value, unit) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "    "),
        (-1.0, "    "),
        (1.0, "████"),
        (7.0, "████"),
        (0.5, "██  "),
        (1 / 32, "▏   "),
        (9 / 32, "█▏  "),
        (31 / 32, "███▉"),
        (15 / 32, "█▉  "),
    ],
)
def test_a_bar_is_filled_by_eighths_of_a_cell(share: float, text: str) -> None:
    assert bar(share, 4) == text


def test_shares_are_rounded_to_percents() -> None:
    assert [percent(share) for share in (None, 0.0, 0.624, 0.626, 1.0)] == [
        "–",
        "0 %",
        "62 %",
        "63 %",
        "100 %",
    ]


@pytest.mark.parametrize(
    ("share", "colour"),
    [
        (None, "dim"),
        (0.0, "dim"),
        (0.0099, "dim"),
        (0.01, "green"),
        (0.699, "green"),
        (0.7, "yellow"),
        (0.949, "yellow"),
        (0.95, "red"),
        (2.0, "red"),
    ],
)
def test_the_colour_of_a_link_is_that_of_its_load(share: float | None, colour: str) -> None:
    assert load_colour(share) == colour


def test_every_state_has_a_sign_that_tells_it_without_colour() -> None:
    """The word itself stands behind a sign; good and bad differ in it."""
    for states in (VERDICTS, STAGES):
        for state, text in states.items():
            sign, _, word = text.partition(" ")
            assert (word, len(sign)) == (state, 1)
    signs = {state: text[0] for state, text in (VERDICTS | STAGES).items()}
    for state, colour in COLOURS.items():
        assert (signs[state] in "✗!") == (colour == "red"), state
    assert MARKS == {True: "✓ met", False: "✗ MISSED", None: "… waits"}
