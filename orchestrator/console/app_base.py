"""Base of the console application: polling of sources, drawing, conditions of actions."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual.app import App
from textual.binding import Binding
from textual.events import Event, InputEvent
from textual.widgets import Static

from orchestrator.console import (
    cpu_throttle,
    key_bindings,
    live_expectations,
    run_sources,
    text_format,
)
from orchestrator.console.containers import Switcher
from orchestrator.console.garbage_collection import Collector
from orchestrator.console.live_control import LiveControl
from orchestrator.console.plan_parameters import Parameter, target_parameters
from orchestrator.console.run_data import RunData
from orchestrator.console.run_launcher import Draft, StartedRun
from orchestrator.console.sweep_map import cuts
from orchestrator.console.sweep_sources import SweepSource
from orchestrator.console.time_window import Window
from orchestrator.console.views.control_view import Control, ControlState
from orchestrator.console.views.runs_view import Runs
from orchestrator.console.views.sweep_view import STATES, Sweep
from orchestrator.console.views.view_base import Shown, View
from orchestrator.errors import TailbackError
from orchestrator.live import feed_messages
from orchestrator.registry import Registry

if TYPE_CHECKING:
    from orchestrator.console.controller_session import ControllerSession

TICK_S = 0.1
"""Between two looks for news."""
DRAW_S = 0.2
"""The views are not drawn more often than this while a run goes on ..."""
REST = 4.0
"""... and less often when drawing is much work: so much rest for each second of the processor."""

FIRST_SPAN_PS = 2 * 10**12
"""What is shown at first of a run that goes on: all of it, or two seconds."""


class ConsoleBase(App[None]):
    """See the module. `clock` gives seconds, `cpu` those of the
    processor that went into this process; `base` is where run folders are looked for."""

    def __init__(
        self,
        source: run_sources.Source | None = None,
        *,
        base: Path = Path("runs"),
        clock: Callable[[], float] = run_sources.clock,
        cpu: Callable[[], float] = time.process_time,
        ticking: bool = True,
        draft: Draft | None = None,
        sweep: SweepSource | None = None,
    ) -> None:
        super().__init__()
        self.sweep: SweepSource | None = sweep
        self.source: run_sources.Source | None = source
        self.other: run_sources.Source | None = None
        self.own_keys: dict[str, str] = {}
        """The user's own bindings; the command reads them before, so that mistakes end it."""
        self.base, self.clock, self.cpu, self.ticking = base, clock, cpu, ticking
        self._spent = cpu()
        self.window = Window()
        self.steer = LiveControl(self)
        self.draft: Draft | None = draft
        self.started: StartedRun | None = None
        self._of_started: run_sources.Source | None = None
        """What shows the run that was started; None while it cannot be watched."""
        self.site: ControllerSession | None = None
        """The controller where runs are looked for and started; None: this machine."""
        self.view = "runs"
        self._ticked = self._touched = clock()
        self._ticks_seldom = False
        self.collector, self.yielding = Collector(), cpu_throttle.CpuThrottle()
        self._drawn: tuple[Any, ...] = ()
        self._drew = 0.0
        self._tabbed = self._still = ""
        """Texts of the tabs and of the space key that were last drawn."""
        self._judged: tuple[str, int] = ("", -1)
        self._was_live = False
        self._could: tuple[str, ...] = ()
        """What the run could be asked when the keys were last shown."""
        self._spanned = True
        self._could_sweep: tuple[Any, int] = (None, 0)
        """How the sweep is looked at, and how many metrics it has, when keys were last shown."""

    # --- what there is

    @property
    def data(self) -> RunData | None:
        """The run that keys act on."""
        return self.source.data if self.source else None

    @property
    def shown(self) -> Shown:
        """Runs and time window that the views draw."""
        return Shown([s.data for s in (self.source, self.other) if s], self.window)

    @property
    def newest_ps(self) -> int:
        """The end of what can be shown."""
        return max((data.now_ps for data in self.shown.runs), default=0)

    # --- time

    def tick(self) -> None:
        """Take in what is new, let time pass, draw when something changed."""
        if not self.is_running:
            return  # it is being closed: the widgets go, one by one
        now = self.clock()
        passed, self._ticked = now - self._ticked, now
        for source in (self.source, self.other):
            for answer in source.poll() if source else ():
                self.on_answer(answer)
        if self.sweep is not None:
            self.sweep.poll()
        self.watch_started()
        if self.ticking:
            self.collector.look(now - self._touched)
            self.yielding.look(
                isinstance(self.source, run_sources.LiveSource) and self.source.spins
            )
        data = self.data
        if data is not None:
            if data.plan is not None and not self._spanned:
                self._spanned = True
                self.window.span_ps = min(data.duration_ps, FIRST_SPAN_PS)
            self._judge(data)
            can = tuple(data.state.accepts) if data.state else ()
            if (data.live, can) != (self._was_live, self._could):
                self._was_live, self._could = data.live, can
                self.refresh_bindings()
        self.window.move_on(self.newest_ps, passed)
        state = self._state()
        spent = self.cpu()
        if state != self._drawn and now - self._drew >= self._rest(spent - self._spent):
            self._drew, self._spent = now, spent
            self.draw()

    def on_answer(self, answer: feed_messages.Reply) -> None:
        """Handle the answer of a run to a request."""
        if isinstance(answer, feed_messages.Answer):
            self.steer.answered(answer)

    def _rest(self, spent: float) -> float:
        """Seconds between two drawings, when so many of the processor went by meanwhile."""
        if not self.yielding.now:
            return max(DRAW_S, REST * spent)
        return min(max(cpu_throttle.DRAW_S, cpu_throttle.REST * spent), cpu_throttle.MOST_DRAW_S)

    def begin_ticking(self) -> None:
        """Let time pass."""
        self._often = self.set_interval(TICK_S, self._tick_on)
        self._seldom = self.set_interval(cpu_throttle.TICK_S, self._tick_on, pause=True)

    def _tick_on(self) -> None:
        self.tick()
        quiet = self.clock() - self._touched > cpu_throttle.QUIET_S
        self._tick_seldom(self.yielding.now and quiet)

    def _tick_seldom(self, seldom: bool) -> None:
        if seldom == self._ticks_seldom:
            return
        self._ticks_seldom = seldom
        begins, ends = (self._seldom, self._often) if seldom else (self._often, self._seldom)
        ends.pause()
        begins.reset()
        begins.resume()

    async def on_event(self, event: Event) -> None:
        """Note the time of the latest key or mouse event."""
        if isinstance(event, InputEvent):
            self._touched = self.clock()
            self._tick_seldom(False)
        await super().on_event(event)

    def _state(self) -> tuple[Any, ...]:
        """Values on which the screen depends."""
        window = self.window
        return (
            self.view,
            self.site.version if self.site else 0,
            self.sweep.data.version if self.sweep else 0,
            *(data.version for data in self.shown.runs),
            *(int(data.stale_s) for data in self.shown.runs),
            window.cursor_ps,
            window.span_ps,
            window.follow,
            window.playing,
            window.speed,
            self.size,
        )

    def draw(self) -> None:
        """Draw the top line and the visible view."""
        if not self.is_running:
            return
        self._drawn = self._state()
        if self._stills != self._still:
            self._still = self._stills
            self.refresh_bindings()
        self.query_one("#top", Static).update(self._top(), layout=False)
        if self._tabbed != (tabbed := f"{self.view} {self.sweep is not None}"):
            self._tabbed = tabbed
            self.query_one("#tabs", Static).update(self._tabs(), layout=False)
        view = self.query_one(f"#{self.view}", View)
        if isinstance(view, Control):
            view.lay(self.desk())
        if isinstance(view, Sweep):
            view.lay(self.sweep.data if self.sweep else None)
            self._refresh_sweep_keys(view)
        view.draw(self.shown)

    def _top(self) -> Text:
        text = Text().append(" tailback ", "bold reverse")
        if self.view == key_bindings.SWEEP and self.sweep is not None:
            sweep = self.sweep.data
            text.append(f" sweep of {sweep.name} ", "bold").append(
                *STATES.get(sweep.state, (sweep.state, ""))
            )
            return text.append(f"  {sweep.title}")
        data = self.data
        if data is None:
            return text.append("  no run is open")
        text.append(f" {data.name} ", "bold")
        state = data.state
        if state is not None:
            text.append(f"on {state.target}  ")
            text.append(
                text_format.STAGES[state.stage], text_format.COLOURS.get(state.stage, "yellow")
            )
        if data.stale_s:
            text.append(f"  STALE {data.stale_s:.0f} s, reconnecting", "bold red")
        verdict = data.judged.verdict if data.judged else None
        if verdict:
            text.append(
                f"  {text_format.VERDICTS.get(verdict, verdict)}",
                text_format.COLOURS.get(verdict, ""),
            )
        text.append(f"  {text_format.seconds(self.window.cursor_ps)} ", "bold")
        text.append(self._mode(data))
        if data.dropped:
            text.append(f"  {data.dropped} rows dropped", "yellow")
        if self.other is not None:
            text.append(f"  beside {self.other.data.name}")
        return text

    def _mode(self, data: RunData) -> str:
        window = self.window
        if data.live:
            pace = data.state.pace if data.state else None
            speed = f" pace ×{pace:g}" if pace else ""
            return ("following" if window.follow else "FROZEN") + speed
        return f"▶ playing ×{window.speed:g}" if window.playing else f"‖ speed ×{window.speed:g}"

    def _tabs(self) -> str:
        """The views as text that can be clicked, in textual's markup."""
        tabs = []
        every = (
            (*key_bindings.VIEWS, key_bindings.SWEEP)
            if self.sweep is not None
            else key_bindings.VIEWS
        )
        end = " " if self.sweep is None else ""  # eight of them fit the least terminal like that
        for number, name in enumerate(every, 1):
            style = "bold reverse" if name == self.view else "not bold"
            text = f" {number} {name.title()}{end}"
            tabs.append(f"[{style} @click=app.show_view('{name}')]{text}[/]")
        return " ".join(tabs)

    def _refresh_sweep_keys(self, view: Sweep) -> None:
        """Keys that apply once metrics are known."""
        could = (view.look, len(view.data.units) if view.data else 0)
        if could != self._could_sweep:
            self._could_sweep = could
            self.refresh_bindings()

    def _judge(self, data: RunData) -> None:
        """Judge the phases that are over, each once."""
        if data.resolved is None or (data.judged is not None and data.judged.final):
            return
        over = len(live_expectations.phases_over(data))
        if (data.name, over) != self._judged or data.judged is None:
            self._judged = (data.name, over)
            data.judged = live_expectations.judge_so_far(data)
            data.version += 1

    # --- runs

    def opened(self, source: run_sources.Source) -> None:
        """Show another run."""
        if self.source is not None and self.source is not source:
            self.source.close()
        self.source = source
        self._judged = ("", -1)
        source.poll()
        data = source.data
        live = data.live or data.state is None
        self._was_live = data.live
        span = FIRST_SPAN_PS if live else max(data.now_ps, 1)
        self._spanned = not live
        self.window = Window(cursor_ps=data.now_ps, span_ps=span, follow=live)
        if live and self.view in ("runs", "control"):
            self.action_show_view("queues")
        else:
            self.action_show_view("overview" if self.view in ("runs", "control") else self.view)

    def opened_sweep(self, source: SweepSource) -> None:
        """Show another sweep; the run that is open stays."""
        if self.sweep is not None and self.sweep is not source:
            self.sweep.close()
        self.sweep = source
        source.poll()
        self.action_show_view(key_bindings.SWEEP)

    def desk(self) -> ControlState:
        """Subject of the Control view: the live run, or the plan to be started."""
        possible = frozenset(
            a.action
            for a in key_bindings.ACTIONS
            if self.check_action(a.action.partition("(")[0], ())
        )
        data = self.data
        if data is not None and data.live and data.resolved is not None:
            title = f"{data.name} goes on: ● can be changed now (Enter)"
            return ControlState(title, data.resolved, True, (), possible, data.now_ps)
        if self.draft is None and data is not None and data.resolved is not None:
            self.draft = Draft.from_plan(data.resolved.plan)  # a finished run can be run again
        if self.draft is None:
            return ControlState("", None, False, (), possible)
        draft = self.draft
        pace = "max" if draft.pace is None else f"{draft.pace:g}"
        if self.site is not None:
            title = (
                f"{draft.name}: {draft.resolved.plan.title}   (r runs it at {self.site.address})"
            )
            return ControlState(title, draft.resolved, False, (), possible)
        extra: tuple[Parameter, ...] = (
            Parameter("target", draft.target, "name", self.targets(), "where nodes live", False),
            Parameter("pace", pace, "s/s", "> 0, or max", "of a simulated run", False),
        )
        options = target_parameters(draft.resolved, Registry.load().target_options)
        extra += tuple(one for one in options if one.key != "targets.simulated.pace")
        title = f"{draft.name}: {draft.resolved.plan.title}   (r runs it, Enter changes a value)"
        return ControlState(title, draft.resolved, False, extra, possible)

    # --- textual

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action applies now; the footer and the palette show only those."""
        entry = next(
            (a for a in key_bindings.ACTIONS if a.action.partition("(")[0] == action), None
        )
        if entry is None:
            return True
        return all(self.holds(need) for need in entry.needs)

    def key_of(self, entry: key_bindings.Action) -> str:
        """The key of an action for people, as the user has it."""
        own = self.own_keys.get(entry.id, entry.keys).split(",")[0]
        return self.get_key_display(Binding(own, "none", ""))

    def text_of(self, binding: Binding) -> str:
        """Text of a key in this view now; empty when the footer omits it."""
        if binding.action == "take":
            return self.query_one(f"#{self.view}", View).enter
        entry = next((a for a in key_bindings.ACTIONS if a.id == binding.id), None)
        if entry is None or self.view not in entry.shown:
            return ""
        return self._stills if entry.id == "time.freeze" else entry.text

    @property
    def _stills(self) -> str:
        """Text of the space key: freeze, follow, play or stop."""
        if self.data is not None and self.data.live:
            return "Freeze" if self.window.follow else "Follow"
        return "Stop playing" if self.window.playing else "Play"

    def holds(self, need: str) -> bool:
        """Evaluate a condition of `keys.ACTIONS`."""
        data = self.data
        accepts = data.state.accepts if data is not None and data.live and data.state else ()
        match need:
            case "run":
                return data is not None
            case "plan":
                return self.draft is not None or (data is not None and data.resolved is not None)
            case "finished":
                return data is not None and not data.live
            case "other":
                return self.other is not None
            case "lines":
                return data is not None or self.view == "runs"
            case "sweep":
                return self.sweep is not None
            case "metrics" | "turns" | "cuts":
                return self.view == key_bindings.SWEEP and self._can_look(need)
            case "plots":
                return data is not None and self.view in ("queues", "rates")
            case "draft":
                starting = self.started is not None and self._of_started is None
                return self.draft is not None and not starting and not (data and data.live)
            case "changeable":
                live = data is not None and data.live
                return "set" in accepts if live else self.draft is not None
        return need in accepts

    def _can_look(self, need: str) -> bool:
        """Return whether the sweep has another column, axis pair or cut to show."""
        if self.sweep is None:
            return False
        data = self.sweep.data
        if need == "metrics":
            return len(data.units) > 1
        if need == "turns":
            return len(data.axes) > 2
        return len(data.axes) > 2 and len(cuts(data, self.query_one(Sweep).look)) > 1

    def action_show_view(self, name: str) -> None:
        """Go to a view."""
        self.view = name
        self.query_one("#body", Switcher).current = name
        view = self.query_one(f"#{name}", View)
        if isinstance(view, Runs):
            view.look()
        self.draw()
        self.refresh_bindings()
        focus = next((w for w in view.query("Table, Drawing") if w.display), None)
        self.screen.set_focus(focus if focus is not None and focus.focusable else None)

    def begun(self, started: StartedRun) -> None:
        """A run was started: show it as soon as it can be watched, and start none until then."""
        if self.started is not None:
            self.started.close()
        self.started, self._of_started = started, None
        self.refresh_bindings()

    def watch_started(self) -> None:
        """Open the started run as soon as it can be watched; show its messages."""
        started = self.started
        if started is None:
            return
        lines = [("info", line) for line in started.new_lines()]
        if self._of_started is not None:
            self._of_started.data.lines += lines
        elif (source := started.source()) is not None:
            source.data.lines += lines
            self._of_started = source
            self.opened(source)
            self.refresh_bindings()
        elif (why := started.failure()) is not None:
            self.notify(why, title="The run did not start", severity="error", timeout=15)
            self._forget_started(started)
        elif started.ended():
            self._show_finished(started.run_folder())
            self._forget_started(started)

    def _show_finished(self, folder: Path | None) -> None:
        """Show a run that was over before it could be watched."""
        if folder is None:
            where = "; see Runs" if self.site is None else ""
            self.notify(f"It was over before it could be watched{where}", title="Ended")
            return
        try:
            self.opened(run_sources.FolderSource(folder))
        except TailbackError as error:
            self.notify(str(error), title="It cannot be opened", severity="error")

    def _forget_started(self, started: StartedRun) -> None:
        started.close()
        self.started = None
        self.refresh_bindings()

    def targets(self) -> str:
        """Names of the targets."""
        return " | ".join(target.name for target in Registry.load().targets)
