"""What all views share: a name, a help text, and drawing what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual.containers import Vertical
from textual.coordinate import Coordinate
from textual.widgets import DataTable

from orchestrator.console import words
from orchestrator.console.data import RunData
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
        return "Connecting: nothing was heard of the run yet."
    told = f": {state.detail}" if state.detail else ""
    reason = f"\n{state.reason}" if state.reason else ""
    return f"No samples yet. {words.STAGES[state.stage]}{told}{reason}"


Row = tuple[str, Sequence[str | Text]]
"""Key and cells."""
MOST_TAKEN_AWAY = 20
"""Rows; when more go, a table is filled anew."""


class View(Vertical):
    """A page of the console."""

    name_of: ClassVar[str]
    help_text: ClassVar[str]

    def draw(self, shown: Shown) -> None:
        """Draw anew; called when something changed and the view is visible."""


class Table(DataTable[Text]):
    """A table of rows with keys that keeps its cursor when it is filled again."""

    def on_mount(self) -> None:
        """Whole rows are chosen, not cells."""
        self.cursor_type = "row"
        self.zebra_stripes = True
        self._shown: dict[str, list[str | Text]] = {}
        self._headings: list[str] = []

    def fill(
        self, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[str | Text]]]
    ) -> None:
        """Show these rows; each is (key, cells). Only what differs is drawn."""
        wanted, have = [key for key, _ in rows], list(self._shown)
        pairs = enumerate(zip(have, wanted, strict=False))
        differ = (number for number, (old, new) in pairs if old != new)
        same = next(differ, min(len(have), len(wanted)))
        if self._headings != list(columns) or len(have) - same > MOST_TAKEN_AWAY:
            self._begin_anew(columns, rows)
            return
        for key in have[same:]:
            self.remove_row(key)
            del self._shown[key]
        for number, (key, cells) in enumerate(rows[:same]):
            self._update(number, key, cells)
        for key, cells in rows[same:]:
            self._shown[key] = list(cells)
            self.add_row(*map(_text, cells), key=key)

    def _begin_anew(
        self, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[str | Text]]]
    ) -> None:
        chosen = self.chosen
        self.clear(columns=True)
        self.add_columns(*columns)
        self._headings = list(columns)
        self._shown = {key: list(cells) for key, cells in rows}
        for key, cells in rows:
            self.add_row(*map(_text, cells), key=key)
        wanted = list(self._shown)
        if chosen in wanted:
            self.move_cursor(row=wanted.index(chosen), animate=False)

    def _update(self, number: int, key: str, cells: Sequence[str | Text]) -> None:
        shown = self._shown[key]
        for place, cell in enumerate(cells):
            old = shown[place]
            if old != cell:
                shown[place] = cell
                at = Coordinate(number, place)
                self.update_cell_at(at, _text(cell), update_width=len(cell) > len(old))

    @property
    def chosen(self) -> str | None:
        """Key of the row under the cursor."""
        if not self.row_count or not self.is_valid_row_index(self.cursor_row):
            return None
        return str(self.coordinate_to_cell_key(Coordinate(self.cursor_row, 0)).row_key.value)


def _text(cell: str | Text) -> Text:
    return cell if isinstance(cell, Text) else Text(cell)
