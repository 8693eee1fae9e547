"""Annotations behind curves: phases, set point, expectations, steps of the service rate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from orchestrator.plan.units import format_rate
from traces.figures.figure_style import FAINT, GREEN, INK, SHADE, VERMILLION
from traces.metrics.sample_table import PS, Table
from traces.result_schema import Expectation

OVER = 1.02
"""Height of labels above a panel, in its own height."""
SHADES = (0.55, 0.3)
"""Neighbouring phases differ a little, so that their border is seen."""
MAX_STEPS = 12
"""Changes of a rate that are marked; where there are more, it is no longer steps but a curve."""


def phases(panels: Sequence[Axes], spans: Mapping[str, tuple[int, int]]) -> None:
    """Shade each phase in every panel and name it above the first one."""
    for index, (name, (begin, end)) in enumerate(spans.items()):
        for panel in panels:
            alpha = SHADES[index % len(SHADES)]
            panel.axvspan(begin / PS, end / PS, color=SHADE, alpha=alpha, linewidth=0, zorder=0)
        panels[0].text(
            (begin + end) / 2 / PS,
            OVER,
            name,
            transform=panels[0].get_xaxis_transform(),
            ha="center",
            va="bottom",
            size=8.5,
            color=INK,
            style="italic",
        )


def steps(panels: Sequence[Axes], table: Table, entity: str, quantity: str) -> None:
    """Mark where a rate was changed, and to what."""
    rate = table.column(entity, quantity)
    changes = np.flatnonzero(np.diff(rate)) + 1
    for row in changes if len(changes) <= MAX_STEPS else []:
        at = int(table.times_ps[row]) / PS
        for panel in panels:
            panel.axvline(at, color=FAINT, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=1)
        panels[0].annotate(
            f"service {format_rate(int(rate[row]))}",
            (at, 0.97),
            xycoords=panels[0].get_xaxis_transform(),
            xytext=(3, 0),
            textcoords="offset points",
            ha="left",
            va="top",
            size=8,
            color=INK,
        )


def set_point(panel: Axes, value: float, label: str) -> None:
    """A dashed line at the set point."""
    panel.axhline(value, color=INK, linewidth=1.0, linestyle=(0, (5, 3)), zorder=3, label=label)


def bands(
    panel: Axes,
    expectations: Iterable[Expectation],
    spans: Mapping[str, tuple[int, int]],
    label: str,
    scale: float = 1.0,
) -> None:
    """Hatch what each expectation allows, over its phase; values divided by `scale`.

    Green and forward hatches where it was met, vermillion and backward ones where not, dark ones
    where one seed does not judge it.
    Call it last: an open band ends at the panel's edge.
    """
    low, high = panel.get_ylim()
    done: set[str] = set()
    for one in expectations:
        if one.phase not in spans:
            continue
        begin, end = (time / PS for time in spans[one.phase])
        bottom = low if one.min is None else one.min / scale
        top = high if one.max is None else one.max / scale
        panel.fill_between(
            [begin, end],
            [bottom] * 2,
            [top] * 2,
            facecolor="none",
            edgecolor=GREEN if one.met else INK if one.of_seeds else VERMILLION,
            hatch="////" if one.met else "\\\\\\\\",
            alpha=0.55,
            linewidth=0.8,
            zorder=1,
            label=None if one.judgement in done else f"{label} ({one.judgement})",
        )
        done.add(one.judgement)
    panel.set_ylim(low, high)
