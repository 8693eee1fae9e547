"""Marking figure: share of frames marked over queue length, beside the configured curve."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from traces.figures.figure_style import BLUE, DASHES, FAINT, INK, VERMILLION, styled
from traces.result_schema import Marking
from traces.run_reader import Run

MOST_PANELS = 4
Z = 1.96
"""Quantile of the normal distribution for 95 %."""


def marking_figure(run: Run) -> Figure:
    """A panel for each of the queues that marked most, or for one where none has marked. The run
    has marking queues."""
    tables = sorted(run.result.marking.items(), key=lambda one: -one[1].total("marked"))
    marked = [one for one in tables if one[1].total("marked")]
    with styled():
        shown = (marked or tables[:1])[:MOST_PANELS]
        figure = Figure(figsize=(9.0, 2.9 * ((len(shown) + 1) // 2) + 0.4))
        panels = figure.subplots((len(shown) + 1) // 2, 2, squeeze=False).ravel()
        for panel, (name, table) in zip(panels, shown, strict=False):
            _draw(panel, name, table)
        for panel in panels[len(shown) :]:
            panel.set_visible(False)
        figure.tight_layout()
    return figure


def wilson(marked: np.ndarray, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95 % confidence interval of the share `marked` of `frames`, float64[n] each (E. B. Wilson,
    1927); `frames` are above 0."""
    share = marked / frames
    middle = (share + Z**2 / (2 * frames)) / (1 + Z**2 / frames)
    half = Z * np.sqrt(share * (1 - share) / frames + Z**2 / (4 * frames**2)) / (1 + Z**2 / frames)
    return np.minimum(middle - half, share), np.maximum(middle + half, share)


def _draw(panel: Axes, name: str, table: Marking) -> None:
    low, high, frames, ect, marked = table.columns_of().T
    of = "frames" if not ect.any() else "ECN-capable frames"
    base = frames if not ect.any() else ect
    seen = base > 0
    low, high, base, marked = (values[seen] for values in (low, high, base, marked))
    if len(base):
        share, (least, most) = marked / base, wilson(marked, base)
        middle = (low + high - 1) / 2e3
        panel.errorbar(
            middle,
            share,
            yerr=[share - least, most - share],
            xerr=(high - 1 - low) / 2e3,
            fmt="o",
            color=BLUE,
            ecolor=FAINT,
            markersize=3,
            linewidth=0.8,
            label="measured, 95 %",
        )
    if table.curve:
        points = np.array(table.curve, float)
        end = max(points[-1, 0] * 1.1, float(high.max(initial=0)))
        x, y = np.append(points[:, 0], end) / 1e3, np.append(points[:, 1], points[-1, 1])
        panel.plot(x, y, color=VERMILLION, linestyle=DASHES[1], label="configured")
    panel.set_title(f"{name}: {int(marked.sum())} of {int(base.sum())} {of}", color=INK)
    panel.set_ylim(-0.03, 1.05)
    panel.set_xlim(left=0)
    panel.set_xlabel("queue (KB)")
    panel.set_ylabel("share marked")
    if panel.get_legend_handles_labels()[0]:
        panel.legend(loc="best")
