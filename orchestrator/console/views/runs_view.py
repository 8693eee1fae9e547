"""Runs view: live runs and sweeps, plans to start, finished runs."""

from __future__ import annotations

from pathlib import Path

from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import Static

from orchestrator.console import run_catalog, text_format
from orchestrator.console.filter_field import Filter
from orchestrator.console.text_table import Row, Table
from orchestrator.console.views.view_base import Shown, View

HINT = "Enter opens a run, or a plan to start it. v puts a finished run beside the open one."
NOTHING = "Nothing here: no run goes on, no plan is shipped, no run folder was found."
NO_LINE = "No line has all these words; Escape ends the filter."


class Runs(View):
    """See the module."""

    name_of = "Runs"
    enter = "Open"
    help_text = """\
What can be opened: runs and sweeps that go on (on this machine), the latest finished ones, plans,
and what was finished before those, the newest first.
Enter opens the line under the cursor: a plan opens in Control, where r starts it. v opens a
finished run beside the one that is open, so that plots of both are drawn side by side.
/ filters: only lines that have all the words are shown; Escape ends it.

Finished runs are looked for in the folder `runs`; `tailback console FOLDER` opens any other.
"""

    class Opened(Message):
        """A line was chosen."""

        def __init__(self, entry: run_catalog.Entry) -> None:
            self.entry = entry
            super().__init__()

    def __init__(self, base: Path) -> None:
        super().__init__()
        self.base = base
        self.entries: dict[str, run_catalog.Entry] = {}

    def compose(self) -> ComposeResult:
        yield Static(HINT, id="hint")
        yield Filter()
        yield Table(id="runs")
        yield Static("", id="meaning")

    def look(self) -> None:
        """Look again for what there is."""
        site = getattr(self.app, "site", None)
        if site is None:
            found = run_catalog.entries(self.base)
        else:
            found = run_catalog.at_controller(site.state, self.base)
        self.entries = {f"{entry.kind} {entry.key}": entry for entry in found}
        wanted = self.query_one(Filter)
        rows: list[Row] = [
            (key, cells)
            for key, e in self.entries.items()
            if wanted.passes(
                cells := [e.name, text_format.VERDICTS.get(e.state, e.state), e.when, e.text]
            )
        ]
        hint = HINT if rows else NO_LINE if found else NOTHING
        if site is not None:
            hint = f"At {site.address}: {site.why or 'connected'}. {hint}"
        self.query_one("#hint", Static).update(hint)
        self.query_one(Table).fill(("name", "state", "when, or lasts", "what"), rows)

    def draw(self, shown: Shown) -> None:
        self.look()

    @property
    def entry(self) -> run_catalog.Entry | None:
        """The line under the cursor."""
        return self.entries.get(self.query_one(Table).chosen or "")

    def on_table_reached(self, event: Table.Reached) -> None:
        """The line at length: a narrow terminal cuts it."""
        event.stop()
        entry = self.entries.get(event.key)
        if entry is not None:
            self.query_one("#meaning", Static).update(f"{entry.name}: {entry.text}")

    def on_table_taken(self, event: Table.Taken) -> None:
        """Enter or a click."""
        event.stop()
        entry = self.entries.get(event.key)
        if entry is not None:
            self.post_message(self.Opened(entry))
