"""Braille canvas: lines as dots in terminal cells, two dots across and four down in each.

Whole arrays at a time, because a screen of 200x60 is drawn several times a second: a few
milliseconds for eight lines, whatever the number of samples.
"""

from __future__ import annotations

import numpy as np

ACROSS, DOWN = 2, 4
BRAILLE = 0x2800
BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]], np.uint32)
"""Unicode's numbering of the dots, row by row."""
PLAIN = -1
"""The colour of what has none of its own."""
BANDED = 100
"""More than any colour: what is added to it on the ground of a band."""
EVERY = 3
"""Of a line across, each of so many signs lies over the curves."""

Run = tuple[str, int]
"""Cells of one colour."""


class Canvas:
    """`width` x `height` cells. x and y are shares of it, y upwards; what lies outside is cut."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._dots = np.zeros((height * DOWN, width * ACROSS), bool)
        self._signs = np.zeros((height, width), np.uint32)
        """Characters under the dots."""
        self._over = np.zeros((height, width), np.uint32)
        """Characters over them."""
        self._bands = np.zeros(width, bool)
        self._colours = np.full((height, width), PLAIN, np.int16)

    def line(self, x: np.ndarray, y: np.ndarray, colour: int) -> None:
        """Join points, whose x do not fall."""
        columns, rows = self.width * ACROSS - 1, self.height * DOWN - 1
        first, last = max(float(x[0]), 0.0), min(float(x[-1]), 1.0)
        if first > last:
            return
        inside = x[(x > first) & (x < last)]
        across = np.concatenate([[first], inside, [last]])
        up = np.interp(across, x, y) if len(x) > 1 else np.full(len(across), float(y[0]))
        to_x, to_y = np.rint(across * columns), np.rint((1 - up) * rows)
        px, py = joined(to_x, to_y)
        seen = (py >= 0) & (py <= rows)
        px, py = px[seen], py[seen]
        self._dots[py, px] = True
        self._colours[py // DOWN, px // ACROSS] = colour

    def across(self, y: float, sign: str, colour: int) -> None:
        """A line of signs. Every third one lies over the dots, so that a curve that follows the
        line does not hide it. Call it when the lines are drawn.
        """
        row = self.row(y)
        if row is not None:
            free = ~self._dotted(row)
            self._signs[row, free] = ord(sign)
            self._over[row, ::EVERY] = ord(sign)
            free[::EVERY] = True
            self._colours[row, free] = colour

    def band(self, x0: float, x1: float, name: str, colour: int) -> None:
        """A stretch of time: other ground, its beginning, and its name where no line is in its way.

        Call it when the lines are drawn.
        """
        first, last = (min(max(round(x * self.width), 0), self.width) for x in (x0, x1))
        if first >= last:
            return
        self._bands[first:last] = True
        dots = self._dots[:, first * ACROSS : (first + 1) * ACROSS]
        free = ~dots.reshape(self.height, -1).any(1)
        self._signs[free, first] = ord("┊")
        self._colours[free, first] = colour
        text = name[: last - first - 1]
        place = slice(first + 1, first + 1 + len(text))
        for row in (0, self.height - 1):
            if not self._dotted(row)[place].any():
                self._signs[row, place] = [ord(sign) for sign in text]
                self._colours[row, place] = colour
                return

    def upright(self, x: float, sign: str, colour: int) -> None:
        """The same, from bottom to top, where there is nothing yet."""
        column = min(max(round(x * (self.width - 1)), 0), self.width - 1)
        dots = self._dots[:, column * ACROSS : (column + 1) * ACROSS]
        free = ~dots.reshape(self.height, -1).any(1)
        self._signs[free, column] = ord(sign)
        self._colours[free, column] = colour

    def sign(self, x: float, y: float, sign: str, colour: int) -> None:
        """Draw one character over everything else."""
        row = self.row(y)
        if row is None or not 0 <= x <= 1:
            return
        column = min(int(x * self.width), self.width - 1)
        self._over[row, column] = ord(sign)
        self._colours[row, column] = colour

    def words(self, y: float, text: str, colour: int) -> bool:
        """A text in a row, as far right as no line is in its way; False where there is no room.

        Call it when the lines are drawn.
        """
        row = self.row(y)
        if row is None:
            return False
        taken = np.concatenate([[0], np.cumsum(self._dotted(row))])
        free = np.flatnonzero(taken[len(text) :] == taken[: max(len(taken) - len(text), 0)])
        if len(free):
            place = slice(free[-1], free[-1] + len(text))
            self._over[row, place] = [ord(sign) for sign in text]
            self._colours[row, place] = colour
        return len(free) > 0

    def _dotted(self, row: int) -> np.ndarray:
        """Mask of a row's cells that have dots."""
        dots = self._dots[row * DOWN : (row + 1) * DOWN]
        return np.asarray(dots.any(0).reshape(self.width, ACROSS).any(1))

    def row(self, y: float) -> int | None:
        """The row of cells at a height; None outside."""
        dot = round((1 - y) * (self.height * DOWN - 1))
        return dot // DOWN if 0 <= dot < self.height * DOWN else None

    def rows(self) -> list[list[Run]]:
        """Every row from the top, as runs of one colour."""
        cells = self._dots.reshape(self.height, DOWN, self.width, ACROSS)
        packed = np.einsum("hdwa,da->hw", cells, BITS)
        under = np.where(self._signs > 0, self._signs, ord(" "))
        shown = np.where(packed > 0, BRAILLE + packed, under)
        shown = np.where(self._over > 0, self._over, shown).astype("<u4")
        colours = np.where(shown == ord(" "), PLAIN, self._colours)
        colours = np.where(self._bands, colours + BANDED, colours)
        return [_runs(shown[row], colours[row]) for row in range(self.height)]


def joined(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The dots (int64) of straight lines from point to point, both ends with them."""
    dx, dy = np.diff(x), np.diff(y)
    steps = np.maximum(np.maximum(np.abs(dx), np.abs(dy)), 1).astype(np.int64)
    of = np.repeat(np.arange(len(steps)), steps)
    share = (np.arange(len(of)) - np.repeat(np.cumsum(steps) - steps, steps)) / steps[of]
    px = np.append(np.rint(x[of] + share * dx[of]), x[-1])
    py = np.append(np.rint(y[of] + share * dy[of]), y[-1])
    return px.astype(np.int64), py.astype(np.int64)


def _runs(shown: np.ndarray, colours: np.ndarray) -> list[Run]:
    text = shown.tobytes().decode("utf-32-le")
    ends = [*(np.flatnonzero(np.diff(colours)) + 1).tolist(), len(text)]
    begins = [0, *ends[:-1]]
    return [(text[a:b], int(colours[a])) for a, b in zip(begins, ends, strict=True)]
