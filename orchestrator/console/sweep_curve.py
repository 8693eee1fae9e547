"""Curve of a one-parameter sweep: the mean at each point, with its confidence interval."""

from __future__ import annotations

from typing import Any

import numpy as np

from orchestrator.console.braille_canvas import PLAIN, Canvas
from orchestrator.console.sweep_data import Number, SweepData, Value
from orchestrator.console.sweep_map import REFUSED, Look, Rows, column_of, look_at_edge, title
from orchestrator.console.time_plot import GUTTER, nice, scale

LINE, BAND, EDGE, WRONG = range(4)
STYLES = {PLAIN: "", LINE: "cyan", BAND: "blue", EDGE: "yellow", WRONG: "red"}
STEEP = 1e-9
"""Points of an upright line lie so far apart: its x do not fall."""


def drawn_curve(data: SweepData, look: Look, width: int, height: int) -> Rows:
    """The rows of a curve of this size."""
    axis, column = data.axes[0], column_of(data, look)
    across, up = width - GUTTER - 2, max(height - 4, 1)
    known = _measured_points(data, column)
    edge = data.edge if look_at_edge(data, look) else None
    tops = [mean + (half or 0.0) for _, (mean, half) in known]
    top = max([*tops, edge or 0.0, 1e-12])
    factor, unit = scale(top, data.units.get(column, ""))
    reach, canvas = top * 1.05, Canvas(across, up)
    x = np.array([axis_share(data, value) for value, _ in known], float)
    means = np.array([mean for _, (mean, _) in known], float)
    for at, (_, (mean, half)) in zip(x, known, strict=True):
        if half is not None:
            ends = np.array([max(mean - half, 0.0), mean + half]) / reach
            canvas.line(np.array([at, at + STEEP]), ends, BAND)
    if len(x):
        canvas.line(x, means / reach, LINE)
    if edge is not None:
        canvas.across(edge / reach, "-", EDGE)
    for at, mean in zip(x, means, strict=True):
        canvas.sign(float(at), float(mean) / reach, "●", LINE)
    for values, _ in data.refused.values():
        canvas.sign(axis_share(data, values[0]), 0.0, REFUSED, WRONG)
    labels = dict.fromkeys(range(up), "")
    for tick in nice(top / factor, max(up // 4, 2)):
        if (row := canvas.row(tick * factor / reach)) is not None:
            labels[row] = f"{tick:g}"
    rows: Rows = [[(f"{unit[:GUTTER].rjust(GUTTER)} {title(data, look)}"[:width], "bold")]]
    for row, runs in enumerate(canvas.rows()):
        sign = "┤" if labels[row] else "│"
        pieces = [(text, STYLES[colour]) for text, colour in runs]
        rows.append([(labels[row].rjust(GUTTER)[-GUTTER:] + sign, ""), *pieces])
    rows.append([(" " * GUTTER + "└" + "─" * across, "")])
    rows.append([(_labels(data, across), "")])
    legend = f"{' ' * GUTTER} {axis.key} →   ● mean, │ its 95 % interval   {REFUSED} no plan"
    if edge is not None:
        legend += f"   - {edge / factor:.4g} {unit}"
    return [*rows, [(legend[:width], "")]]


def _measured_points(data: SweepData, column: str) -> list[tuple[Value, Number]]:
    """The places that have a number, in the order of their values."""
    found: list[tuple[Any, Number]] = []
    for place in data.places.values():
        if column and (number := data.number(place, column)) is not None:
            found.append((place.values[0], number))
    return sorted(found, key=lambda one: axis_share(data, one[0]))


def axis_share(data: SweepData, value: Value) -> float:
    """Position of a value along the first axis, 0 to 1; words and lists at equal distances."""
    axis = data.axes[0]
    if axis.values:
        return (axis.values.index(value) + 0.5) / len(axis.values)
    return axis.share(float(value))


def _labels(data: SweepData, width: int) -> str:
    axis, line = data.axes[0], " " * (GUTTER + 1)
    some = axis.values or axis.ends
    for value in some:
        text = axis.text(value, 3)
        middle = GUTTER + 1 + int(axis_share(data, value) * (width - 1))
        start = max(min(middle - len(text) // 2, GUTTER + 1 + width - len(text)), GUTTER + 1)
        if start >= len(line) and (start > len(line) or value == some[0]):
            line = line.ljust(start) + text
    return line
