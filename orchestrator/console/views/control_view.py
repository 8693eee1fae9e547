"""Control view: a plan's parameters with units and bounds; start, stop and live changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import Button, Static

from orchestrator.console.containers import Across
from orchestrator.console.plan_parameters import Parameter, parameters
from orchestrator.console.text_table import Row, Table
from orchestrator.console.views.view_base import Shown, View
from orchestrator.plan import ResolvedPlan

BUTTONS = (
    ("run", "Run (r)", "success"),
    ("stop", "Stop (s)", "default"),
    ("abort", "Abort", "error"),
    ("save_plan", "Save as plan (w)", "default"),
)
PICK = "No plan is chosen: press 1, choose a plan and press Enter."


@dataclass(frozen=True)
class ControlState:
    """State of the Control view: a live run, or a plan that is to be started."""

    title: str
    resolved: ResolvedPlan | None
    live: bool
    extra: Sequence[Parameter] = ()
    possible: frozenset[str] = frozenset()
    now_ps: int = -1
    """Values are those at this moment; -1: those that the run begins with."""


class Control(View):
    """See the module."""

    name_of = "Control"
    enter = "Change"
    help_text = """\
The parameters of the chosen plan, or of the run that goes on. Enter (or c) changes the one under
the cursor; what is typed is checked against its unit and bounds. While a run goes on only those
with ● can change; they take effect at once and become events, so that the run can be repeated:
w saves the plan with all of them in its timeline.

r starts a run, s stops it and keeps what was measured, Abort keeps nothing. x cuts or mends a
link, p pauses or resumes a port. What cannot be undone asks first.
"""

    class Chosen(Message):
        """This parameter is to be changed."""

        def __init__(self, parameter: Parameter) -> None:
            self.parameter = parameter
            super().__init__()

    class Pressed(Message):
        """A button."""

        def __init__(self, action: str) -> None:
            self.action = action
            super().__init__()

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, Parameter] = {}
        self.desk = ControlState("", None, False)

    def compose(self) -> ComposeResult:
        yield Static(PICK, id="title")
        with Across(id="buttons"):
            for action, label, kind in BUTTONS:
                yield Button(label, id=action, variant=kind)  # type: ignore[arg-type]
        yield Table(id="parameters")
        yield Static("", id="meaning")

    def draw(self, shown: Shown) -> None:
        """The desk is what counts here; see `lay`."""

    def lay(self, desk: ControlState) -> None:
        """Show a desk."""
        before = self.desk
        changed = desk.resolved is not before.resolved or desk.extra != before.extra
        steps = desk.resolved.actions if desk.resolved else ()
        changed |= any(before.now_ps < a.at <= desk.now_ps for a in steps)
        self.desk = desk
        self.query_one("#title", Static).update(desk.title if desk.resolved else PICK)
        for action, _, _ in BUTTONS:
            self.query_one(f"#{action}", Button).disabled = action not in desk.possible
        if not changed:
            return
        every = [*desk.extra, *(parameters(desk.resolved, desk.now_ps) if desk.resolved else [])]
        if desk.live:
            every = [p for p in every if p.live]
        self.known = {p.key: p for p in every}
        rows: list[Row] = [
            (p.key, ["●" if p.live else " ", p.key, p.value, p.unit, p.bounds]) for p in every
        ]
        self.query_one(Table).fill(("", "parameter", "value", "unit", "bounds"), rows)

    @property
    def parameter(self) -> Parameter | None:
        """The one under the cursor."""
        return self.known.get(self.query_one(Table).chosen or "")

    def on_table_taken(self, event: Table.Taken) -> None:
        """Enter or a click."""
        event.stop()
        parameter = self.known.get(event.key)
        if parameter is not None:
            self.post_message(self.Chosen(parameter))

    def on_table_reached(self, event: Table.Reached) -> None:
        """Say what the parameter does."""
        event.stop()
        parameter = self.known.get(event.key)
        if parameter is not None:
            when = "can change while the run goes on" if parameter.live else "before the run"
            within = f"{parameter.unit} {parameter.bounds}".strip()
            text = f"{parameter.key}: {parameter.help}; {within} ({when})"
            self.query_one("#meaning", Static).update(text)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """The same as the keys."""
        event.stop()
        self.post_message(self.Pressed(str(event.button.id)))
