"""Sweep view: progress, the map or curve so far, failed points."""

from __future__ import annotations

import itertools

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from orchestrator.console import text_format
from orchestrator.console.sweep_curve import drawn_curve
from orchestrator.console.sweep_data import SweepData
from orchestrator.console.sweep_map import Look, Piece, drawn_map
from orchestrator.console.views.view_base import Shown, View
from orchestrator.terminal.escape_control import plain

NONE = "No sweep is open. Press 1 for the list; Enter opens one that goes on, or a finished one."
STATES = {
    "running": ("● running", "green"),
    "done": ("■ done", "green"),
    "failed": ("✗ failed", "bold red"),
    "stopped": ("✗ stopped", "yellow"),
    "lost": ("✗ its process has ended", "bold red"),
}
LEAST = (40, 8)
MOST_FAILED, MOST_REFUSED, MOST_SAID = 2, 2, 2


class Chart(Widget):
    """A map, or a curve, in whatever room there is."""

    DEFAULT_CSS = "Chart { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self._data: SweepData | None = None
        self._look = Look()
        self._rows: list[list[Piece]] = []

    def show(self, data: SweepData, look: Look) -> None:
        """Show this from now on."""
        self._data, self._look = data, look
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the screen."""
        self._rows, (width, height) = [], self.size
        if self._data is not None and width >= LEAST[0] and height >= LEAST[1]:
            draw = drawn_map if len(self._data.axes) > 1 else drawn_curve
            self._rows = draw(self._data, self._look, width, height)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """A row of the screen."""
        ground = self.rich_style
        if y >= len(self._rows):
            return Strip.blank(self.size.width, ground)
        pieces = [Segment(text, ground + Style.parse(style)) for text, style in self._rows[y]]
        return Strip(pieces).adjust_cell_length(self.size.width, ground)


class Sweep(View):
    """See the module."""

    name_of = "Sweep"
    help_text = """\
A sweep: one plan at many places of its parameters, with several seeds each (`tailback sweep`). One
that goes on is shown as far as it is known; on top is how many of its points are done and how long
the rest takes, reckoned from those that were run.

The map has a cell for each place: the mean of its seeds so far, and a bar from the least to the
greatest of all. · is a place that has no point yet, × one whose values make no plan. If the sweep
has an edge, ▲ is above it, and ? marks a place whose 95 % interval holds it. A sweep of one
parameter is a curve, each mean with its interval.

Below the map: how many points met what the plan expects, which did not, places that make no plan
and why, and what became of workers.

m shows the next metric; of three parameters and more t takes two others for the map, and k the next
values of those that are not drawn.
"""

    def __init__(self) -> None:
        super().__init__()
        self.data: SweepData | None = None
        self.look = Look()

    def compose(self) -> ComposeResult:
        yield Static(NONE, id="swept")
        yield Chart()
        yield Static("", id="points")

    def lay(self, data: SweepData | None) -> None:
        """The sweep that is shown from now on; another one is looked at from its beginning."""
        if data is not self.data:
            self.data, self.look = data, Look()

    def draw(self, shown: Shown) -> None:
        data, chart = self.data, self.query_one(Chart)
        chart.display = data is not None
        if data is None:
            self.query_one("#swept", Static).update(NONE)
            self.query_one("#points", Static).update("")
            return
        width = max(self.app.size.width - 4, 40)  # its own is not known when it is shown first
        self.query_one("#swept", Static).update(_progress(data, width))
        chart.show(data, self.look)
        self.query_one("#points", Static).update(_points_text(data))


def _progress(data: SweepData, width: int) -> Text:
    """Two lines: state and how far it is; a bar."""
    sign, style = STATES.get(data.state, (data.state, ""))
    text = Text(no_wrap=True, overflow="ellipsis").append(sign, style)
    text.append(f"  {data.text}" if data.text else "  nothing is done yet")
    if data.folder:
        text.append(f"   {plain(data.folder)}", "dim")
    done = round(min(max(data.done, 0.0), 1.0) * width)
    return text.append("\n" + "█" * done + "░" * (width - done))


def _points_text(data: SweepData) -> Text:
    """Text about the points: verdicts, failures and their reasons."""
    text = Text(no_wrap=True, overflow="ellipsis")
    verdicts = data.verdicts()
    kinds = [f"{count} {text_format.VERDICTS.get(v, v)}" for v, count in sorted(verdicts.items())]
    text.append("points  ", "bold").append("   ".join(kinds) or "none yet")
    failed = itertools.islice(data.failed(), MOST_FAILED + 1)
    for number, (place, seed, verdict) in enumerate(failed):
        if number == MOST_FAILED:
            text.append("\n  … and more", "dim")
            break
        where = f"{text_format.VERDICTS[verdict]}: {data.at(place.values)}, seed {seed}"
        text.append(f"\n  {where}", "red")
    if data.refused_count:
        count = data.refused_count
        refused_text = "1 place makes no plan" if count == 1 else f"{count} places make no plan"
        text.append(f"\n{refused_text}", "bold yellow")
    for values, why in itertools.islice(data.refused.values(), MOST_REFUSED):
        line = why.strip().splitlines()[-1].strip() if why.strip() else ""
        text.append(f"\n  × {data.at(values)}: {line}", "yellow")
    for line in data.said[-MOST_SAID:]:
        text.append(f"\n  {line}")
    if data.why:
        text.append(f"\n{data.why.splitlines()[-1]}", "bold red")
    return text
