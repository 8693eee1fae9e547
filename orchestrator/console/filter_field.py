"""Filter field above a list: only lines that contain all its words are shown."""

from __future__ import annotations

from collections.abc import Sequence

from textual.widgets import Input

from orchestrator.console.text_table import Table


class Filter(Input):
    """See the module. It appears when it is wanted; the list below it is the view's first table."""

    DEFAULT_CSS = "Filter { height: 3; }"

    def __init__(self) -> None:
        super().__init__(placeholder="words that a line must have", id="filter")
        self.display = False

    @property
    def words(self) -> list[str]:
        """Words of the filter."""
        return self.value.lower().split()

    def passes(self, cells: Sequence[str]) -> bool:
        """Return whether a line contains all the words."""
        line = " ".join(cells).lower() if self.value else ""
        return all(word in line for word in self.words)

    def begin(self) -> None:
        """Let the person type."""
        self.display = True
        self.focus()

    def end(self) -> None:
        """Show everything again."""
        self.value = ""
        self.display = False
        self._to_lines()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The filter stays, the cursor goes to the lines."""
        event.stop()
        self._to_lines()

    def _to_lines(self) -> None:
        if self.parent is not None:
            self.parent.query_one(Table).focus()
