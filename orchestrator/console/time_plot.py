"""Time plot for the terminal: lines, levels, a cursor, and axes with round numbers.

It is drawn when its lines are asked for, once per change: what is hidden costs nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from orchestrator.console.braille_canvas import ACROSS, BANDED, PLAIN, Canvas
from orchestrator.terminal.format_output import PREFIXES, UNITS, quantity

LETTERS = "abcdefghijklmnop"
COLOURS = (
    *("#2aa5bd", "#d98324", "#44a850", "#b65fc4"),
    *("#a89a1e", "#d24f4f", "#5686e8", "#909090"),
    "#8a8a8a",
)
ON_LIGHT = (
    *("#0a7285", "#9c5300", "#1e7a2c", "#8a2fa0"),
    *("#6e6400", "#b02525", "#2554c0", "#555555"),
    "#666666",
)
"""The same on light ground, where they are as far from it."""
FAINT = len(COLOURS) - 1
"""The colour of levels and of the mark; those before it are of lines."""


def styles_of(colours: Sequence[str], band: str) -> dict[int, Style]:
    """Styles of the numbers of a canvas; `band` is the background of a band."""
    numbered = {number: Style(color=colour) for number, colour in enumerate(colours)}
    styles = {PLAIN: Style.null()} | numbered
    ground = Style(bgcolor=band)
    return styles | {number + BANDED: style + ground for number, style in styles.items()}


DARK, LIGHT = styles_of(COLOURS, "#1d2329"), styles_of(ON_LIGHT, "#e4e9ee")
GUTTER = 6
"""Columns for the numbers of the upright axis."""
LETTERS_EACH = 4
PER_CELL = 2 * ACROSS
"""Points that a column of the terminal can show: the least and the greatest of each of its dots."""
USUAL, SPIKE = 0.95, 2.0
"""A plot that is `robust` leaves out what rises above SPIKE times what USUAL of the points are
below."""


@dataclass(frozen=True)
class Line:
    """A series: times in ps, values in the plot's unit."""

    name: str
    times_ps: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Content:
    """Content of a plot. `levels` are drawn across; the axis reaches at least to `least`.

    `robust`: a short spike does not squash the rest; it is cut, and said in the title. `bands` are
    named stretches of time (phases): begin and end in ps.
    """

    title: str
    unit: str
    span: tuple[int, int]
    lines: Sequence[Line]
    levels: Sequence[tuple[str, float]] = ()
    mark_ps: int | None = None
    least: float = 0.0
    robust: bool = False
    bands: Sequence[tuple[str, int, int]] = ()

    @functools.cached_property
    def top(self) -> float:
        """The greatest value that the axis has to reach."""
        tops = [_top(line.values, self.robust) for line in self.lines if len(line.values)]
        return max([*tops, *(value for _, value in self.levels), self.least, 1e-9])


def _top(values: np.ndarray, robust: bool) -> float:
    """The greatest value, or the greatest usual one where a few points are far above it."""
    most = float(values.max())
    if robust:
        usual = float(np.quantile(values, USUAL))
        if most > SPIKE * usual > 0:
            return usual * SPIKE**0.5
    return most


def alike(contents: Sequence[Content]) -> list[Content]:
    """The same plots with one scale, so that what stands side by side can be compared."""
    top = max((content.top for content in contents), default=0.0)
    return [replace(content, least=top) for content in contents]


