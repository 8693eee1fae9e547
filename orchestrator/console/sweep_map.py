"""Map of a sweep for the terminal: the results over two of its axes, in rows of pieces.

What a place came to is written in its cell where there is room, and a bar or block below tells it
at a glance. Where the sweep looks for an edge, ▲ is a place above it, ? one whose interval holds
it. All of it can be read without colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from orchestrator.console.sweep_data import Axis, Number, SweepData, SweepPoint, Value
from orchestrator.console.text_format import bar
from orchestrator.terminal.format_output import quantity

Piece = tuple[str, str]
"""Text and style."""
Rows = list[list[Piece]]
LEVELS = "▁▂▃▄▅▆▇█"
HEAT = ("blue", "cyan", "green", "yellow", "red")
ABOVE, UNSURE, BELOW = "▲", "?", " "
SIDES = {ABOVE: "red", UNSURE: "yellow", BELOW: "green"}
WAITS, REFUSED = "·", "×"
MOST_GUTTER, MOST_CELL, TALLEST = 14, 20, 3
SPARE = 4
"""Rows that are no cells: title, labels, the names of the axes, the legend."""


@dataclass(frozen=True)
class Look:
    """Selection of the map: a column, two axes, and the value of each other axis."""

    column: int = 0
    turn: int = 0
    cut: int = 0

    def axes(self, count: int) -> tuple[int, int]:
        """The axis across and the one upwards."""
        pairs = [(x, y) for x in range(count) for y in range(x + 1, count)]
        return pairs[self.turn % len(pairs)]


def cuts(data: SweepData, look: Look) -> list[dict[int, Value]]:
    """Of a grid: the combinations of values that the axes have which are not drawn."""
    shown = look.axes(len(data.axes))
    found: list[dict[int, Value]] = [{}]
    for at, axis in enumerate(data.axes):
        if at not in shown and data.is_grid:
            found = [{**cut, at: value} for cut in found for value in axis.values]
    return found


@dataclass
class Grid:
    """Cells of the map: the means of their points."""

    x: Axis
    y: Axis
    columns: int
    rows: int
    means: dict[tuple[int, int], list[Number]]
    refused: set[tuple[int, int]]


def gather(data: SweepData, look: Look, room: tuple[int, int]) -> Grid:
    """The cells, at most `room` of them across and up."""
    x, y = look.axes(len(data.axes))
    across, up = data.axes[x], data.axes[y]
    every = cuts(data, look)
    cut = every[look.cut % len(every)]
    columns, rows = across.slots(room[0], data.planned), up.slots(room[1], data.planned)
    grid = Grid(across, up, columns, rows, {}, set())

    def cell(values: tuple[Value, ...]) -> tuple[int, int] | None:
        if any(values[at] != value for at, value in cut.items()):
            return None
        return across.slot(values[x], columns), up.slot(values[y], rows)

    for place in data.places.values():
        if (where := cell(place.values)) is not None and (number := _number(data, place, look)):
            grid.means.setdefault(where, []).append(number)
    for values, _ in data.refused.values():
        if (where := cell(values)) is not None:
            grid.refused.add(where)
    return grid


def _number(data: SweepData, place: SweepPoint, look: Look) -> Number | None:
    return data.number(place, column_of(data, look)) if data.units else None


def column_of(data: SweepData, look: Look) -> str:
    """The column that is drawn; nothing before the first point is done."""
    return data.columns[look.column % len(data.columns)] if data.units else ""


def title(data: SweepData, look: Look) -> str:
    """Title of the map: the column, and the values of the other axes."""
    text = column_of(data, look) or "nothing is measured yet"
    if len(data.axes) < 2:
        return text
    every = cuts(data, look)
    cut = every[look.cut % len(every)]
    legend = [f"{data.axes[at].key} = {data.axes[at].text(value)}" for at, value in cut.items()]
    if not data.is_grid and len(data.axes) > 2:
        legend = ["over all values of the other parameters"]
    return "   ".join([text, *legend])


def drawn_map(data: SweepData, look: Look, width: int, height: int) -> Rows:
    """The rows of a map of this size."""
    gutter = _gutter(data, look, max(height - SPARE, 1))
    most = max((width - gutter - 1) // 2, 1), max(height - SPARE, 1)
    grid = gather(data, look, most)
    each = min((width - gutter - 1) // grid.columns, MOST_CELL)
    tall = min(max((height - SPARE) // grid.rows, 1), TALLEST)
    unit = data.units.get(column_of(data, look), "")
    means = {where: _cell_mean(numbers) for where, numbers in grid.means.items()}
    values = [mean for mean, _ in means.values()]
    low, high = min(values, default=0.0), max(values, default=1.0)
    edge = data.edge if look_at_edge(data, look) else None
    full = bool(grid.x.values and grid.y.values)
    painter = Painter(edge, unit, low, high, each, tall, full)
    painter.fit(values)
    rows: Rows = [[(title(data, look)[:width], "bold")]]
    for row in reversed(range(grid.rows)):
        label = grid.y.text(grid.y.middle(row, grid.rows), 3)[: gutter - 1]
        lines: list[list[Piece]] = [[(label.rjust(gutter) + "┤", "")]]
        lines += [[(" " * gutter + "│", "")] for _ in range(tall - 1)]
        for column in range(grid.columns):
            where = (column, row)
            cell = painter.cell(means.get(where), where in grid.refused)
            for line, piece in zip(lines, cell, strict=True):
                line.append(piece)
        rows += lines
    rows.append([(_labels(grid, gutter, each), "")])
    names = f"{' ' * gutter} {grid.x.key} →   ↑ {grid.y.key}"
    return [*rows, [(names[:width], "bold")], [(painter.legend()[:width], "")]]


def look_at_edge(data: SweepData, look: Look) -> bool:
    """Return whether the selected column is that of the edge: the first one."""
    return data.edge is not None and bool(data.units) and look.column % len(data.units) == 0


@dataclass
class Painter:
    """Cells of `each` columns and `tall` rows of the terminal, for values from low to high."""

    edge: float | None
    unit: str
    low: float
    high: float
    each: int
    tall: int
    full: bool
    """Every cell has a place: one without a number waits for it."""
    written: bool = False

    def fit(self, values: Sequence[float]) -> None:
        """Write numbers where all have room, with a blank beside each."""
        widest = max((len(quantity(value, self.unit)) for value in values), default=1)
        self.written = self.each >= widest + 2 + (self.edge is not None)

    def cell(self, number: Number | None, refused: bool) -> list[Piece]:
        """The lines of one cell."""
        if number is None:
            sign = REFUSED if refused else WAITS if self.full else " "
            rest = [(" " * self.each, "")] * (self.tall - 1)
            return [(sign.center(self.each), "red" if refused else "dim"), *rest]
        share = (number[0] - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        side = self._side(number)
        style = HEAT[min(int(share * len(HEAT)), len(HEAT) - 1)] if side is None else SIDES[side]
        if not self.written:
            level = LEVELS[min(int(share * len(LEVELS)), len(LEVELS) - 1)]
            block = level * max(self.each - 1, 1)
            return [((block + (side or ""))[: self.each].ljust(self.each), style)] * self.tall
        text = quantity(number[0], self.unit) + (f" {side}" if side is not None else "")
        below = (f" {bar(share, self.each - 2)} ", style)
        return [(text.center(self.each), style), *[below] * (self.tall - 1)]

    def _side(self, number: Number) -> str | None:
        if self.edge is None:
            return None
        mean, half = number
        if half is not None and abs(mean - self.edge) <= half:
            return UNSURE
        return ABOVE if mean > self.edge else BELOW

    def legend(self) -> str:
        """Meaning of the signs."""
        ends = [quantity(value, self.unit) for value in (self.low, self.high)]
        legend = [f"{LEVELS[0]} {ends[0]} … {LEVELS[-1]} {ends[1]}"]
        legend += [f"{WAITS} not yet"] if self.full else []
        legend.append(f"{REFUSED} no plan")
        if self.edge is not None:
            legend.append(f"{ABOVE} above {quantity(self.edge, self.unit)}   {UNSURE} may be")
        return " " + "   ".join(legend)


def _cell_mean(numbers: Sequence[Number]) -> Number:
    """Of all places in a cell: their mean; an interval only of one place."""
    if len(numbers) == 1:
        return numbers[0]
    return sum(mean for mean, _ in numbers) / len(numbers), None


def _gutter(data: SweepData, look: Look, rows: int) -> int:
    axis = data.axes[look.axes(len(data.axes))[1]]
    count = axis.slots(rows, data.planned)
    texts = [axis.text(axis.middle(row, count), 3) for row in range(count)]
    return min(max(map(cell_len, texts)) + 1, MOST_GUTTER)


def _labels(grid: Grid, gutter: int, each: int) -> str:
    """Values below the columns, as many as there is room for."""
    line = " " * (gutter + 1)
    for column in range(grid.columns):
        text = grid.x.text(grid.x.middle(column, grid.columns), 3)
        start = gutter + 1 + column * each + max((each - len(text)) // 2, 0)
        if start > len(line) + 1 or column == 0:
            line = line.ljust(start) + text
    return line[: gutter + 1 + max(grid.columns * each, MOST_CELL)]
