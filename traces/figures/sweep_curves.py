"""Sweep curves: a metric along its first parameter, a curve for each value of the second.

A curve is the mean over seeds, its band the 95 % interval of that mean.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from traces.figures.figure_style import DASHES, SERIES, VERMILLION, styled
from traces.figures.sweep_maps import MOST_TICKS, tick_text
from traces.sweep_results import SweepAxis, SweepResults

WIDTH, HEIGHT, COLUMNS, MOST_PANELS = 6.5, 3.4, 2, 6
MOST_CURVES = 8


def sweep_curves(swept: SweepResults, metric: str) -> Figure:
    """A panel for each value of the third parameter, where there is one; further ones overlap."""
    edge = swept.result["edge"]
    ways = swept.sweep_axes
    third = ways[2] if len(ways) > 2 else None
    cuts = thinned(third, MOST_PANELS) if third else [None]
    columns = min(len(cuts), COLUMNS)
    rows = -(-len(cuts) // columns)
    with styled():
        size = (WIDTH if columns == 1 else 4.4 * columns, HEIGHT * rows)
        figure = Figure(figsize=size, layout="constrained")
        panels = list(figure.subplots(rows, columns, squeeze=False, sharey=True).ravel())
        for panel, cut in zip(panels, cuts, strict=False):
            inside = np.ones(len(ways[0].at), bool)
            if third is not None and cut is not None:
                inside = third.at == cut
                panel.set_title(f"{third.key} = {third.texts[cut]}", parse_math=False, fontsize=8.5)
            _family(panel, swept, metric, inside)
            if edge and edge["metric"] == metric:
                panel.axhline(edge["value"], color=VERMILLION, lw=0.8, ls=(0, (2, 2)))
            panel.set_xlabel(ways[0].key, parse_math=False)
        for panel in panels[len(cuts) :]:
            panel.set_axis_off()
        for panel in panels[::columns]:
            panel.set_ylabel(metric, parse_math=False)
            panel.yaxis.set_major_formatter(tick_text(swept, metric))
        if len(ways) > 1:
            panels[0].legend(title=ways[1].key, fontsize=7.5, title_fontsize=7.5)
    return figure


def thinned(way: SweepAxis, most: int) -> list[float]:
    """At most so many of the values of an axis, first and last among them."""
    values = way.values
    picked = np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int))
    return [float(values[at]) for at in picked]


def _family(panel: Axes, swept: SweepResults, metric: str, inside: np.ndarray) -> None:
    x, mean, half = swept.sweep_axes[0], swept.mean(metric), swept.half(metric)
    second = swept.sweep_axes[1] if len(swept.sweep_axes) > 1 else None
    lines = thinned(second, MOST_CURVES) if second else [None]
    for number, value in enumerate(lines):
        chosen = inside & np.isfinite(mean)
        if second is not None and value is not None:
            chosen &= second.at == value
        order = np.argsort(x.at[chosen], kind="stable")
        at, level = x.at[chosen][order], mean[chosen][order]
        wide = np.nan_to_num(half[chosen][order])
        colour = SERIES[number % len(SERIES)]
        panel.plot(
            at,
            level,
            color=colour,
            ls=DASHES[number // len(SERIES) % len(DASHES)],
            marker="o" if len(at) < 40 else None,
            ms=3,
            label=second.texts[value] if second is not None and value is not None else None,
        )
        panel.fill_between(at, level - wide, level + wide, color=colour, alpha=0.2, lw=0)
    where = list(x.texts)
    ticks = where[:: -(-len(where) // MOST_TICKS)]
    panel.set_xticks(ticks, [x.texts[at] for at in ticks], rotation=45, ha="right")