def thin(x: np.ndarray, y: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most about `most` points that keep every peak: least and greatest of each stretch."""
    if len(x) <= most or most < 4:
        return x, y
    step = -(-len(x) // (most // 2))
    whole = len(x) // step * step
    parts = y[:whole].reshape(-1, step)
    rows = np.arange(len(parts)) * step
    ends = [rows + parts.argmin(1), rows + parts.argmax(1), np.array([len(x) - 1])]
    picked = np.unique(np.concatenate(ends))
    return x[picked], y[picked]


def scale(most: float, unit: str) -> tuple[float, str]:
    """(factor, text): what values are divided by so that the axis has short numbers."""
    if unit not in UNITS or not most:
        return 1.0, "" if unit in ("1", "ratio") else unit
    factor, prefix = next(((f, p) for f, p in PREFIXES if most >= f), PREFIXES[-1])
    if unit == "B":
        factor, prefix = (factor, "K" if prefix == "k" else prefix) if factor >= 1 else (1.0, "")
    return factor, prefix + UNITS[unit]


class TimePlot(Widget):
    """See the module."""

    DEFAULT_CSS = "TimePlot { height: 1fr; min-height: 5; }"

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self.content: Content | None = None
        self._strips: list[Strip] = []
        self._of: tuple[Content | None, Size, Style] = (None, Size(), Style.null())

    def show(self, content: Content) -> None:
        """Show this from now on."""
        self.content = content
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the screen."""
        of = (self.content, self.size, self.rich_style)
        if of != self._of:
            self._of = of
            of_theme = DARK if self.app.current_theme.dark else LIGHT
            styles = {colour: of[2] + style for colour, style in of_theme.items()}
            rows = drawn(self.content, self.size) if self.content else []
            self._strips = [
                Strip([Segment(text, styles[colour]) for text, colour in row]) for row in rows
            ]
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """A row of the screen."""
        if y < len(self._strips):
            return self._strips[y]
        return Strip.blank(self.size.width, self._of[2])


def drawn(content: Content, size: Size) -> list[list[tuple[str, int]]]:
    """The rows of a plot of this size: title, names of the lines, lines, time axis."""
    several = len(content.lines) > 1
    width, height = size.width - GUTTER - 1, size.height - 3 - several
    if width < 10 or height < 1:
        return []
    factor, unit = scale(content.top, content.unit)
    reach = content.top * 1.05
    canvas = Canvas(width, height)
    first, last = content.span
    for number, line in enumerate(content.lines):
        if len(line.times_ps):
            x, y = thin((line.times_ps - first) / (last - first), line.values, PER_CELL * width)
            canvas.line(x, y / reach, number % FAINT)
    for name, begin, end in content.bands:
        canvas.band((begin - first) / (last - first), (end - first) / (last - first), name, FAINT)
    if content.mark_ps is not None:
        canvas.upright((content.mark_ps - first) / (last - first), "│", FAINT)
    notes = [_peak(content, canvas, reach)]
    for _, value in content.levels:
        canvas.across(value / reach, "-", FAINT)
    for label, value in content.levels:
        name = f"{label} {value / factor:.4g} {unit}"
        if not canvas.words(value / reach, f" {name} ", FAINT):
            notes.append(f"- {name}")
    if several:
        _letter(canvas, content, reach)
    labels = dict.fromkeys(range(height), "")
    for tick in nice(content.top / factor, max(height // 4, 2)):
        if (row := canvas.row(tick * factor / reach)) is not None:
            labels[row] = f"{tick:g}"
    rows = [[(_title(content, unit, [text for text in notes if text], size.width), PLAIN)]]
    if several:
        rows.append(_names(content, size.width))
    for row, runs in enumerate(canvas.rows()):
        axis = "┤" if labels[row] else "│"
        rows.append([(labels[row].rjust(GUTTER)[-GUTTER:] + axis, PLAIN), *runs])
    return rows + [[(text, PLAIN)] for text in _times(content.span, width)]


def _peak(content: Content, canvas: Canvas, reach: float) -> str:
    """Mark where lines leave the plot, and say how high they go; nothing when all is in it."""
    first, last = content.span
    peak, at_ps = 0.0, 0
    for number, line in enumerate(content.lines):
        seen = (line.times_ps >= first) & (line.times_ps <= last)
        for row in np.flatnonzero(seen & (line.values > reach)):
            canvas.sign((line.times_ps[row] - first) / (last - first), 1.0, "▲", number % FAINT)
            if line.values[row] > peak:
                peak, at_ps = float(line.values[row]), int(line.times_ps[row])
    return f"▲ up to {quantity(peak, content.unit)} at {at_ps / 1e12:.4g} s" if peak else ""


def _title(content: Content, unit: str, notes: Sequence[str], width: int) -> str:
    """The unit above its numbers; as much of the title and of the notes as there is room for."""
    short = content.title.partition(":")[0]
    titles = ["  ".join([title, *notes]) for title in (content.title, short)] + [content.title]
    room = width - GUTTER - 1
    title = next((t for t in titles if len(t) < room), short[:room])
    return f"{unit[:GUTTER].rjust(GUTTER)} {title.center(room)}"


def _names(content: Content, width: int) -> list[tuple[str, int]]:
    """Legend: the letter of each line."""
    runs, left = [(" " * (GUTTER + 1), PLAIN)], width - GUTTER - 1
    for number, line in enumerate(content.lines):
        text = f"{LETTERS[number % len(LETTERS)]} {line.name}  "
        if len(text) > left:
            break
        runs.append((text, number % FAINT))
        left -= len(text)
    return [*runs, (" " * left, PLAIN)]


def _letter(canvas: Canvas, content: Content, reach: float) -> None:
    """Write a line's letter on it at a few places, other ones than its neighbours'."""
    first, last = content.span
    for number, line in enumerate(content.lines):
        seen = np.flatnonzero((line.times_ps >= first) & (line.times_ps <= last))
        if not len(seen):
            continue
        shares = (np.arange(LETTERS_EACH) + (number + 0.5) / len(content.lines)) / LETTERS_EACH
        for row in seen[np.unique((shares * len(seen)).astype(int).clip(0, len(seen) - 1))]:
            x = float(line.times_ps[row] - first) / (last - first)
            y = float(line.values[row]) / reach
            canvas.sign(x, y, LETTERS[number % len(LETTERS)], number % FAINT)


def _times(span: tuple[int, int], width: int) -> tuple[str, str]:
    """The time axis and its numbers, in seconds."""
    first, last = span[0] / 1e12, span[1] / 1e12
    steps = nice(last - first, max(width // 12, 2))
    step = steps[1] if len(steps) > 1 else last - first
    line, numbers = ["─"] * width, [" "] * width
    free = 0
    for k in range(int(np.ceil(first / step)), int(last / step + 1e-9) + 1):
        at = min(int((k * step - first) / (last - first) * width), width - 1)
        text = f"{k * step:.9g}"
        begin = min(max(at - len(text) // 2, 0), width - len(text))
        line[at] = "┬"
        if begin >= free:
            numbers[begin : begin + len(text)] = text
            free = begin + len(text) + 1
    return " " * GUTTER + "└" + "".join(line), "t (s)".rjust(GUTTER) + " " + "".join(numbers)


def nice(top: float, most: int) -> list[float]:
    """At most about `most` round numbers from 0 to `top`."""
    step = 10.0 ** np.floor(np.log10(max(top, 1e-9)))
    steps = [step * share for share in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)]
    chosen = next((s for s in steps if top / s <= most), steps[-1])
    return [round(float(chosen * k), 10) for k in range(int(top / chosen * 1.0001) + 1)]
