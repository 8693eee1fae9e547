"""Rates view: current and target rate of rate limiters, further columns, fairness of flows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from orchestrator.console import text_format
from orchestrator.console.containers import Across, Down
from orchestrator.console.run_data import RunData
from orchestrator.console.time_plot import Content, Line, TimePlot
from orchestrator.console.time_window import Window
from orchestrator.console.views.view_base import EMPTY, Shown, View, bands, show_alike, why_empty

FAIR_OVER_PS = 200 * 10**9
MOST_LINES = 8
MOST_ROWS = 16
"""Of the table, those that are plotted first; e brings others to the plots."""
HEADINGS = ("limiter", "", "current", "target", "feedback")
IN_TABLE = {"active", "current_rate", "target_rate", "feedback_received"}
MOST_OWN = 3
"""Of the quantities that an algorithm shows of its own state, or that acknowledgements bring."""


class Rates(View):
    """See the module."""

    name_of = "Rates"
    help_text = """\
Reaction points: the rate that each limiter lets through (upper plot) and the rate it aims at (lower
plot). The table has the values at the mark: whether the limiter is active, both rates, how much
feedback it received, and what its algorithm shows of itself (QCN: the stages of byte counter and
timer; others: window and round trip). Fairness is Jain's index over what the flows received in the
last 200 ms: 1 when all get the same.

e chooses the limiters to overlay, n takes the next one alone. Space freezes; , . + - move and zoom.
"""

    def __init__(self) -> None:
        super().__init__()
        self.chosen: list[str] = []
        self._listed: Counter[str | None] = Counter()
        """Side -> how many limiters its table has."""

    def compose(self) -> ComposeResult:
        yield Static(EMPTY, id="none")
        with Across(id="sides"):
            for side in (0, 1):
                with Down(id=f"side{side}", classes="side"):
                    yield TimePlot(classes="upper")
                    yield TimePlot(classes="lower")
                    yield Static("", classes="fairness")
                    with VerticalScroll(classes="limiters"):
                        yield Static("", classes="numbers")

    def choices(self, data: RunData) -> list[str]:
        """limiters, those that were ever notified first."""
        every = data.entities("current_rate")
        notified = [e for e in every if data.value(e, "feedback_received", data.now_ps)]
        return [*notified, *(e for e in every if e not in notified)]

    def draw(self, shown: Shown) -> None:
        waiting = why_empty(shown)
        if waiting:
            self.query_one("#none", Static).update(waiting)
        self.query_one("#none").display = bool(waiting)
        self.query_one("#sides").display = not waiting
        plots = []
        for side in (0, 1):
            box = self.query_one(f"#side{side}", Down)
            box.display = side < len(shown.runs)
            if side < len(shown.runs):
                self._values(box, shown.runs[side], shown.window.cursor_ps)
                plots.append(
                    (box, self._plots(shown.runs[side], shown.window, len(shown.runs) > 1))
                )
        for place, kind in enumerate((".upper", ".lower")):
            show_alike((box.query_one(kind, TimePlot), mine[place]) for box, mine in plots)

    def _shown(self, data: RunData) -> tuple[list[str], list[str]]:
        """Limiters that are plotted, and all there are."""
        choices = self.choices(data)
        return [e for e in self.chosen if e in choices] or choices[:4], choices

    def _plots(self, data: RunData, window: Window, several: bool) -> tuple[Content, Content]:
        """Current and target rate."""
        chosen, _ = self._shown(data)
        span = (window.from_ps, window.to_ps)
        mark = window.cursor_ps if window.cursor_ps < span[1] else None
        which = f"{data.name}: " if several else ""

        def rates(quantity: str, title: str) -> Content:
            lines = [_line(data, e, quantity, window) for e in chosen[:MOST_LINES]]
            return Content(
                *(which + title, "bit/s", span, lines),
                mark_ps=mark,
                robust=True,
                bands=bands(data),
            )

        return rates("current_rate", "current rate"), rates("target_rate", "target rate")

    def _values(self, box: Down, data: RunData, cursor: int) -> None:
        """Text below the plots."""
        chosen, choices = self._shown(data)
        box.query_one(".fairness", Static).update(_fairness(data, cursor), layout=False)
        listed = [*chosen, *_rest(choices, chosen)][:MOST_ROWS]
        numbers = box.query_one(".numbers", Static)
        own = _own(data, listed)
        heads = [*HEADINGS, *(name.replace("_", " ") for name, _ in own)]
        rows = [heads, *(_row(data, e, own, cursor) for e in listed)]
        widths = [2 + max(map(len, column)) for column in zip(*rows, strict=True)]
        head, *body = (_columns(row, widths) for row in rows)
        text = Text(no_wrap=True, overflow="crop").append(head, "bold")
        text.append("".join("\n" + row for row in body))
        numbers.update(text, layout=len(listed) != self._listed[box.id])
        self._listed[box.id] = len(listed)


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _own(data: RunData, listed: Sequence[str]) -> list[tuple[str, str]]:
    """Name and unit of what these limiters are sampled for beyond what all limiters have."""
    found = {
        column.quantity: column.unit
        for column in data.columns
        if column.entity in listed and column.quantity not in IN_TABLE
    }
    return list(found.items())[:MOST_OWN]


def _rest(choices: list[str], chosen: list[str]) -> list[str]:
    return [e for e in choices if e not in chosen]


def _line(data: RunData, entity: str, quantity: str, window: Window) -> Line:
    """A rate over time; gaps where the limiter is not active are drawn as the rate it has."""
    times, values = data.series(entity, quantity, window.from_ps, window.cursor_ps)
    return Line(entity, times, values)


def _row(data: RunData, entity: str, own: Sequence[tuple[str, str]], at_ps: int) -> list[str]:
    def value(quantity: str, unit: str = "1") -> str:
        return text_format.amount(data.value(entity, quantity, at_ps), unit)

    active = data.value(entity, "active", at_ps)
    return [
        entity,
        "● limits" if active else "○ idle",
        value("current_rate", "bit/s"),
        value("target_rate", "bit/s"),
        value("feedback_received"),
        *(value(quantity, unit) for quantity, unit in own),
    ]


def _fairness(data: RunData, at_ps: int) -> Text:
    """Of what the flows received lately."""
    flows = data.entities("bytes_received")
    rates = [data.rate(flow, "bytes_received", at_ps, FAIR_OVER_PS) for flow in flows]
    bits = np.array([8 * rate for rate in rates if rate is not None])
    text = Text().append(f"at {text_format.seconds(at_ps)}  ", "bold")
    if not len(bits) or not bits.any():
        return text.append("nothing received")
    jain = float(bits.sum()) ** 2 / (len(bits) * float(bits @ bits))
    text.append(f"fairness (Jain) {jain:.3f}  ")
    low, high = (text_format.amount(float(rate), "bit/s") for rate in (bits.min(), bits.max()))
    total = text_format.amount(float(bits.sum()), "bit/s")
    return text.append(f"{len(bits)} flows get {low} to {high}, together {total}")
