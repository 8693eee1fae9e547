"""What all views share: a name, a help text, and drawing what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from orchestrator.console import words
from orchestrator.console.data import RunData
from orchestrator.console.grounds import Down
from orchestrator.console.window import Window

EMPTY = "No run is open. Press 1 for the list of runs and plans, Enter opens or starts one."


@dataclass
class Shown:
    """What is on the screen: one run, or two beside each other, and which stretch of time."""

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
    told = f": {state.detail}" if state.detail else ""
    reason = f"\n{state.reason}" if state.reason else ""
    return f"No samples yet. {words.STAGES[state.stage]}{told}{reason}"


class View(Down):
    """A page of the console."""

    name_of: ClassVar[str]
    help_text: ClassVar[str]

    def draw(self, shown: Shown) -> None:
        """Draw anew; called when something changed and the view is visible."""
