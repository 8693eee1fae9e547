"""Events view: filtered events and log, and decoded frames near an event."""

from __future__ import annotations

import bisect
import itertools

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import Static

from orchestrator.console import change_detection, text_format
from orchestrator.console.filter_field import Filter
from orchestrator.console.run_data import Moment, RunData
from orchestrator.console.text_table import Row, Table
from orchestrator.console.views.view_base import EMPTY, Shown, View
from orchestrator.recording import FrameSeen
from orchestrator.terminal.escape_control import plain

NO_FRAMES_YET = "Captured frames of this run can be read when it is over."
CHOOSE = "Choose an event for the captured frames near it."
NO_FRAMES = "No frames were captured: the plan's table [capture] names ports."
FAR_PS = 10**10
"""Largest distance of listed frames from the event (ps)."""
MOST_LISTED = 300
"""Of the moments that were found, the latest; those that were announced are all listed."""
SIGNS = {"live": "◇ live", "found": "· seen", "plan": "◆ plan"}


class Events(View):
    """See the module."""

    name_of = "Events"
    enter = "Jump there"
    help_text = """\
What happened, in order of time: ◆ steps and phases of the plan, ◇ changes that were made live,
· where losses, PAUSE or feedback began, as the samples show.

/ filters: only lines that have all the words are shown; Escape ends it. Enter jumps to that moment
in the plots. Below are captured frames near the line under the cursor, decoded, and the last lines
of the log. Of a run at a controller they can be read once it is over.
"""

    class Jump(Message):
        """Show this moment."""

        def __init__(self, moment: Moment) -> None:
            self.moment = moment
            super().__init__()

    class Near(Message):
        """The cursor stands on this moment: what frames are near?"""

        def __init__(self, moment: Moment) -> None:
            self.moment = moment
            super().__init__()

    def __init__(self) -> None:
        super().__init__()
        self.moments: dict[str, Moment] = {}
        self._every: list[Moment] = []
        self._drawn: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield Static(EMPTY, id="none")
        yield Filter()
        yield Table(id="events")
        with VerticalScroll(id="near"):
            yield Static("", id="frames")
        yield Static("", id="log")

    def draw(self, shown: Shown) -> None:
        data = shown.first
        self.query_one("#none").display = data is None
        for name in ("#events", "#near", "#log"):
            self.query_one(name).display = data is not None
        if data is None:
            return
        every = change_detection.all_moments(data)
        come = bisect.bisect_right(every, data.now_ps, key=lambda m: m.time_ps)
        drawn = (data.name, come, data.live, len(data.lines), *self.query_one(Filter).words)
        if every is not self._every or drawn != self._drawn:
            self._every, self._drawn = every, drawn
            self._fill(data, every)
        if self.query_one("#frames", Static).content in ("", NO_FRAMES_YET):
            self.show_frames(None, data)

    def _fill(self, data: RunData, every: list[Moment]) -> None:
        wanted = self.query_one(Filter)
        matching = [m for m in every if wanted.passes(_cells(m, data))]
        listed = _latest(matching)
        self.moments = {f"{m.time_ps} {m.what} {m.entity} {m.text}": m for m in listed}
        rows: list[Row] = [(key, _cells(m, data)) for key, m in self.moments.items()]
        self.query_one(Table).fill(("time", "", "what", "of", ""), rows)
        lines = [text for _, text in data.lines if wanted.passes([text])]
        log = Text()
        if len(listed) < len(matching):
            log.append(f"{len(matching) - len(listed)} earlier lines: / finds them\n")
        log.append("log  ", "bold").append("   ".join(lines[-3:]) or "nothing was said")
        self.query_one("#log", Static).update(log)

    def show_frames(
        self, frames: list[FrameSeen] | None, data: RunData, moment: Moment | None = None
    ) -> None:
        """Show the frames near a moment; None: they are not known."""
        target = self.query_one("#frames", Static)
        if frames is None:
            can = data.folder or (data.state is not None and "look" in data.state.accepts)
            target.update(CHOOSE if can else NO_FRAMES_YET)
            return
        text = Text()
        when = text_format.seconds(moment.time_ps) if moment else ""
        text.append(f"frames near {when}\n", "bold")
        away = (
            min((abs(frame.time_ps - moment.time_ps) for frame in frames), default=0)
            if moment
            else 0
        )
        if away > FAR_PS and data.plan is not None:
            kept = data.plan.capture.frames
            text.append(f"none; the nearest, of the {kept} that are kept of a port:\n", "yellow")
        for frame in frames:
            arrow = "→" if frame.outgoing else "←"
            time = f"{frame.time_ps / 1e12:.9f}"
            line = f"{frame.port:<14} {frame.kind:<6} {frame.text}"
            text.append(f"{time} {arrow} {plain(line)}\n")
        target.update(text if frames else NO_FRAMES)

    def say(self, text: str) -> None:
        """Why no frames are shown."""
        self.query_one("#frames", Static).update(text)

    def on_table_taken(self, event: Table.Taken) -> None:
        """Enter or a click."""
        event.stop()
        moment = self.moments.get(event.key)
        if moment is not None:
            self.post_message(self.Jump(moment))

    def on_table_reached(self, event: Table.Reached) -> None:
        """The cursor moved."""
        event.stop()
        moment = self.moments.get(event.key)
        if moment is not None:
            self.post_message(self.Near(moment))


def _latest(moments: list[Moment]) -> list[Moment]:
    """Without the earlier ones of those that were found, when there are very many."""
    spare = sum(m.found for m in moments) - MOST_LISTED
    if spare <= 0:
        return moments
    numbers = (n for n, m in enumerate(moments) if m.found)
    dropped = set(itertools.islice(numbers, spare))
    return [m for n, m in enumerate(moments) if n not in dropped]


def _cells(m: Moment, data: RunData) -> list[str]:
    """Cells of an event's line."""
    if m.time_ps > data.now_ps and data.live:
        sign = "○ to come"
    else:
        sign = SIGNS["live" if m.live else "found" if m.found else "plan"]
    return [text_format.seconds(m.time_ps), sign, m.what, m.entity, m.text]
