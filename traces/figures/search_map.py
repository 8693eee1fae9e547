"""Search map (`tailback explain`): number of statements that hold at each parameter point.

Of one parameter each statement has a row, so that it is seen which ends where. Of two the map is
the plane of them. Of more each pair has a plane: at every place of it the most that any value of
the others comes to. What holds all is outlined in planes and named at the foot of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from traces.figures.figure_style import FAINT, GREEN, INK, VERMILLION, styled

WIDTH = 7.0
SIDE = 3.4
"""Inches of a plane."""
MOST_PLANES = 6
LONGEST = 48
"""Letters of a statement's name at its row."""
SHADES = "cividis"
ALL, LACKING = GREEN, "#f3d9cf"
EDGE = VERMILLION
MARK = 120
"""Area of a sample's mark, in square points."""


def draw_search_map(result: dict[str, Any]) -> Figure:
    """The figure of what `explain.json` holds."""
    with styled():
        if len(result["free"]) == 1:
            return _rows(result)
        pairs = list(combinations(range(len(result["free"])), 2))[:MOST_PLANES]
        columns = min(len(pairs), 2)
        height = -(-len(pairs) // columns)
        size = (max(WIDTH, SIDE * columns), SIDE * height + 0.5)
        figure = Figure(figsize=size, layout="constrained")
        panels = list(figure.subplots(height, columns, squeeze=False).ravel())
        for panel, (x, y) in zip(panels, pairs, strict=False):
            _plane(panel, result, x, y)
        for panel in panels[len(pairs) :]:
            panel.set_axis_off()
        _scale(figure, list(panels[: len(pairs)]), len(result["statements"]))
        figure.suptitle(_title(result))
        return figure


def _rows(result: dict[str, Any]) -> Figure:
    """One parameter: a row of cells for each statement, and one for all."""
    places = sorted(result["places"], key=lambda place: place["numbers"][0])
    names = [_short(one["called"]) for one in result["statements"]]
    held = np.array([[*place["holds"], all(place["holds"])] for place in places]).T
    figure = Figure(figsize=(WIDTH, 1.2 + 0.24 * len(held)), layout="constrained")
    panel = figure.subplots()
    for row, cells in enumerate(held):
        for at, yes in enumerate(cells):
            last = row == len(held) - 1
            panel.bar(
                at, 0.8, 0.9, row - 0.4, color=ALL if yes else LACKING, ec=INK if last else "none"
            )
    panel.set_yticks(range(len(held)), [*names, f"all {len(names)}"])
    panel.invert_yaxis()
    texts = [next(iter(place["values"].values())) for place in places]
    every = max(len(texts) // 12, 1)
    panel.set_xticks(range(0, len(texts), every), texts[::every], rotation=45, ha="right")
    panel.set_xlabel(result["free"][0]["key"], parse_math=False)
    panel.set_title(_title(result))
    return figure


def _plane(panel: Axes, result: dict[str, Any], x: int, y: int) -> None:
    """Two parameters: cells of a grid, marks of a sample."""
    most: dict[tuple[float, float], int] = {}
    for place in result["places"]:
        where = (place["numbers"][x], place["numbers"][y])
        most[where] = max(most.get(where, -1), place["hold"])
    count = len(result["statements"])
    if result["grid"]:
        _cells(panel, result, (x, y), most, count)
    else:
        _marks(panel, result, (x, y), most, count)
    panel.set_xlabel(result["free"][x]["key"], parse_math=False, fontsize=7, wrap=True)
    panel.set_ylabel(result["free"][y]["key"], parse_math=False, fontsize=7, wrap=True)


def _cells(
    panel: Axes,
    result: dict[str, Any],
    axes: tuple[int, int],
    most: dict[tuple[float, float], int],
    count: int,
) -> None:
    """A cell for each combination, as wide as its neighbours; a line around those that hold all."""
    across, up = (_texts(result, axis) for axis in axes)
    table = np.full((len(up), len(across)), np.nan)
    for row, high in enumerate(up):
        for column, wide in enumerate(across):
            table[row, column] = most[(wide, high)]
    panel.imshow(table, origin="lower", aspect="auto", cmap=SHADES, vmin=0, vmax=count)
    for row, column in zip(*np.nonzero(table == count), strict=True):
        _outline(panel, table == count, int(row), int(column))
    for (row, column), held in np.ndenumerate(table):
        ink = "white" if held < count / 2 else INK
        panel.text(column, row, f"{held:.0f}", ha="center", va="center", color=ink, fontsize=7)
    panel.set_xticks(range(len(across)), list(across.values()), rotation=45, ha="right")
    panel.set_yticks(range(len(up)), list(up.values()))


def _outline(panel: Axes, inside: np.ndarray, row: int, column: int) -> None:
    """The edges of a cell beyond which the neighbour does not hold all."""
    for down, right, line in (
        (1, 0, ((-0.5, 0.5), (0.5, 0.5))),
        (-1, 0, ((-0.5, 0.5), (-0.5, -0.5))),
        (0, 1, ((0.5, 0.5), (-0.5, 0.5))),
        (0, -1, ((-0.5, -0.5), (-0.5, 0.5))),
    ):
        other, beside = row + down, column + right
        there = 0 <= other < inside.shape[0] and 0 <= beside < inside.shape[1]
        if not (there and inside[other, beside]):
            (x0, x1), (y0, y1) = line
            panel.plot(
                [column + x0, column + x1], [row + y0, row + y1], color=EDGE, lw=2.5, clip_on=False
            )


def _marks(
    panel: Axes,
    result: dict[str, Any],
    axes: tuple[int, int],
    most: dict[tuple[float, float], int],
    count: int,
) -> None:
    """A mark for each place of a sample, with a ring where all hold."""
    for axis, number in zip(axes, (0, 1), strict=True):
        free = result["free"][axis]
        setter = (panel.set_xscale, panel.set_yscale)[number]
        if free["spacing"] == "log":
            setter("log")
        texts = _texts(result, axis)
        step = max(len(texts) // 5, 1)
        ticks = (panel.set_xticks, panel.set_yticks)[number]
        ticks(list(texts)[::step], list(texts.values())[::step], fontsize=7)
        panel.minorticks_off()
    where = list(most)
    shades = colormaps[SHADES]
    panel.scatter(
        [x for x, _ in where],
        [y for _, y in where],
        s=MARK,
        c=[shades(most[place] / count) for place in where],
        edgecolors=[EDGE if most[place] == count else FAINT for place in where],
        linewidths=[2.5 if most[place] == count else 0.5 for place in where],
    )
    for place in where:
        ink = "white" if most[place] < count / 2 else INK
        panel.text(*place, f"{most[place]}", ha="center", va="center", color=ink, fontsize=6.5)


def _texts(result: dict[str, Any], axis: int) -> dict[float, str]:
    """Positions of the values of a parameter, in order, and their texts."""
    key = result["free"][axis]["key"]
    found = {place["numbers"][axis]: place["values"][key] for place in result["places"]}
    return dict(sorted(found.items()))


def _scale(figure: Figure, panels: Sequence[Axes], count: int) -> None:
    """The bar that says what the shades mean."""
    bar = figure.colorbar(
        ScalarMappable(Normalize(0, count), SHADES),
        ax=list(panels),
        shrink=0.8,
        pad=0.02,
        ticks=range(0, count + 1, max(count // 10, 1)),
    )
    bar.set_label(f"statements that hold, of {count}")


def _title(result: dict[str, Any]) -> str:
    every = result["all"]
    if not every["places"]:
        return f"{result['plan']}: nowhere do all {len(result['statements'])} statements hold"
    return f"{result['plan']}: all hold at {every['places']} of {every['of']} places (outlined)"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
