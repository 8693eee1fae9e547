"""A plot over time for the terminal: lines, levels, a mark for now; drawn by plotext."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from textual_plotext import PlotextPlot

from orchestrator.cli.show import PREFIXES, UNITS

LETTERS = "abcdefghijklmnop"
COLOURS = ("cyan", "orange+", "green+", "magenta+", "yellow+", "red+", "blue+", "white")
PER_CELL = 2
"""Points that a column of the terminal can show."""


@dataclass(frozen=True)
class Line:
    """A series: times in ps, values in the plot's unit."""

    name: str
    times_ps: np.ndarray
    values: np.ndarray
    dashed: bool = False


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


class TimePlot(PlotextPlot):
    """See the module."""

    DEFAULT_CSS = "TimePlot { height: 1fr; min-height: 5; }"

    def show(
        self,
        title: str,
        unit: str,
        span: tuple[int, int],
        lines: Sequence[Line],
        levels: Sequence[tuple[str, float]] = (),
        mark_ps: int | None = None,
        least: float = 0.0,
    ) -> None:
        """Draw anew. `levels` are drawn across; `least` is what the axis reaches at least."""
        plt = self.plt
        plt.clear_figure()
        width = max(self.size.width, 40)
        tops = [float(line.values.max()) for line in lines if len(line.values)]
        top = max([*tops, *(value for _, value in levels), least, 1e-9])
        factor, text = scale(top, unit)
        for _, value in levels:  # first, so that lines are drawn over them
            ends = [span[0] / 1e12, span[1] / 1e12]
            plt.plot(ends, [value / factor] * 2, marker="-", color="gray")
        several = len(lines) > 1
        for number, line in enumerate(lines):
            x, y = thin(line.times_ps / 1e12, line.values / factor, PER_CELL * width)
            name = f"{LETTERS[number % 16]} {line.name}" if several else line.name
            if len(x):
                plt.plot(x.tolist(), y.tolist(), marker="braille", color=COLOURS[number % 8])
            if several and len(x):
                spots = _spots(len(x), number, len(lines))
                plt.scatter(
                    x[spots].tolist(),
                    y[spots].tolist(),
                    marker=LETTERS[number % 16],
                    color=COLOURS[number % 8],
                    label=name,
                )
        if mark_ps is not None:
            plt.vline(mark_ps / 1e12, "gray")
        plt.xlim(span[0] / 1e12, span[1] / 1e12)
        first, last = span[0] / 1e12, span[1] / 1e12
        steps = nice(last - first, max(width // 12, 2))
        step = steps[1] if len(steps) > 1 else last - first
        marks = [k * step for k in range(int(np.ceil(first / step)), int(last / step + 1e-9) + 1)]
        plt.xticks(marks, [f"{mark:.9g}" for mark in marks])
        plt.ylim(0, top * 1.05 / factor)
        ticks = nice(top / factor, max(self.size.height // 4, 2))
        plt.yticks(ticks, [f"{tick:g}".rjust(5) for tick in ticks])
        told = "".join(f"  - {label} {value / factor:.4g}" for label, value in levels)
        heading = f"{title}{f' ({text})' if text else ''}"
        titles = [heading + told, heading, title.partition(":")[0]]
        plt.title(next((t for t in titles if len(t) < width - 12), titles[-1]))
        self.refresh()


def nice(top: float, most: int) -> list[float]:
    """At most about `most` round numbers from 0 to `top`."""
    step = 10.0 ** np.floor(np.log10(max(top, 1e-9)))
    steps = [step * share for share in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)]
    chosen = next((s for s in steps if top / s <= most), steps[-1])
    return [round(float(chosen * k), 10) for k in range(int(top / chosen * 1.0001) + 1)]


def _spots(count: int, number: int, of: int) -> np.ndarray:
    """Where a line carries its letter: a few places, other ones than its neighbours'."""
    places = (np.arange(4) + (number + 0.5) / of) / 4
    return np.unique((places * count).astype(int).clip(0, count - 1))
