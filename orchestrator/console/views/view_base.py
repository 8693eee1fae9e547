"""Base of all views: name, help text and drawing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from orchestrator.console import text_format
from orchestrator.console.containers import Down
from orchestrator.console.run_data import RunData
from orchestrator.console.time_plot import Content, TimePlot, alike
from orchestrator.console.time_window import Window

EMPTY = "No run is open. Press 1 for the list of runs and plans, Enter opens or starts one."


@dataclass
class Shown:
    """Content of the screen: one run or two side by side, and the time window."""

    runs: Sequence[RunData]
    window: Window

    @property
    def first(self) -> RunData | None:
        """The run that keys act on."""
        return self.runs[0] if self.runs else None


def why_empty(shown: Shown) -> str:
    """Why there is nothing to plot; empty when there is."""
    data = shown.first
    if data is None:
        return EMPTY
    if data.rows:
        return ""
    state = data.state
    if state is None:
        return "Connecting: nothing has come of the run yet."
    detail = f": {state.detail}" if state.detail else ""
    reason = f"\n{state.reason}" if state.reason else ""
    return f"No samples yet. {text_format.STAGES[state.stage]}{detail}{reason}"


def bands(data: RunData) -> list[tuple[str, int, int]]:
    """The phases of a run, for its plots."""
    phases = data.plan.phases if data.plan is not None else {}
    return [(name, phase.from_, phase.to) for name, phase in phases.items()]


def show_alike(pairs: Iterable[tuple[TimePlot, Content]]) -> None:
    """Show plots that stand side by side, on one scale."""
    found = list(pairs)
    contents = alike([content for _, content in found])
    for (plot, _), content in zip(found, contents, strict=True):
        plot.show(content)


class View(Down):
    """A page of the console."""

    name_of: ClassVar[str]
    help_text: ClassVar[str]
    enter: ClassVar[str] = ""
    """What Enter does on a line of its table."""

    def draw(self, shown: Shown) -> None:
        """Draw anew; called when something changed and the view is visible."""
