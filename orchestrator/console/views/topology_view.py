"""Topology view: nodes and links, utilisation, paused and cut links, feedback messages."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from orchestrator.console import topology_layout
from orchestrator.console.containers import Across
from orchestrator.console.views.view_base import EMPTY, Shown, View
from orchestrator.plan import Plan


class Drawing(ScrollView, can_focus=True):
    """The sketch of a network, of which only the rows on the screen are drawn."""

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._plan: Plan | None = None
        self._rows: list[topology_layout.Row] = []
        self._seen: topology_layout.NetworkSnapshot | None = None
        self._ground = Style.null()

    def show(self, seen: topology_layout.NetworkSnapshot) -> None:
        """Show this from now on."""
        plan = seen.data.plan
        if plan is not self._plan:
            self._plan, self._rows = plan, topology_layout.layout(plan)
            self.virtual_size = Size(topology_layout.LEAST, len(self._rows))
        self._seen = seen
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the screen."""
        self._ground = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """A row of the screen."""
        across, down = self.scroll_offset
        width, ground = self.size.width, self._ground
        if self._seen is None or y + down >= len(self._rows):
            return Strip.blank(width, ground)
        pieces = self._seen.row(self._rows[y + down], width)
        strip = Strip([Segment(text, ground + Style.parse(style)) for text, style in pieces])
        return strip.crop_extend(across, across + width, ground)


class Topology(View):
    """See the module."""

    name_of = "Topology"
    help_text = """\
Every node is a box with its links to the right: the upper arrow leads away from it, the lower one
back. An arrow tells the utilisation and rate of the last 50 ms; ═ is a full link, ╌ ╳ CUT a cut
one, ‖ PAUSED one whose sender is held. ✉ CNM counts the feedback messages per second that come to
the NIC at its end (of a NIC with several links they stand in its box), ✋ PAUSE the pause frames
per second that are sent this way.

Colours say the same: green, yellow from 70 %, red from 95 % or when held or cut.

x cuts or mends a link, p pauses or resumes a port (while a run goes on).
"""

    def compose(self) -> ComposeResult:
        yield Static(EMPTY, id="none")
        with Across(id="drawings"):
            yield Drawing(classes="side")
            yield Drawing(classes="side")

    def draw(self, shown: Shown) -> None:
        runs = [data for data in shown.runs if data.plan is not None]
        self.query_one("#none").display = not runs
        self.query_one("#drawings").display = bool(runs)
        fit = max(self.size.width // topology_layout.LEAST, 1)
        for place, drawing in enumerate(self.query(Drawing)):
            drawing.display = place < min(len(runs), fit)
            if drawing.display:
                drawing.show(topology_layout.NetworkSnapshot(runs[place], shown.window.cursor_ps))
