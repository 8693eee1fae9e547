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

from orchestrator.console import keys, stylesheet, words
from orchestrator.console.actions import Acts
from orchestrator.console.footer import Keys
from orchestrator.console.found import all_moments
from orchestrator.console.grounds import Page, Switcher
from orchestrator.console.views.control import Control
from orchestrator.console.views.events import Events
from orchestrator.console.views.overview import Overview
from orchestrator.console.views.queues import Queues
from orchestrator.console.views.rates import Rates
from orchestrator.console.views.runs import Runs
from orchestrator.console.views.sweep import Sweep
from orchestrator.console.views.topology import Topology
from orchestrator.console.views.view import View

ENDING_S = 3.0
KINDS: dict[str, type[View]] = {
    "overview": Overview,
    "topology": Topology,
    "queues": Queues,
    "rates": Rates,
    "events": Events,
    "control": Control,
}


class Console(Acts):
    """See the module."""

    TITLE = "tailback"
    CSS = stylesheet.CSS
    ENABLE_COMMAND_PALETTE = True
    BINDINGS = [  # noqa: RUF012 (textual reads it so)
        Binding(a.keys, a.action, a.text, show=False, id=a.id, tooltip=a.help) for a in keys.ACTIONS
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
            sweep.id = keys.SWEEP
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
        for entry in keys.ACTIONS:
            name = entry.action.partition("(")[0]
            if entry.text and self.check_action(name, ()):
                title = f"Go to {entry.text}" if name == "show_view" else entry.text
                detail = f"{entry.help or entry.text} ({self.key_of(entry)})"
                yield SystemCommand(title, detail, self._runner(entry.action))
        for moment in all_moments(self.data)[:50] if self.data else ():
            when = words.seconds(moment.time_ps)
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
        small = width < stylesheet.LEAST[0] or height < stylesheet.LEAST[1]
        self.screen_stack[0].set_class(small, "too-small")
        self.screen_stack[0].set_class(width >= stylesheet.WIDE, "wide")
        self.screen_stack[0].set_class(width < stylesheet.ROOMY, "narrow")
        if small:
            need = f"{stylesheet.LEAST[0]}×{stylesheet.LEAST[1]}"
            text = (
                f"This terminal is {width}×{height}.\nThe console needs {need} or more.\n(q quits)"
            )
            self.query_one("#small", Static).update(text)
        self.call_after_refresh(self.draw)
