"""Key actions of the console."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from textual import work

from orchestrator.console import change_detection, key_bindings, run_sources
from orchestrator.console.app_base import ConsoleBase
from orchestrator.console.dialogs import Ask, Choose, Confirm, Help, Pick
from orchestrator.console.filter_field import Filter
from orchestrator.console.live_control import pace_of, pace_wrong
from orchestrator.console.plan_parameters import Parameter, parameters
from orchestrator.console.run_data import Moment, RunData
from orchestrator.console.run_launcher import Draft, LocalRun
from orchestrator.console.sweep_map import Look
from orchestrator.console.sweep_sources import RESULT, JournalSource, SweepFolder, is_sweep
from orchestrator.console.views.control_view import Control
from orchestrator.console.views.events_view import Events
from orchestrator.console.views.queues_view import Queues
from orchestrator.console.views.rates_view import Rates
from orchestrator.console.views.runs_view import Runs
from orchestrator.console.views.sweep_view import Sweep
from orchestrator.console.views.view_base import View
from orchestrator.errors import BadInput, TailbackError
from orchestrator.live import feed_messages, session_registry
from orchestrator.plan import Plan
from orchestrator.plan.units import DURATION, UnitError
from orchestrator.recording import FrameSeen
from orchestrator.registry import Registry

FRAMES = 12


def near(folder: Path, time_ps: int) -> list[FrameSeen]:
    """The captured frames nearest to a moment, as plugins read them."""
    answers = Registry.load().call("tailback_frames", folder=folder, time_ps=time_ps, most=FRAMES)
    return sorted((frame for found in answers for frame in found), key=lambda f: f.time_ps)


def decoded(frames: Sequence[feed_messages.CapturedFrame]) -> list[FrameSeen]:
    """Frames of a run that goes on, as plugins read them."""
    registry = Registry.load()
    found = []
    for frame in frames:
        octets = np.frombuffer(bytes.fromhex(frame.octets), np.uint8)
        answers = registry.call("tailback_frame_words", octets=octets, length=frame.length)
        kind, text = answers[0] if answers else ("other", f"{frame.length} B")
        found.append(FrameSeen(frame.time_ps, frame.port, frame.outgoing, kind, text))
    return found


class KeyActions(ConsoleBase):
    """See the module."""

    _frames_moment: tuple[str, RunData, Moment] | None = None
    """The request for frames of a run that goes on which was sent last."""

    # --- views

    def action_help(self) -> None:
        """Show the view's help text and the keys that apply."""
        view = self.query_one(f"#{self.view}", View)
        key_help = []
        for a in key_bindings.ACTIONS:
            if a.text and self.check_action(a.action.partition("(")[0], ()):
                key_help.append((self.key_of(a), a.help or a.text))
        key_help.append(("ctrl+p", "everything that can be done now"))
        self.push_screen(Help(view.name_of, view.help_text, key_help))

    def action_toggle_look(self) -> None:
        """Dark or light."""
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    def action_leave(self) -> None:
        """Quit; a run that was started here may go on."""
        if self.data is None or not self.data.live or self.started is None:
            self.exit()
            return
        options = [
            ("go", "Leave the console, let the run go on"),
            ("abort", "Abort the run and leave"),
            ("stay", "Stay"),
        ]

        def chosen(key: str | None) -> None:
            if key == "abort" and self.started is not None:
                self.started.abort()
            if key in ("go", "abort"):
                self.exit()

        self.push_screen(Choose("The run goes on.", options), chosen)

    # --- sweeps

    def action_sweep(self) -> None:
        """The sweep that is open."""
        self.action_show_view(key_bindings.SWEEP)

    def action_metric(self) -> None:
        """The next metric."""
        self._look_on(column=1)

    def action_turn(self) -> None:
        """The next two parameters; of those that are not drawn their first values."""
        self._look_on(turn=1)

    def action_cut(self) -> None:
        """The next values of the parameters that are not drawn."""
        self._look_on(cut=1)

    def _look_on(self, column: int = 0, turn: int = 0, cut: int = 0) -> None:
        view = self.query_one(Sweep)
        before = view.look
        at = 0 if turn else before.cut + cut
        view.look = Look(before.column + column, before.turn + turn, at)
        self.draw()

    # --- time

    def action_freeze(self) -> None:
        """Freeze or follow a live run; play or stop a finished one."""
        if self.data is not None:
            self.window.play(self.newest_ps, live=self.data.live)
            self.draw()

    def action_pan(self, share: float) -> None:
        """Move in time."""
        self.window.pan(share, self.newest_ps)
        self.draw()

    def action_zoom(self, factor: float) -> None:
        """Show more or less time."""
        most = max((data.duration_ps for data in self.shown.runs), default=1)
        self.window.zoom(factor, most)
        self.draw()

    def action_show_all(self) -> None:
        """Show all of it."""
        self.window.span_ps = max((data.duration_ps for data in self.shown.runs), default=1)
        self.window.cursor_ps = self.newest_ps
        self.draw()

    def action_newest(self) -> None:
        """Go to the newest sample, and follow a live run."""
        self.window.go(self.newest_ps, self.newest_ps)
        self.window.follow = self.data is not None and self.data.live
        self.draw()

    def action_speed(self, step: int) -> None:
        """Play faster or slower."""
        self.window.faster(step)
        self.draw()

    def action_go(self) -> None:
        """Type a moment."""

        def wrong(text: str) -> str | None:
            try:
                DURATION.parse(text)
            except UnitError as error:
                return str(error)
            return None

        def go(text: str | None) -> None:
            if text is not None:
                self.jump(DURATION.parse(text))

        now = DURATION.format(self.window.cursor_ps)
        self.push_screen(Ask("Go to", now, "a time of the run, such as 1.2s or 300ms", wrong), go)

    def jump(self, time_ps: int) -> None:
        """Show a moment in the plots, a little right of the middle of them."""
        self.window.go(time_ps, self.newest_ps)
        if self.view not in ("queues", "rates", "topology", "overview"):
            self.action_show_view("queues")
        self.draw()

    # --- plots and events

    def action_choose(self) -> None:
        """Mark what is plotted."""
        view = self.query_one(f"#{self.view}", View)
        assert self.data is not None
        assert isinstance(view, Queues | Rates)
        options = view.choices(self.data)
        chosen = view.chosen or options[:1]

        def take(names: list[str] | None) -> None:
            if names is not None:
                view.chosen = names[:8]
                self.draw()

        self.push_screen(Pick("What is plotted", options, chosen), take)

    def action_next(self) -> None:
        """The next one alone."""
        view = self.query_one(f"#{self.view}", View)
        assert self.data is not None
        assert isinstance(view, Queues | Rates)
        options = view.choices(self.data)
        if not options:
            return
        now = view.chosen[-1] if view.chosen and view.chosen[-1] in options else None
        place = options.index(now) + 1 if now is not None else 1
        view.chosen = [options[place % len(options)]]
        self.draw()

    def action_filter(self) -> None:
        """Filter the list of runs, or events."""
        if self.view != "runs":
            self.action_show_view("events")
        self.query_one(f"#{self.view}", View).query_one(Filter).begin()

    def action_unfilter(self) -> None:
        """Show all lines again."""
        for field in self.query_one(f"#{self.view}", View).query(Filter):
            field.end()
            self.draw()

    def on_input_changed(self, event: Any) -> None:
        """The filter takes effect while it is typed."""
        if event.input.id == "filter":
            self.draw()

    def on_events_jump(self, message: Events.Jump) -> None:
        """Enter on an event."""
        self.jump(message.moment.time_ps)

    def on_events_near(self, message: Events.Near) -> None:
        """The cursor stands on an event: look for frames, off this thread."""
        data, moment = self.data, message.moment
        if data is None:
            return
        if data.folder and not data.live:
            self.look_for_frames(data, moment)
        elif self.holds("look") and moment.time_ps <= data.now_ps and self.source is not None:
            request = feed_messages.FramesNear(time_ps=moment.time_ps, most=FRAMES)
            number = self.source.ask(request)
            self._frames_moment = (number, data, moment) if number is not None else None

    def on_answer(self, answer: feed_messages.Reply) -> None:
        """Frames of a run that goes on, or why there are none; all else is the steering's."""
        if self._frames_moment is None or answer.request != self._frames_moment[0]:
            super().on_answer(answer)
            return
        _, data, moment = self._frames_moment
        self._frames_moment = None
        if isinstance(answer, feed_messages.CapturedFrames):
            self.decode_frames(answer.frames, data, moment)
        else:
            self.query_one(Events).say(answer.text)

    @work(thread=True, exclusive=True, group="frames")
    def decode_frames(
        self, frames: Sequence[feed_messages.CapturedFrame], data: RunData, moment: Moment
    ) -> None:
        """Ask the plugins that know frames."""
        self.call_from_thread(self.query_one(Events).show_frames, decoded(frames), data, moment)

    @work(thread=True, exclusive=True, group="frames")
    def look_for_frames(self, data: RunData, moment: Moment) -> None:
        """Ask the plugins that read captures."""
        try:
            frames = near(Path(data.folder or ""), moment.time_ps)
        except (OSError, TailbackError) as error:
            self.call_from_thread(self.notify, str(error), severity="error")
            return
        self.call_from_thread(self.query_one(Events).show_frames, frames, data, moment)

    # --- runs

    def on_runs_opened(self, message: Runs.Opened) -> None:
        """Enter on a line of the list of runs."""
        entry = message.entry
        try:
            if entry.kind == "live":
                note = next(
                    (n for n in session_registry.running_sessions() if n.run == entry.key), None
                )
                if note is not None:
                    self.opened(run_sources.LiveSource(note.address, note.run, note.plan))
            elif entry.kind == "remote":
                source = self.site.source(entry.key) if self.site else None
                if source is not None:
                    self.opened(source)
                else:
                    self.notify("It cannot be watched yet: it waits for its turn, or has ended")
            elif entry.kind == "sweeping":
                self.opened_sweep(JournalSource(Path(entry.key)))
            elif entry.kind == "swept":
                self.opened_sweep(SweepFolder(Path(entry.key)))
            elif entry.kind == "run":
                self.opened(run_sources.FolderSource(Path(entry.key)))
            else:
                self.draft = Draft.of(entry.key)
                self.action_show_view("control")
        except TailbackError as error:
            self.notify(str(error), title="It cannot be opened", severity="error")

    def action_open_folder(self) -> None:
        """Type a path."""

        def wrong(text: str) -> str | None:
            if (Path(text) / "result.json").is_file() or is_sweep(Path(text)):
                return None
            there = f"there is no result.json in it, and no {RESULT}"
            return f"{text or 'nothing'} is no folder of a run or a sweep: {there}"

        def go(text: str | None) -> None:
            if text is None:
                return
            try:
                if is_sweep(Path(text)):
                    self.opened_sweep(SweepFolder(Path(text)))
                else:
                    self.opened(run_sources.FolderSource(Path(text)))
            except TailbackError as error:
                self.notify(str(error), title="It cannot be opened", severity="error")

        self.push_screen(Ask("Open a run folder", "", "its path", wrong), go)

    def action_compare(self) -> None:
        """Choose a finished run for the second place."""
        runs = self.query_one(Runs)
        runs.look()
        finished = [e for e in runs.entries.values() if e.kind == "run"]
        options = [(str(n), f"{e.name:<18} {e.when} {e.state}") for n, e in enumerate(finished)]
        if not options:
            self.notify(f"There is no finished run in {self.base}/", severity="warning")
            return

        def chosen(key: str | None) -> None:
            if key is None:
                return
            try:
                self.other = run_sources.FolderSource(Path(finished[int(key)].key))
            except TailbackError as error:
                self.notify(str(error), title="It cannot be opened", severity="error")
            if self.view not in ("overview", "topology", "queues", "rates"):
                self.action_show_view("queues")
            self.draw()
            self.refresh_bindings()

        self.push_screen(Choose("Which run beside this one?", options), chosen)

    def action_alone(self) -> None:
        """Show one run only."""
        if self.other is not None:
            self.other.close()
            self.other = None
            self.draw()
            self.refresh_bindings()

    # --- control

    def action_run(self) -> None:
        """Start the plan on the desk."""
        assert self.draft is not None
        draft = self.draft
        if self.site is not None:
            self.begun(self.site.begin(draft.resolved.plan))
            self.notify(f"{draft.name} is handed to {self.site.address}", title="Started")
            return
        self.begun(LocalRun(draft, self.base))
        pace = draft.pace if draft.target == "simulated" else None
        slow = f", {pace:g} s of it per second" if pace else ""
        self.notify(f"{draft.name} starts on {draft.target}{slow}", title="Started")

    def action_stop(self) -> None:
        """End the run and keep it."""
        self.steer.stop()

    def action_abort(self) -> None:
        """End the run and keep nothing."""
        self.steer.abort()

    def action_link(self) -> None:
        """Cut or mend."""
        self.steer.link()

    def action_port(self) -> None:
        """Pause or resume."""
        self.steer.port()

    def action_pace(self) -> None:
        """Faster or slower."""
        self.steer.pace()

    def on_control_pressed(self, message: Control.Pressed) -> None:
        """A button of Control."""
        getattr(self, f"action_{message.action}")()

    def on_control_chosen(self, message: Control.Chosen) -> None:
        """Enter on a parameter."""
        self.change(message.parameter)

    def action_change(self) -> None:
        """Change the parameter under the cursor; elsewhere choose one first."""
        control = self.query_one(Control)
        if self.view == "control" and control.parameter is not None:
            self.change(control.parameter)
            return
        live = self.data is not None and self.data.live
        holder = self.data if live else self.draft
        if holder is None or holder.resolved is None:
            return
        resolved, at = holder.resolved, self.newest_ps if live else -1
        known = {p.key: p for p in parameters(resolved, at) if p.live or not live}
        options = [(key, f"{key} = {p.value}") for key, p in known.items()]
        self.push_screen(
            Choose("Which parameter?", options),
            lambda key: self.change(known[key]) if key else None,
        )

    def action_service_rate(self) -> None:
        """Change a service rate: the one there is, or one of them."""
        assert self.data is not None
        assert self.data.resolved is not None
        every = parameters(self.data.resolved, self.data.now_ps)
        known = {p.key: p for p in every if p.key.endswith(".service_rate")}
        if len(known) == 1:
            self.change(next(iter(known.values())))
            return
        options = [(key, f"{key} = {p.value}") for key, p in known.items()]
        self.push_screen(
            Choose("Which one?", options), lambda key: self.change(known[key]) if key else None
        )

    def change(self, parameter: Parameter) -> None:
        """A new value: for the run that goes on, or for the plan that is about to be run."""
        if self.data is not None and self.data.live:
            self.steer.change(parameter)
            return
        draft = self.draft
        if draft is None:
            return

        def wrong(text: str) -> str | None:
            if parameter.key == "pace":
                return pace_wrong(text)
            try:
                Draft(draft.name, draft.resolved, draft.target).change(parameter.key, text)
                Registry.load().target(text if parameter.key == "target" else draft.target)
            except BadInput as error:
                return error.problems[0].accepted if error.problems else str(error)
            return None

        def take(text: str | None) -> None:
            if text is None:
                return
            if parameter.key == "pace":
                draft.pace = pace_of(text)
            else:
                draft.change(parameter.key, text)
            self.draw()

        hint = f"{parameter.help}; {parameter.unit} {parameter.bounds}"
        self.push_screen(Ask(f"Change {parameter.key}", parameter.value, hint, wrong), take)

    def action_rerun(self) -> None:
        """The plan of this run, with all that was changed in it, to Control."""
        if self.data is not None and self.data.resolved is not None:
            self.draft = Draft.from_plan(self.data.resolved.plan)
        self.action_show_view("control")

    def action_save_plan(self) -> None:
        """Write the plan, with what was changed live in its timeline, to a file."""
        live = self.data is not None and self.data.resolved is not None
        plan: Plan | None = self.data.plan if live and self.data else None
        if (plan is None or self.view == "control") and self.draft is not None:
            plan = plan if self.data is not None and self.data.live else self.draft.resolved.plan
        if plan is None:
            return

        def wrong(text: str) -> str | None:
            path = Path(text)
            if path.suffix != ".toml":
                return "a name that ends in .toml is expected"
            return None if path.parent.is_dir() else f"there is no folder {path.parent}"

        def write(text: str | None) -> None:
            if text is None:
                return
            path = Path(text)
            if path.exists():
                question = f"{path} exists. Write over it?"
                self.push_screen(
                    Confirm(question, "Write"), lambda sure: save(path) if sure else None
                )
            else:
                save(path)

        def save(path: Path, sure: bool = True) -> None:
            if not sure:
                return
            try:
                path.write_text(plan.to_toml(), encoding="utf-8")
            except OSError as error:
                self.notify(f"{path}: {error.strerror}", severity="error")
                return
            count = sum(m.live for m in change_detection.all_moments(self.data)) if self.data else 0
            self.notify(f"{path}: tailback run {path} repeats it ({count} live changes)")

        self.push_screen(Ask("Save as plan", f"{plan.name}.toml", "a file", wrong), write)
