"""Plots: one scale side by side, a spike that is cut and said, levels and phases that are seen."""

from __future__ import annotations

import numpy as np
import pytest
from textual.geometry import Size

from orchestrator.console.braille_canvas import BANDED, BRAILLE
from orchestrator.console.time_plot import Content, Line, alike, drawn

SPAN = (0, 10**12)
SIZE = Size(80, 24)
TIMES = np.linspace(0, 10**12, 400).astype(np.int64)


def rates(*series: np.ndarray, robust: bool = True) -> Content:
    lines = [Line(f"rp{n}", TIMES, values) for n, values in enumerate(series)]
    return Content("current rate", "bit/s", SPAN, lines, robust=robust)


def rows(content: Content) -> list[str]:
    return ["".join(text for text, _ in row) for row in drawn(content, SIZE)]


def highest(content: Content) -> int:
    """Rows from the time axis up to the highest dot of what comes after the first tenth."""
    shown = [row[16:] for row in rows(content)[1:-2]]
    dotted = [n for n, row in enumerate(shown) if any(ord(sign) >= BRAILLE for sign in row)]
    return len(shown) - dotted[0]


def spiky(peak: float) -> np.ndarray:
    """A rate about 0.5 Gb/s that begins with a spike."""
    values = 5e8 + 5e7 * np.sin(np.arange(400) / 20)
    values[:8] = peak
    return values


@pytest.mark.parametrize("peak", [5e9, 1e10, 4e11])
def test_a_first_spike_does_not_squash_the_rest_and_is_said(peak: float) -> None:
    squashed, content = rates(spiky(peak), robust=False), rates(spiky(peak))
    assert highest(squashed) <= 4
    assert highest(content) >= 12
    title, *shown = rows(content)
    assert f"up to {peak / 1e9:g} Gb/s at 0 s" in title
    assert shown[0][7] == "▲"
    assert "Mb/s" in title[:6], "the unit stands above its numbers"


def test_without_a_spike_everything_is_in_the_plot() -> None:
    content = rates(spiky(6e8), np.full(400, 9e8))
    assert content.top == 9e8
    assert "▲" not in "".join(rows(content))


def test_one_line_that_is_higher_than_the_others_is_no_spike() -> None:
    content = rates(*[np.full(400, 1e8)] * 30, np.full(400, 9e9))
    assert content.top == 9e9


def test_side_by_side_there_is_one_scale() -> None:
    small, large = rates(np.full(400, 1e8)), rates(np.full(400, 8e8))
    assert highest(small) == highest(large), "each by itself"
    left, right = alike([small, large])
    assert 4 * highest(left) < highest(right)
    ticks = [[row[:6] for row in rows(content)] for content in (left, right)]
    assert ticks[0] == ticks[1]
    assert alike([]) == []


@pytest.mark.parametrize("off", [0.0, 0.2, 3.0])
def test_a_set_point_is_seen_beneath_a_queue_that_stays_at_it(off: float) -> None:
    queue = 33_000 + 1000 * off * np.sin(np.arange(400))
    lines = [Line("switch.sink", TIMES, queue)]
    content = Content("queue", "B", SPAN, lines, [("set point", 33_000.0), ("high", 60_000.0)])
    level = next(row[7:] for row in rows(content)[1:] if "-" in row[7:] and "60" not in row)
    seen = [place for place, sign in enumerate(level) if sign == "-"]
    assert seen[0] < 3
    assert max(np.diff([*seen, len(level)])) <= 3, "along its whole length"
    if off < 1:
        assert sum(ord(sign) >= BRAILLE for sign in level) > len(level) / 2, "and the queue too"
    assert "set point 33 KB" in "".join(rows(content))


def test_phases_are_bands_with_names() -> None:
    content = rates(np.full(400, 1e8))
    names = [("early", 0, 3 * 10**11), ("late", 5 * 10**11, 2 * 10**12), ("past", -9, -5)]
    banded = Content(**{**vars(content), "bands": names, "least": 2e8})
    shown = drawn(banded, SIZE)[1:-2]
    text = "".join(sign for sign, _ in shown[0])
    assert text[8:13] == "early"
    assert text.index("late") == 7 + 36 + 1
    assert "past" not in text
    cells = [colour >= BANDED - 1 for sign, colour in shown[5] for _ in sign][7:]
    assert [sum(cells[:22]), sum(cells[22:36]), sum(cells[36:])] == [22, 0, len(cells) - 36]


def test_the_name_of_a_phase_goes_to_where_no_line_is() -> None:
    banded = Content(**{**vars(rates(np.full(400, 1e8))), "bands": [("all", 0, 10**12)]})
    shown = ["".join(sign for sign, _ in row) for row in drawn(banded, Size(80, 10))[1:-2]]
    assert any(ord(sign) >= BRAILLE for sign in shown[0])
    assert [n for n, row in enumerate(shown) if "all" in row] == [len(shown) - 1]
