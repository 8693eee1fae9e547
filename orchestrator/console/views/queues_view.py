"""Queues view: congestion points' queues over time, with set point, thresholds and feedback."""

from __future__ import annotations

from collections import Counter

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from orchestrator.console import parameter_values, text_format
from orchestrator.console.containers import Across, Down
from orchestrator.console.run_data import RunData
from orchestrator.console.time_plot import Content, Line, TimePlot
from orchestrator.console.time_window import Window
from orchestrator.console.views.view_base import EMPTY, Shown, View, bands, show_alike, why_empty

OVER_PS = 50 * 10**9
MOST_LINES = 8


class Queues(View):
    """See the module."""

    name_of = "Queues"
    help_text = """\
Congestion points: how full queues are (upper plot) and the feedback they send (lower plot). The
lines across are the set point of the congestion point and the thresholds of PAUSE. Beside or below
stand the values at the mark, which is the right end of the plot or, when frozen, the ▼ moment.

e chooses the queues to overlay, n takes the next one alone. Space freezes a live run and lets it go
on; , and . move in time, + and - zoom, 0 shows the whole run, f goes to now and follows.
"""

    def __init__(self) -> None:
        super().__init__()
        self.chosen: list[str] = []
        self._lines: Counter[str | None] = Counter()
        """Side -> how many lines its values take."""

    def compose(self) -> ComposeResult:
        yield Static(EMPTY, id="none")
        with Across(id="sides"):
            for side in (0, 1):
                with Across(id=f"side{side}", classes="side"):
                    with Down(classes="plots"):
                        yield TimePlot(classes="upper")
                        yield TimePlot(classes="lower")
                    with VerticalScroll(classes="values"):
                        yield Static("", classes="numbers")

    def choices(self, data: RunData) -> list[str]:
        """Queues that can be shown, those with a congestion point first."""
        every = data.entities("queue_bytes")
        points = set(data.resolved.uses["congestion_point"]) if data.resolved else set()
        busy = [e for e in every if _most(data, e) > 0]
        first = [
            e for e in busy if parameter_values.holder_of(data, "congestion_point", e) in points
        ]
        return [*first, *(e for e in busy if e not in first), *(e for e in every if e not in busy)]

    def draw(self, shown: Shown) -> None:
        waiting = why_empty(shown)
        if waiting:
            self.query_one("#none", Static).update(waiting)
        self.query_one("#none").display = bool(waiting)
        self.query_one("#sides").display = not waiting
        plots = []
        for side in (0, 1):
            box = self.query_one(f"#side{side}", Across)
            box.display = side < len(shown.runs)
            if side < len(shown.runs):
                self._values(box, shown.runs[side], shown.window.cursor_ps)
                plots.append(
                    (box, self._plots(shown.runs[side], shown.window, len(shown.runs) > 1))
                )
        for place, kind in enumerate((".upper", ".lower")):
            show_alike((box.query_one(kind, TimePlot), mine[place]) for box, mine in plots)

    def _shown(self, data: RunData) -> list[str]:
        """The queues that are plotted."""
        known = data.entities("queue_bytes")
        return [e for e in self.chosen if e in known] or self.choices(data)[:1]

    def _plots(self, data: RunData, window: Window, several: bool) -> tuple[Content, Content]:
        """Queues and feedback."""
        chosen = self._shown(data)
        span = (window.from_ps, window.to_ps)
        cursor = window.cursor_ps
        mark = cursor if cursor < span[1] else None
        across = parameter_values.lines_of(data, chosen[0], cursor) if chosen else []
        which = f"{data.name}: " if several else ""
        queue = "queue of " + ", ".join(chosen) if len(chosen) < 3 else f"{len(chosen)} queues"
        upper = Content(
            which + queue,
            "B",
            span,
            [_line(data, e, "queue_bytes", window) for e in chosen[:MOST_LINES]],
            [(label, float(value)) for label, value in across],
            mark,
            bands=bands(data),
        )
        lower = Content(
            "feedback value (0 to 63)",
            "1",
            span,
            [_line(data, e, "feedback_value", window) for e in chosen[:MOST_LINES]],
            mark_ps=mark,
            least=63.0,
            bands=bands(data),
        )
        return upper, lower

    def _values(self, box: Across, data: RunData, cursor: int) -> None:
        """Text beside the plots."""
        numbers = _numbers(data, self._shown(data), cursor)
        lines = numbers.plain.count("\n")
        box.query_one(".numbers", Static).update(numbers, layout=lines != self._lines[box.id])
        self._lines[box.id] = lines


def _most(data: RunData, entity: str) -> int:
    name = "queue_max_bytes" if data.has(entity, "queue_max_bytes") else "queue_bytes"
    return data.value(entity, name, data.now_ps) or 0


def _line(data: RunData, entity: str, quantity: str, window: Window) -> Line:
    times, values = data.series(entity, quantity, window.from_ps, window.cursor_ps)
    return Line(entity, times, values)


def _numbers(data: RunData, chosen: list[str], at_ps: int) -> Text:
    text = Text()
    text.append(f"at {text_format.seconds(at_ps)}\n", "bold")
    for entity in chosen[:MOST_LINES]:
        service = data.value(entity, "service_rate", at_ps)
        sent = data.rate(entity, "bytes_out", at_ps, OVER_PS)
        rows = [
            ("queue", text_format.amount(data.value(entity, "queue_bytes", at_ps), "B")),
            ("most", text_format.amount(data.value(entity, "queue_max_bytes", at_ps), "B")),
            *(
                (k, text_format.amount(v, "B"))
                for k, v in parameter_values.lines_of(data, entity, at_ps)
            ),
            ("service", text_format.amount(service, "bit/s")),
            ("sent", text_format.amount(None if sent is None else 8 * sent, "bit/s")),
            (
                "used",
                text_format.percent(8 * sent / service if sent is not None and service else None),
            ),
            ("feedback", text_format.amount(data.value(entity, "feedback_value", at_ps), "1")),
            ("CNMs", _count(data, entity, "feedback_sent", at_ps)),
            ("PAUSEs", _count(data, entity, "pause_sent", at_ps)),
            ("lost", _count(data, entity, "frames_dropped", at_ps)),
        ]
        text.append(f"{entity}\n", "bold")
        for label, value in rows:
            text.append(f"{label:<13}", "dim")
            text.append(f"{value}\n")
    return text


def _count(data: RunData, entity: str, quantity: str, at_ps: int) -> str:
    rate = data.rate(entity, quantity, at_ps, OVER_PS)
    per = f" ({rate:.0f}/s)" if rate else ""
    return text_format.amount(data.value(entity, quantity, at_ps), "1") + per
