"""Topology: nodes and links, how busy they are, what is held, cut or sent back."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from orchestrator.console import sketch
from orchestrator.console.views.view import EMPTY, Shown, View


class Topology(View):
    """See the module."""

    name_of = "Topology"
    help_text = """\
Every node is a box with its links to the right: the upper arrow leads away from it, the lower one
back. An arrow tells the utilisation and rate of the last 50 ms; ═ is a full link, ╌ ╳ CUT a cut
one, ‖ PAUSED one whose sender is held. ✉ CNM counts feedback messages per second on their way to
the sources, ✋ PAUSE the pause frames that this sender sends.

Colours say the same: green, yellow from 70 %, red from 95 % or when held or cut.

x cuts or mends a link, p pauses or resumes a port (while a run goes on).
"""

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="drawing-scroll", can_focus=True):
            yield Static(EMPTY, id="drawing")

    def draw(self, shown: Shown) -> None:
        data = shown.first
        drawing = self.query_one("#drawing", Static)
        if data is None or data.plan is None:
            drawing.update(EMPTY)
            return
        width = max(self.size.width - 4, 60)
        drawing.update(sketch.draw(data, shown.window.cursor_ps, width))
