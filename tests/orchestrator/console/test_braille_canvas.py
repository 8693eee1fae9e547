"""Lines as dots: joined, cut at the edges, over each other; moments found as they come."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.console.braille_canvas import BRAILLE, Canvas
from orchestrator.console.change_detection import Finder, finder_of
from tests.orchestrator.console.made import STEP, data


def dots(canvas: Canvas) -> np.ndarray:
    """bool[rows of dots, columns of dots] of what is shown."""
    bits = [[0, 3], [1, 4], [2, 5], [6, 7]]
    found = np.zeros((canvas.height * 4, canvas.width * 2), bool)
    for row, runs in enumerate(canvas.rows()):
        for column, sign in enumerate("".join(text for text, _ in runs)):
            code = ord(sign) - BRAILLE if ord(sign) >= BRAILLE else 0
            for y in range(4):
                for x in range(2):
                    found[4 * row + y, 2 * column + x] = code >> bits[y][x] & 1
    return found


def test_a_line_is_joined_and_has_both_its_ends() -> None:
    canvas = Canvas(4, 2)
    canvas.line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 3)
    shown = dots(canvas)
    assert shown[7, 0]
    assert shown[0, 7]
    assert shown.any(0).all(), "no gap"
    assert shown.sum() == 8
    assert {colour for runs in canvas.rows() for text, colour in runs if text.strip()} == {3}


@pytest.mark.parametrize("far", [1.0, 1e9])
def test_what_lies_outside_is_cut_where_it_leaves(far: float) -> None:
    canvas = Canvas(4, 2)
    canvas.line(np.array([-far, 1 + far]), np.array([0.5, 0.5]), 0)
    canvas.line(np.array([0.5, 0.5]), np.array([0.0, 2.0]), 1)
    canvas.line(np.array([1.5, 2.5]), np.array([0.1, 0.1]), 2)
    shown = dots(canvas)
    assert shown[4].all() or shown[3].all()
    assert shown[:, 4].any()
    assert 8 <= shown.sum() <= 16


@pytest.mark.parametrize(
    ("until", "shown"), [(0.2, "      set"), (0.6, "      set"), (0.8, " "), (-1.0, "      set")]
)
def test_a_text_stands_as_far_right_as_no_line_is_in_its_way(until: float, shown: str) -> None:
    canvas = Canvas(9, 1)
    canvas.line(np.array([0.0, until]), np.array([0.5, 0.5]), 0)
    assert canvas.words(0.5, "set", 8) == bool(shown.strip())
    text = "".join(text for text, _ in canvas.rows()[0])
    assert (
        "".join(" " if sign >= chr(BRAILLE) else sign for sign in text).rstrip() == shown.rstrip()
    )
    assert not canvas.words(0.5, "far too long", 8)
    assert not canvas.words(7.0, "set", 8)
    assert "".join(text for text, _ in canvas.rows()[0]) == text


def test_levels_lie_under_lines_and_letters_over_them() -> None:
    canvas = Canvas(5, 1)
    canvas.across(0.5, "-", 8)
    canvas.line(np.array([0.0, 0.3]), np.array([0.5, 0.5]), 0)
    canvas.sign(0.0, 0.5, "a", 1)
    canvas.upright(1.0, "│", 8)
    ((*left, right),) = canvas.rows()
    assert left[0] == ("a", 1)
    assert right[0].endswith("-│")
    assert all(len(text) for text, _ in [*left, right])


def test_moments_are_found_the_same_however_the_rows_come(catalog: object) -> None:
    whole = data(rows=180)
    every = finder_of(whole).moments
    parts = data(rows=0)
    for first in range(0, 180, 7):
        rows = slice(first, min(first + 7, 180))
        parts.add(whole.times[rows], whole.values[rows])
        finder_of(parts)
    assert sorted(finder_of(parts).moments, key=str) == sorted(every, key=str)
    assert len(every) > 5
    grown = Finder(whole)
    grown.look(whole)
    before = grown.with_announced(whole.moments)
    assert grown.with_announced(whole.moments) is before, "sorted once"
    assert [m.time_ps for m in before] == sorted(m.time_ps for m in before)
    whole.add(whole.times[-1:] + STEP, whole.values[-1:])
    grown.look(whole)
    assert grown.with_announced(whole.moments) is before, "nothing began"
