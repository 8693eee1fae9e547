"""Live control of a run: one request per action, and its answer as a notification."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from textual.screen import Screen

from orchestrator.console import parameter_values
from orchestrator.console.dialogs import Ask, Choose, Confirm
from orchestrator.console.plan_parameters import Parameter
from orchestrator.console.run_data import RunData
from orchestrator.console.run_sources import Source
from orchestrator.errors import BadInput
from orchestrator.live import feed_messages
from orchestrator.live.live_changes import refusal_text, with_step


class LiveScreen(Protocol):
    """Screen that the live actions act on."""

    @property
    def source(self) -> Source | None:
        """Source of the screen's run."""

    @property
    def data(self) -> RunData | None:
        """Its run."""

    def notify(
        self,
        message: str,
        *,
        title: str = ...,
        severity: Literal["information", "warning", "error"] = ...,
    ) -> None:
        """Tell the person at the screen."""

    def push_screen(self, screen: Screen[Any], callback: Callable[[Any], None]) -> Any:
        """Ask the person at the screen; `callback` gets the answer."""


class LiveControl:
    """The live actions of a console."""

    def __init__(self, app: LiveScreen) -> None:
        self.app = app
        self._open: dict[str, str] = {}
        """Request -> what was asked, in words."""

    def ask(self, request: feed_messages.Request, what: str) -> None:
        """Send a request; a notification shows its answer."""
        number = self.app.source.ask(request) if self.app.source else None
        if number is not None:
            self._open[number] = what

    def answered(self, answer: feed_messages.Answer) -> None:
        """Tell how it went."""
        what = self._open.pop(answer.request, None)
        if what is None:
            return
        if answer.done:
            when = f" at {answer.at_ps / 1e12:.6g} s" if answer.at_ps is not None else ""
            self.app.notify(f"{what}{when}", title="Done")
        else:
            self.app.notify(f"{what}: {answer.text}", title="Refused", severity="error")

    def change(self, parameter: Parameter) -> None:
        """Ask for a new value and send it."""
        data = self.app.data
        assert data is not None
        key = parameter.key

        def check(text: str) -> str | None:
            return why_not(data, key, text)

        def send(text: str | None) -> None:
            if text is not None:
                self.ask(feed_messages.SetValue(key=key, to=text), f"{key} is {text}")

        hint = f"{parameter.help}; {parameter.unit} {parameter.bounds}".strip("; ")
        self.app.push_screen(Ask(f"Change {key} now", parameter.value, hint, check), send)

    def link(self) -> None:
        """Cut a link, or mend one."""
        data = self.app.data
        assert data is not None
        options = []
        cut = parameter_values.cut_links(data, data.now_ps)
        for name, link in data.plan.links.items():
            verb = "mend" if name in cut else "cut"
            options.append((f"{verb} {name}", f"{verb:<5} {name}   {' – '.join(link.ends)}"))

        def chosen(key: str | None) -> None:
            if key is not None:
                self._act(*key.split(" ", 1), ask=key.startswith("cut"))

        self.app.push_screen(Choose("Which link?", options), chosen)

    def port(self) -> None:
        """Pause a port, or resume one."""
        data = self.app.data
        assert data is not None
        options = []
        paused = parameter_values.paused_ports(data, data.now_ps)
        for port in data.plan.ports():
            verb = "resume" if port.entity in paused else "pause"
            label = f"{verb:<6} {port.entity}   towards {port.peer}"
            options.append((f"{verb} {port.entity}", label))

        def chosen(key: str | None) -> None:
            if key is not None:
                self._act(*key.split(" ", 1), ask=key.startswith("pause"))

        self.app.push_screen(Choose("Which port?", options), chosen)

    def _act(self, verb: str, name: str, *, ask: bool) -> None:
        words = {"cut": "Cut", "mend": "Mended", "pause": "Paused", "resume": "Resumed"}

        def go(sure: bool | None) -> None:
            if sure:
                request = feed_messages.Act.model_validate({"verb": verb, "of": name})
                self.ask(request, f"{words[verb]} {name}")

        if ask:
            question = f"{verb.title()} {name}? Traffic there stops until you undo it."
            self.app.push_screen(Confirm(question, verb.title()), go)
        else:
            go(True)

    def pace(self) -> None:
        """Ask how fast the run goes."""

        def check(text: str) -> str | None:
            return pace_wrong(text)

        def send(text: str | None) -> None:
            if text is not None:
                factor = pace_of(text)
                self.ask(feed_messages.Pace(factor=factor), f"pace {text or 'as fast as it goes'}")

        state = self.app.data.state if self.app.data else None
        now = "max" if state is None or state.pace is None else f"{state.pace:g}"
        hint = "seconds of the run per second: 1 is real time, 0.1 slow motion; max: no limit"
        self.app.push_screen(Ask("Pace of the run", now, hint, check), send)

    def stop(self) -> None:
        """End the run and keep it, when the person is sure."""

        def go(sure: bool | None) -> None:
            if sure:
                self.ask(feed_messages.Stop(), "The run is stopped and kept")

        question = "Stop the run now? What was measured is judged and kept."
        self.app.push_screen(Confirm(question, "Stop"), go)

    def abort(self) -> None:
        """End the run and keep nothing, when the person is sure."""

        def go(sure: bool | None) -> None:
            if sure:
                self.ask(feed_messages.Abort(), "The run is aborted")

        question = "Abort the run? Nothing that was measured is kept."
        self.app.push_screen(Confirm(question, "Abort"), go)


def why_not(data: RunData, key: str, text: str) -> str | None:
    """Why a value would not be accepted for a key of a run that goes on; None when it would."""
    if data.resolved is None:
        return "the plan of the run is not known yet"
    if not text:
        return "a value is expected"
    try:
        with_step(data.resolved, {"set": key, "to": text}, data.now_ps)
    except BadInput as error:
        problems = [problem for problem in error.problems if problem.where.startswith("timeline")]
        return problems[0].accepted if problems else refusal_text(error)
    return None


def pace_of(text: str) -> float | None:
    """The factor of a text; None: as fast as it goes. Raises ValueError."""
    if text in ("", "max"):
        return None
    factor = float(text.removeprefix("×"))
    if not 1e-6 <= factor <= 1e6:
        raise ValueError(text)
    return factor


def pace_wrong(text: str) -> str | None:
    """Error text of an invalid pace."""
    try:
        pace_of(text)
    except ValueError:
        return "a number from 0.000001 to 1000000, or max, is expected"
    return None
