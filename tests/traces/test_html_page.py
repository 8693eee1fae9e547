"""Cells of a report's tables."""

from __future__ import annotations

import pytest

from orchestrator.terminal import format_output
from traces import html_page


def cells(*values: html_page.Cell) -> str:
    return html_page.table([""] * len(values), [list(values)])


@pytest.mark.parametrize("unit", ["B", "", "<&"])
def test_numbers_that_are_equal_and_read_differently(unit: str) -> None:
    """1 and 1.0 are one key of a cache, and two cells."""
    told = unit.replace("&", "&amp;").replace("<", "&lt;")
    for value in (1, 1.0, True, 0, 0.0, 1e-300, -3.5e9):
        exact = f'title="{f"{value!r} {told}".rstrip()}">{format_output.quantity(value, unit)}<'
        assert exact in cells(html_page.Number(value, unit)), value
    assert cells(html_page.Number(None, unit)).count("–") == 1
    html_page._number.cache_clear()  # it is the first to come
    assert 'title="0.0' in cells(html_page.Number(-0.0, unit), html_page.Number(0.0, unit))
    assert "-0" not in cells(html_page.Number(-0.0, unit))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999.949e6, "999.9 Mb/s"), (999.96e6, "1 Gb/s"), (2, "2 b/s"), (3e-7, "300 nb/s"),
        (4e-12, "0.004 nb/s"), (-5e3, "-5 kb/s"), (7.5e12, "7500 Gb/s"), (0, "0 b/s"),
    ],
)  # fmt: skip
def test_prefixes(value: float, text: str) -> None:
    assert format_output.quantity(value, "bit/s") == text
