"""Numbers and tables as people read them."""

from __future__ import annotations

import pytest

from orchestrator.terminal import format_output


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (33_400, "B", "33.4 KB"),
        (33_412.6, "bytes", "33.41 KB"),
        (150, "B", "150 B"),
        (0.25, "B", "0.25 B"),
        (949_999_999.0, "bit/s", "950 Mb/s"),
        (999_999_999.0, "bit/s", "1 Gb/s"),
        (0.2, "s", "200 ms"),
        (-0.0000005, "s", "-500 ns"),
        (0, "s", "0 s"),
        (0.99123, "ratio", "0.9912"),
        (4711, "count", "4711"),
        (None, "s", "-"),
    ],
)
def test_a_quantity_has_four_digits_and_a_prefix(value, unit, text):
    assert format_output.quantity(value, unit) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (30_000, 38_000, "30 KB to 38 KB"),
        (None, 38_000, "at most 38 KB"),
        (30_000, None, "at least 30 KB"),
        (None, None, "any"),
    ],
)
def test_a_band_is_said_in_words(low, high, text):
    assert format_output.band(low, high, "B") == text


def test_a_cell_is_text_and_never_markup(capsys):
    format_output.console().print(format_output.table(["name"], [["[red]x[/red]"], [3]]))
    printed = capsys.readouterr().out
    assert "[red]x[/red]" in printed
    assert "3" in printed
