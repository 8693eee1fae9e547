"""Sweep maps: a metric over the plane of two parameters, and its contour at a value.

The boundary is the line on which the mean over seeds has the value, between places by straight
lines; hatched is where the 95 % interval of a mean holds the value, so that the line may run there.
"""

from __future__ import annotations

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from orchestrator.terminal.format_output import quantity
from traces.figures.figure_style import FAINT, INK, VERMILLION, styled
from traces.sweep_results import SweepAxis, SweepResults

SIDE, MOST_PANELS, COLUMNS = 3.3, 9, 3
"""Inches of a plane; planes of a figure, and per row."""
SHADES = "cividis"
MOST_TICKS = 8
RASTER = 2_000
"""Places from which on cells and marks are a picture, not shapes."""


def maps(swept: SweepResults, metric: str) -> Figure:
    """A plane for each value of the third parameter; further ones are averaged over."""
    mean, half = swept.mean(metric), swept.half(metric)
    edge = swept.result["edge"]
    value = edge["value"] if edge and edge["metric"] == metric else None
    x, y = swept.sweep_axes[:2]
    panels = _panels(swept)
    known = mean[np.isfinite(mean)]
    scale = Normalize(float(known.min()), float(known.max())) if len(known) else Normalize(0, 1)
    columns = 2 if len(panels) in (2, 4) else min(len(panels), COLUMNS)
    rows = -(-len(panels) // columns)
    with styled(), rc_context({"hatch.color": VERMILLION}):
        figure = Figure(
            figsize=(SIDE * columns + 1.1, SIDE * 0.85 * rows + 0.6), layout="constrained"
        )
        places = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        flat = list(places.ravel())
        for panel, (title, inside) in zip(flat, panels, strict=False):
            if swept.is_grid:
                _cells(panel, (x, y), mean, half, inside, scale, value)
            else:
                _marks(panel, (x, y), mean, inside, scale, value)
            _overlay(panel, swept, (x, y), inside)
            panel.set_title(title, parse_math=False, fontsize=8.5)
            _ticks(panel, x, y)
        for panel in flat[len(panels) :]:
            panel.set_axis_off()
        for panel in flat[: len(panels)][-columns:]:  # the last of each column
            panel.set_xlabel(x.key, parse_math=False)
            panel.tick_params(labelbottom=True)
        for row in places:
            row[0].set_ylabel(y.key, parse_math=False)
        bar = figure.colorbar(ScalarMappable(scale, SHADES), ax=flat[: len(panels)], pad=0.02)
        bar.set_label(metric, parse_math=False)
        bar.ax.yaxis.set_major_formatter(tick_text(swept, metric))
        if value is not None:
            bar.ax.axhline(value, color=VERMILLION, lw=2)
    return figure


def tick_text(swept: SweepResults, metric: str) -> FuncFormatter:
    """Ticks of a metric, with prefix and unit."""
    unit = swept.result["units"][metric]
    return FuncFormatter(lambda at, _: quantity(at, unit))


def _panels(swept: SweepResults) -> list[tuple[str, np.ndarray]]:
    """(title, which places) of each plane."""
    every = np.ones(len(swept.sweep_axes[0].at), bool)
    if len(swept.sweep_axes) < 3:
        return [("", every)]
    third = swept.sweep_axes[2]
    apart = swept.is_grid or swept.halved == 2
    if not apart or len(third.values) > MOST_PANELS:
        return [("over all values of the others", every)]
    return [(f"{third.key} = {third.texts[v]}", third.at == v) for v in map(float, third.values)]


def _cells(
    panel: Axes,
    ways: tuple[SweepAxis, SweepAxis],
    mean: np.ndarray,
    half: np.ndarray,
    inside: np.ndarray,
    scale: Normalize,
    value: float | None,
) -> None:
    x, y = ways
    across, up = x.values, y.values
    table = cell_means(x, y, mean, inside)
    panel.pcolormesh(
        across,
        up,
        table,
        cmap=SHADES,
        norm=scale,
        shading="nearest",
        rasterized=table.size > RASTER,
    )
    if value is None or min(table.shape) < 2:
        return
    wide = cell_means(x, y, half, inside)
    near = np.where(np.isfinite(wide), wide, 0.0) - np.abs(table - value)
    if np.nanmax(near) >= 0 and np.nanmin(near) < 0:
        panel.contourf(
            *(across, up, np.where(np.isfinite(near), near, -1.0)),
            levels=[0, np.inf], colors="none", hatches=["////"],
        )  # fmt: skip
    if np.nanmin(table) < value < np.nanmax(table):
        panel.contour(across, up, table, levels=[value], colors=[VERMILLION], linewidths=2.2)


def cell_means(x: SweepAxis, y: SweepAxis, numbers: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """float64[y, x]: the mean of the numbers of the places there; NaN where there is none."""
    across, up = x.values, y.values
    total, count = np.zeros((2, len(up), len(across)))
    known = inside & np.isfinite(numbers)
    where = np.searchsorted(up, y.at[known]), np.searchsorted(across, x.at[known])
    np.add.at(total, where, numbers[known])
    np.add.at(count, where, 1)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def _marks(
    panel: Axes,
    ways: tuple[SweepAxis, SweepAxis],
    mean: np.ndarray,
    inside: np.ndarray,
    scale: Normalize,
    value: float | None,
) -> None:
    """A mark for each place of a sample; those beyond the value have a ring."""
    x, y = ways
    beyond = mean > value if value is not None else np.zeros(len(mean), bool)
    _line(panel, ways, mean, inside, value)
    few = inside.sum() < RASTER
    panel.scatter(
        x.at[inside],
        y.at[inside],
        s=60 if few else 4,
        c=mean[inside],
        cmap=SHADES,
        norm=scale,
        edgecolors=np.where(beyond[inside], VERMILLION, FAINT).tolist() if few else "none",
        linewidths=np.where(beyond[inside], 2.0, 0.5).tolist() if few else 0,
        rasterized=not few,
    )


def _line(
    panel: Axes,
    ways: tuple[SweepAxis, SweepAxis],
    mean: np.ndarray,
    inside: np.ndarray,
    value: float | None,
) -> None:
    """Contour of a sample's triangles at the value, if its points span any and lie on both
    sides."""
    x, y = ways
    known = inside & np.isfinite(mean)
    if value is None or not mean[known].size or not mean[known].min() < value < mean[known].max():
        return
    flat = np.linalg.matrix_rank(np.stack([x.at[known], y.at[known], np.ones(known.sum())])) < 3
    if not flat:
        panel.tricontour(
            *(x.at[known], y.at[known], mean[known]),
            levels=[value], colors=[VERMILLION], linewidths=2.2,
        )  # fmt: skip


def _overlay(
    panel: Axes, swept: SweepResults, ways: tuple[SweepAxis, SweepAxis], inside: np.ndarray
) -> None:
    """Lines that the plan lays over the plane of these places."""
    scales = [np.log10 if way.is_log else np.asarray for way in ways]
    for line in swept.result.get("overlay", []):
        others = [way for way in swept.sweep_axes[2:] if way.key in line["at"]]
        wanted = [
            np.log10(line["at"][way.key]) if way.is_log else line["at"][way.key] for way in others
        ]
        met = [np.isclose(way.at, at) for way, at in zip(others, wanted, strict=True)]
        if not np.all([inside, *met], axis=0).any():
            continue
        across, up = (
            scale(np.array(at, float))
            for scale, at in zip(scales, zip(*line["points"], strict=True), strict=True)
        )
        panel.plot(across, up, color=INK, lw=2.4, ls=(0, (4, 2)))
        panel.plot(across, up, color="white", lw=1.2, ls=(0, (4, 2)), label=line["label"])
    if panel.get_legend_handles_labels()[1]:
        panel.legend(loc="lower right", fontsize=7, frameon=True, facecolor=FAINT, edgecolor="none")


def _ticks(panel: Axes, x: SweepAxis, y: SweepAxis) -> None:
    for way, setter, turn in ((x, panel.set_xticks, 45), (y, panel.set_yticks, 0)):
        where = list(way.texts)
        step = -(-len(where) // MOST_TICKS)
        some = where[::step]
        setter(some, [way.texts[at] for at in some], rotation=turn)
    panel.tick_params(axis="x", labelsize=7.5, colors=INK)
    for text in panel.get_xticklabels():
        text.set_horizontalalignment("right")
