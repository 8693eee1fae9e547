"""Sobol bars: first-order and total share of each parameter in a metric's variance."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from traces.figures.style import INK, SERIES, styled

WIDTH, ROW, FOOT = 6.5, 0.55, 1.1
HIGH = 0.38


def effects(metric: str, told: Mapping[str, Mapping[str, float]]) -> Figure:
    """Bars of indices, `told`: parameter -> `first`, `total` and half the interval of each."""
    at = np.arange(len(told))
    with styled():
        figure = Figure(figsize=(WIDTH, FOOT + ROW * len(told)), layout="constrained")
        panel = figure.subplots()
        for number, (name, label) in enumerate((("first", "alone"), ("total", "in all"))):
            panel.barh(
                at + (number - 0.5) * HIGH,
                [of[name] for of in told.values()],
                HIGH,
                xerr=[of[f"{name} ±"] for of in told.values()],
                color=SERIES[number],
                ecolor=INK,
                capsize=2,
                label=label,
            )
        panel.set_yticks(at, list(told))
        panel.invert_yaxis()
        panel.axvline(0, color=INK, lw=0.8)
        panel.set_xlabel(f"share of the variance of {metric}", parse_math=False)
        panel.legend(loc="lower right", fontsize=7.5)
    return figure
