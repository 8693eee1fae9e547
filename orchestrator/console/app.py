"""Textual application of the console: views of one run or of two side by side, and of a sweep."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterable
from typing import Any

from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Static

from orchestrator.console import key_bindings, text_format
from orchestrator.console.change_detection import all_moments
from orchestrator.console.containers import Page, Switcher
from orchestrator.console.footer import Keys
from orchestrator.console.key_actions import KeyActions
from orchestrator.console.views.control_view import Control
from orchestrator.console.views.events_view import Events
from orchestrator.console.views.overview_view import Overview
from orchestrator.console.views.queues_view import Queues
from orchestrator.console.views.rates_view import Rates
from orchestrator.console.views.runs_view import Runs
from orchestrator.console.views.sweep_view import Sweep
from orchestrator.console.views.topology_view import Topology
from orchestrator.console.views.view_base import View

STYLE_SHEET = """
Screen { layout: vertical; }
#top { height: 1; background: $panel; color: $text; }
#tabs { height: 1; background: $boost; }
#small { display: none; width: 100%; height: 100%; content-align: center middle; }
.too-small #small { display: block; }
.too-small #top, .too-small #tabs, .too-small #body, .too-small Keys { display: none; }
#body { height: 1fr; }
View { height: 1fr; padding: 0 1; }
.heading { text-style: bold; color: $accent; height: 1; }
.hint { color: $text-muted; width: 100%; height: auto; }
Table { height: 1fr; min-height: 3; }
#hint, #none, #title { height: auto; color: $text-muted; }
#progress { height: auto; margin-bottom: 1; }
#tables { height: 1fr; layout: vertical; }
.wide #tables { layout: horizontal; }
#left, #right { width: 1fr; height: 1fr; }
.wide #left { margin-right: 2; }
#reasons { height: auto; max-height: 5; }
#swept { height: 2; }
#points { height: auto; max-height: 9; }
#drawings { height: 1fr; }
#sides { height: 1fr; }
.side { width: 1fr; height: 1fr; }
.plots { width: 1fr; }
.upper { height: 2fr; }
.lower { height: 1fr; }
Rates .lower { height: 2fr; }
.values { width: 28; padding-left: 1; scrollbar-size-vertical: 1; }
.narrow .values { width: 25; }
.fairness { height: 1; }
.narrow .fairness { height: 2; }
.limiters { height: auto; max-height: 9; min-height: 4; scrollbar-size-vertical: 1; }
.limiters .numbers { height: auto; }
.narrow .limiters { max-height: 5; }
#near { height: 1fr; max-height: 15; border-top: solid $primary; }
Events Table { height: 2fr; }
#log { height: auto; max-height: 2; color: $text-muted; }
#buttons { height: 3; margin-bottom: 1; }
.narrow #buttons { margin-bottom: 0; }
#buttons Button { margin-right: 1; min-width: 10; }
#meaning { height: auto; min-height: 1; max-height: 3; color: $text-muted; }
ModalScreen { align: center middle; }
.dialog {
    width: 76; max-width: 95%; height: auto; max-height: 90%;
    border: thick $accent; background: $surface; padding: 0 1;
}
.dialog.wide { width: 100; height: 90%; }
.dialog OptionList, .dialog SelectionList { height: auto; max-height: 14; }
.dialog VerticalScroll { height: 1fr; }
.answers { height: 3; margin-top: 1; }
.answers Button { margin-right: 2; }
#wrong { height: auto; width: 100%; }
"""
LEAST = (80, 24)
ROOMY, WIDE = 110, 150


ENDING_S = 3.0
KINDS: dict[str, type[View]] = {
    "overview": Overview,
    "topology": Topology,
    "queues": Queues,
    "rates": Rates,
    "events": Events,
    "control": Control,
}


class Console(KeyActions):
    """See the module."""

    TITLE = "tailback"
    CSS = STYLE_SHEET
    ENABLE_COMMAND_PALETTE = True
    BINDINGS = [  # noqa: RUF012 (textual reads it so)
        Binding(a.keys, a.action, a.text, show=False, id=a.id, tooltip=a.help)
        for a in key_bindings.ACTIONS
    ]

    def get_default_screen(self) -> Screen[Any]:
        """The one below all dialogs."""
        return Page(id="_default")

    def compose(self) -> ComposeResult:
        yield Static("", id="small")
        yield Static("", id="top")
        yield Static("", id="tabs")
        with Switcher(id="body", initial="runs"):
            runs = Runs(self.base)
            runs.id = "runs"
            yield runs
            for name, kind in KINDS.items():
                view = kind()
                view.id = name
                yield view
            sweep = Sweep()
            sweep.id = key_bindings.SWEEP
            yield sweep
        yield Keys(self.text_of)

    def on_mount(self) -> None:
        """Begin with the run that was named, or with the list of what can be opened."""
        self.set_keymap(self.own_keys)
        if self.sweep is not None:
            self.opened_sweep(self.sweep)
        elif self.source is not None:
            self.opened(self.source)
        else:
            self.action_show_view("control" if self.draft else "runs")
        if self.ticking:
            self.collector.begin()
            self.begin_ticking()
            self._end_with_the_terminal()

    def on_unmount(self) -> None:
        """Leave the process as it was."""
        if self.ticking:
            self.collector.end()
            self.yielding.look(False)

    def _end_with_the_terminal(self) -> None:
        """End when the terminal is gone, or asked to; a dead one may hold up a tidy end."""
        if os.name == "nt":
            return  # there a console is ended by the system
        loop = asyncio.get_running_loop()

        def end(number: int) -> None:
            timer = threading.Timer(ENDING_S, os._exit, [128 + number])
            timer.daemon = True
            timer.start()
            self.exit(return_code=128 + number)

        for number in (signal.SIGHUP, signal.SIGTERM):
            loop.add_signal_handler(number, end, number)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette: every action that applies now."""
        for entry in key_bindings.ACTIONS:
            name = entry.action.partition("(")[0]
            if entry.text and self.check_action(name, ()):
                title = f"Go to {entry.text}" if name == "show_view" else entry.text
                detail = f"{entry.help or entry.text} ({self.key_of(entry)})"
                yield SystemCommand(title, detail, self._runner(entry.action))
        for moment in all_moments(self.data)[:50] if self.data else ():
            when = text_format.seconds(moment.time_ps)
            title = f"Jump to {moment.what} {moment.entity} at {when}"
            yield SystemCommand(title, moment.text or "in the plots", self._jumper(moment.time_ps))

    def _runner(self, action: str) -> Callable[[], Any]:
        async def go() -> None:
            await self.run_action(action)

        return go

    def _jumper(self, time_ps: int) -> Callable[[], None]:
        return lambda: self.jump(time_ps)

    def on_resize(self, event: Resize) -> None:
        """Say what is needed when the terminal is too small; more columns when it is wide."""
        width, height = event.size
        small = width < LEAST[0] or height < LEAST[1]
        self.screen_stack[0].set_class(small, "too-small")
        self.screen_stack[0].set_class(width >= WIDE, "wide")
        self.screen_stack[0].set_class(width < ROOMY, "narrow")
        if small:
            need = f"{LEAST[0]}×{LEAST[1]}"
            text = (
                f"This terminal is {width}×{height}.\nThe console needs {need} or more.\n(q quits)"
            )
            self.query_one("#small", Static).update(text)
        self.call_after_refresh(self.draw)
