"""Figure style and file output (SVG, PDF, PNG).

What draws a kind of file is imported with the first such file: that of PDF takes longer than all of
a small report.
"""

from __future__ import annotations

import functools
import html
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from orchestrator.plan.drawable_metrics import scale_of
from orchestrator.plan.metric_registry import SECONDS

INK, FAINT, SHADE, PAPER = "#1d2126", "#8a9099", "#dfe3e8", "#fefefd"
"""Text and axes; guides; shaded phases; background. A page may exchange them, see `inline`."""
BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#e69f00",
    "#cc79a7",
    "#56b4e9",
)
SERIES = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, "#8c6d31", "#7f7f7f")
"""Okabe and Ito's colours, which the colour-blind tell apart, and two more."""
DASHES: tuple[tuple[float, tuple[float, ...]], ...] = (
    (0, ()),
    (0, (6, 2)),
    (0, (2, 1.5)),
    (0, (6, 2, 1, 2)),
)

SIZE = 9.0
"""Points of text."""
STYLE = {
    "font.family": "sans-serif",
    "font.size": SIZE,
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.0,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 1.8,
    "figure.facecolor": PAPER,
    "lines.linewidth": 1.1,
    "hatch.linewidth": 0.5,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "tailback",
    "path.simplify": True,
}


NAMESPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def stacked(
    heights: Sequence[float], width: float = 9.0, title: str = ""
) -> tuple[Figure, list[Axes]]:
    """A figure of panels over one another that share the time axis; heights in inches."""
    top, bottom, gap = 0.78, 0.5, 0.27
    total = top + bottom + sum(heights) + gap * (len(heights) - 1)
    figure = Figure(figsize=(width, total))
    panels: list[Axes] = []
    edge = total - top
    for height in heights:
        box = (0.72 / width, (edge - height) / total, (width - 0.95) / width, height / total)
        panels.append(figure.add_axes(box, sharex=panels[0] if panels else None))
        edge -= height + gap
    for panel in panels[:-1]:
        panel.tick_params(labelbottom=False)
    panels[-1].set_xlabel("time (s)")
    if title:
        figure.text(0.72 / width, 1 - 0.17 / total, title, va="center", weight="bold", size=10.5)
    return figure, panels


def time_axis(panel: Axes, end_s: float) -> None:
    """Seconds along a panel, shown in the unit in which the last of them is at least 1."""
    unit, one = scale_of(SECONDS, end_s)
    panel.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at / one:.6g}"))
    panel.set_xlabel(f"time ({unit.replace('us', 'µs')})")


@contextmanager
def styled(size: float = SIZE) -> Iterator[None]:
    """A context in which figures are made and drawn, with text of `size` points: matplotlib's
    defaults and `STYLE`, whatever settings the user or the process has."""
    with matplotlib.rc_context():
        settings: Any = matplotlib.rcParams
        dict.update(settings, _settings(size))  # checked once, by `_settings`
        yield


@functools.cache
def _settings(size: float) -> dict[str, Any]:
    """All settings that figures depend on."""
    sizes = {key: STYLE[key] * size / SIZE for key in STYLE if key.endswith("size")}  # type: ignore[operator]
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE | sizes)  # type: ignore[arg-type]
        return {key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}


def png(figure: Figure, dpi: int = 144) -> bytes:
    """The figure as a PNG file; no date and no version in it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    out = io.BytesIO()
    with styled():
        FigureCanvasAgg(figure)
        figure.savefig(out, format="png", dpi=dpi, metadata={"Software": None})
    return out.getvalue()


def pdf(figure: Figure) -> bytes:
    """The figure as a PDF file, its fonts embedded; no date in it."""
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    out = io.BytesIO()
    with styled():
        FigureCanvasPdf(figure)
        figure.savefig(out, format="pdf", metadata={"CreationDate": None, "Creator": None})
    return out.getvalue()


def svg(figure: Figure) -> str:
    """The figure as an SVG document, text as text; no date in it."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    out = io.StringIO()
    with styled():
        FigureCanvasSVG(figure)
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def inline(figure: Figure, label: str) -> str:
    """The figure as an <svg> element of an HTML page, as wide as its place, called `label`.

    Its background is transparent; ink, guides and shades are the page's CSS variables --ink,
    --faint and --shade, so that one figure serves light, dark and paper. Taken out of the page it
    is a document of its own, in the colours of light.
    """
    text = svg(figure)
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    view = re.search(r'viewBox="[^"]*"', text)
    box = view.group() if view else ""
    start = f'<svg {NAMESPACES} {box} role="img" aria-label="{html.escape(label)}">'
    text = re.sub(r"<svg[^>]*>", lambda _: start, text, count=1)
    # names of groups would stand twice in a page of two figures; what is referred to is a hash
    text = re.sub(r' id="[A-Za-z0-9.]+_[0-9]+"', "", text)
    text = text.replace(PAPER, "none")
    for colour, name in ((INK, "ink"), (FAINT, "faint"), (SHADE, "shade")):
        text = text.replace(colour, f"var(--{name}, {colour})")
    return text
