"""What every key does, driven as a person would; keys, palette, mouse and buttons alike."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Button, Input, Static

from orchestrator.console import key_actions, run_launcher
from orchestrator.console.app import Console
from orchestrator.console.filter_field import Filter
from orchestrator.console.footer import Keys
from orchestrator.console.key_bindings import ACTIONS, keymap
from orchestrator.console.run_data import RunData
from orchestrator.console.run_launcher import Draft
from orchestrator.console.run_sources import FolderSource
from orchestrator.console.text_table import Table
from orchestrator.console.views.control_view import Control
from orchestrator.console.views.events_view import Events
from orchestrator.console.views.queues_view import Queues
from orchestrator.console.views.rates_view import Rates
from orchestrator.console.views.runs_view import Runs
from orchestrator.errors import BadInput
from orchestrator.live import feed_messages
from orchestrator.plan import Plan
from tests.orchestrator.console.made import MS, STEP, MadeSource, data, named, resolved

pytestmark = pytest.mark.usefixtures("catalog", "alone", "listed")


class Clock:
    """Time that the test lets pass."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@contextlib.asynccontextmanager
async def driving(
    app: Console, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Any, Console]]:
    """Runs a console; yields its pilot, who does what a person does, and the console."""
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield pilot, app


def console(source: Any = None, **options: Any) -> Console:
    clock = options.pop("clock", Clock())
    return Console(source, clock=clock, cpu=lambda: 0.0, ticking=False, **options)


def asked(source: MadeSource) -> list[dict[str, Any]]:
    """What the run was asked, without the numbers."""
    return [
        r.model_dump(exclude={"version", "run", "request"}, exclude_none=True) for r in source.asked
    ]


async def type_in(pilot: Any, text: str) -> None:
    """Replace what stands in the dialog, and take it."""
    pilot.app.screen.query_one(Input).value = text
    await pilot.press("enter")
    await pilot.pause()


async def test_numbers_and_clicks_go_to_the_views() -> None:
    async with driving(console(MadeSource(data()))) as (pilot, app):
        for key, name in zip("1234567", acts_views(), strict=True):
            await pilot.press(key)
            assert app.view == name
        await pilot.click("#tabs", offset=(14, 0))
        assert app.view == "overview"


def acts_views() -> tuple[str, ...]:
    from orchestrator.console.key_bindings import VIEWS

    return VIEWS


async def test_a_service_rate_is_changed_live_and_the_answer_is_told() -> None:
    source = MadeSource(data())
    async with driving(console(source)) as (pilot, app):
        await pilot.press("R")
        assert app.screen.query_one(Input).value == "500Mb/s", "as it is at this moment"
        await type_in(pilot, "1GB/s")
        assert len(app.screen_stack) == 2, "bits, not bytes: the dialog stays"
        assert asked(source) == []
        await type_in(pilot, "0.4Gb/s")
        assert len(app.screen_stack) == 1
        app.tick()
        await pilot.pause()
        told = [notice.message for notice in app._notifications]
        assert told == ["nodes.switch.service_rate is 0.4Gb/s at 1.79 s"]
    assert asked(source) == [{"kind": "set", "key": "nodes.switch.service_rate", "to": "0.4Gb/s"}]


async def test_any_live_parameter_is_changed_from_control_with_enter_or_c() -> None:
    source = MadeSource(data())
    async with driving(console(source)) as (pilot, app):
        await pilot.press("7")
        control = app.query_one(Control)
        keys = list(control.known)
        assert "nodes.switch.congestion_point.set_point" in keys
        assert "seed" not in keys, "only what can change now"
        table = control.query_one(Table)
        table.move_cursor(row=keys.index("nodes.switch.congestion_point.set_point"))
        await pilot.press("enter")
        await type_in(pilot, "20KB")
        table.move_cursor(row=keys.index("traffic.gen.rate"))
        await pilot.press("c")
        await type_in(pilot, "0.3Gb/s")
    assert [(a["key"], a["to"]) for a in asked(source)] == [
        ("nodes.switch.congestion_point.set_point", "20KB"),
        ("traffic.gen.rate", "0.3Gb/s"),
    ]


async def test_links_and_ports_ask_before_they_stop_traffic() -> None:
    source = MadeSource(data())
    async with driving(console(source)) as (pilot, app):
        for key, downs, sure in (
            ("x", 0, "y"),
            ("x", 0, "n"),
            ("x", 1, "y"),
            ("p", 0, "y"),
            ("p", 0, "escape"),
        ):
            await pilot.press(key, *["down"] * downs, "enter")
            assert len(app.screen_stack) == 2, "it asks"
            await pilot.press(sure)
            assert len(app.screen_stack) == 1
    assert asked(source) == [
        {"kind": "act", "verb": "cut", "of": "up"},
        {"kind": "act", "verb": "cut", "of": "down"},
        {"kind": "act", "verb": "pause", "of": "nic.switch"},
    ]


async def test_what_was_cut_is_mended_without_asking() -> None:
    source = MadeSource(data())
    cut = feed_messages.RunEvent(
        number=0, time_ps=MS, what="cut", entity="up", detail={"live": True}
    )
    from orchestrator.console.run_sources import take_in

    take_in(source.data, cut)
    async with driving(console(source)) as (pilot, app):
        await pilot.press("x", "enter")
        await pilot.pause()
        assert len(app.screen_stack) == 1
    assert asked(source) == [{"kind": "act", "verb": "mend", "of": "up"}]


async def test_ending_a_run_asks_and_no_has_the_focus() -> None:
    source = MadeSource(data())
    async with driving(console(source)) as (pilot, _app):
        for number, key in enumerate(("s", "A")):
            await pilot.press(key, "enter")
            assert len(asked(source)) == number, "Enter alone means no"
            await pilot.press(key, "y")
    assert asked(source) == [{"kind": "halt"}, {"kind": "abort"}]


async def test_the_pace_is_changed() -> None:
    source = MadeSource(data())
    async with driving(console(source)) as (pilot, _app):
        await pilot.press("P")
        await type_in(pilot, "fast")
        assert asked(source) == []
        await type_in(pilot, "0.5")
        await pilot.press("P")
        await type_in(pilot, "max")
    assert asked(source) == [{"kind": "pace", "factor": 0.5}, {"kind": "pace"}]


async def test_a_refusal_is_told_with_its_reason() -> None:
    source = MadeSource(data())
    source.refusal = "the run is at its end"
    async with driving(console(source)) as (pilot, app):
        await pilot.press("s", "y")
        await pilot.pause()
        app.tick()
        await pilot.pause()
        (notice,) = app._notifications
        assert "the run is at its end" in notice.message
        assert notice.severity == "error"


async def test_time_is_frozen_moved_and_zoomed() -> None:
    async with driving(console(MadeSource(data()))) as (pilot, app):
        window = app.window
        assert window.follow
        span = window.span_ps
        await pilot.press("space")
        assert not window.follow
        await pilot.press("comma")
        assert window.cursor_ps == 179 * STEP - span // 10
        await pilot.press("full_stop", "full_stop")
        assert window.cursor_ps == 179 * STEP, "no further than there are samples"
        await pilot.press("less_than_sign")
        assert window.cursor_ps == 0
        await pilot.press("plus")
        assert window.span_ps == span // 2
        await pilot.press("minus", "minus")
        assert window.span_ps == min(2 * span, 3000 * MS)
        await pilot.press("g")
        await type_in(pilot, "soon")
        await type_in(pilot, "1.2s")
        assert window.cursor_ps == 1200 * MS
        await pilot.press("0")
        assert (window.span_ps, window.from_ps) == (3000 * MS, 0)
        await pilot.press("f")
        assert window.follow


async def test_a_finished_run_is_played_at_any_speed() -> None:
    clock = Clock()
    async with driving(console(MadeSource(data("done")), clock=clock)) as (pilot, app):
        window = app.window
        assert not window.follow
        await pilot.press("space")
        assert (window.playing, window.cursor_ps) == (True, 0), "from the beginning"
        clock.now += 0.5
        app.tick()
        assert window.cursor_ps == 500 * MS
        await pilot.press("right_square_bracket")
        clock.now += 0.5
        app.tick()
        assert window.cursor_ps == 1500 * MS, "twice as fast"
        await pilot.press("left_square_bracket", "left_square_bracket", "space")
        clock.now += 5
        app.tick()
        assert (window.cursor_ps, window.speed) == (1500 * MS, 0.5)
        await pilot.press("space")
        clock.now += 50
        app.tick()
        assert (window.cursor_ps, window.playing) == (179 * STEP, False)


async def test_what_is_plotted_is_chosen() -> None:
    async with driving(console(MadeSource(data()))) as (pilot, app):
        await pilot.press("4")
        assert app.query_one(Queues).chosen == []
        await pilot.press("e", "down", "space", "enter")
        await pilot.pause()
        assert app.query_one(Queues).chosen == ["switch.sink", "switch.nic"]
        await pilot.press("n")
        assert app.query_one(Queues).chosen == ["switch.sink"]
        await pilot.press("5", "n")
        assert app.query_one(Rates).chosen == ["nic.rp1"]
        await pilot.press("e", "escape")
        assert app.query_one(Rates).chosen == ["nic.rp1"]


async def test_events_are_filtered_and_jumped_to() -> None:
    async with driving(console(MadeSource(data()))) as (pilot, app):
        await pilot.press("slash")
        events = app.query_one(Events)
        every = len(events.moments)
        await pilot.press(*"pause sends")
        await pilot.pause()
        assert 0 < len(events.moments) < every
        assert {m.what for m in events.moments.values()} == {"PAUSE"}
        await pilot.press("enter")
        await pilot.press("enter")
        await pilot.pause()
        assert app.view == "queues"
        assert (app.window.cursor_ps, app.window.follow) == (900 * MS, False)
        await pilot.press("6", "escape")
        assert len(events.moments) == every


async def test_frames_near_an_event_of_a_finished_run_are_decoded() -> None:
    source = MadeSource(data("done"))
    source.data.folder = "somewhere"
    async with driving(console(source)) as (pilot, app):
        await pilot.press("6", "down")
        await app.workers.wait_for_complete()
        await pilot.pause()
        told = str(app.query_one("#frames", Static).render())
        assert "CNM" in told
        assert "feedback 17, offset +9000 B" in told


@pytest.mark.parametrize("refusal", ["", "the run is over (done)"])
async def test_frames_near_an_event_of_a_run_that_goes_on_are_asked_for_and_decoded(
    refusal: str,
) -> None:
    source = MadeSource(data())
    source.refusal = refusal
    source.frames = [
        feed_messages.CapturedFrame(
            port="nic.switch", time_ps=900 * MS, outgoing=False, length=64, octets="01ff"
        )
    ]
    async with driving(console(source)) as (pilot, app):
        await pilot.press("6", "down")
        app.tick()
        await app.workers.wait_for_complete()
        await pilot.pause()
        request = source.asked[-1]
        assert isinstance(request, feed_messages.FramesNear)
        chosen = app.query_one(Events).query_one(Table).chosen or ""
        moment = app.query_one(Events).moments[chosen]
        assert request.time_ps == moment.time_ps
        told = str(app.query_one("#frames", Static).render())
        seen = "0.900000000 ← nic.switch     CNM    64 B, 2 of them known"
        assert (refusal or seen) in told
        assert refusal or "none; the nearest, of the" in told, "it is far away"


async def test_frames_of_a_run_that_cannot_be_asked_wait_for_its_end() -> None:
    source = MadeSource(data())
    assert source.data.state is not None
    able = [one for one in source.data.state.accepts if one != "look"]
    source.data.state = source.data.state.model_copy(update={"accepts": able})
    async with driving(console(source)) as (pilot, app):
        await pilot.press("6", "down")
        await pilot.pause()
        assert source.asked == []
        assert "when it is over" in str(app.query_one("#frames", Static).render())


async def test_a_plan_is_opened_changed_and_started(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Draft] = []

    class Started:
        def __init__(self, draft: Draft, out: Path) -> None:
            started.append(draft)

        def source(self) -> None:
            return None

        def failure(self) -> str:
            return "tailback: no room left"

        def ended(self) -> bool:
            return True

        def new_lines(self) -> list[str]:
            return []

        def close(self) -> None:
            """Nothing is held."""

    monkeypatch.setattr(key_actions, "LocalRun", Started)
    monkeypatch.setattr(Draft, "of", classmethod(lambda cls, name: cls.from_plan(resolved().plan)))
    async with driving(console()) as (pilot, app):
        assert app.view == "runs"
        await pilot.press("down", "enter")
        await pilot.pause()
        assert app.view == "control"
        table = app.query_one(Control).query_one(Table)
        known = list(app.query_one(Control).known)
        assert app.query_one(Control).known["pace"].value == "0.05", "3 s in a minute"
        table.move_cursor(row=known.index("nodes.switch.buffer"))
        await pilot.press("enter")
        await type_in(pilot, "90000")
        assert len(app.screen_stack) == 2, "a size needs its unit"
        await type_in(pilot, "90KB")
        table.move_cursor(row=known.index("target"))
        await pilot.press("enter")
        await type_in(pilot, "softwear")
        assert len(app.screen_stack) == 2
        await type_in(pilot, "software")
        table.move_cursor(row=known.index("pace"))
        await pilot.press("enter")
        await type_in(pilot, "1")
        await pilot.press("r")
        app.tick()
        await pilot.pause()
        assert any("no room left" in notice.message for notice in app._notifications)
    (draft,) = started
    assert draft.resolved.plan.nodes["switch"].buffer == 90_000  # type: ignore[union-attr]
    assert (draft.target, draft.pace) == ("software", 1.0)


async def test_the_plan_of_a_run_is_saved_with_its_live_changes_and_never_written_over_unasked(
    alone: Path,
) -> None:
    source = MadeSource(data())
    changed = resolved().plan.to_table()
    changed["timeline"].append({"at": "1200ms", "set": "links.up.rate", "to": "900Mb/s"})
    text = resolved().plan.with_data(changed).to_toml()
    from orchestrator.console.run_sources import take_in

    take_in(
        source.data,
        feed_messages.RunDescription(plan_text=text, columns=named(source.data.columns)),
    )
    async with driving(console(source)) as (pilot, app):
        await pilot.press("w")
        await type_in(pilot, "nowhere/mine.toml")
        assert len(app.screen_stack) == 2
        await type_in(pilot, "mine.toml")
        saved = Plan.load(Path("mine.toml"))
        assert [step.set for step in saved.timeline] == [
            "nodes.switch.service_rate",
            "links.up.rate",
        ]
        assert "repeats it (1 live changes)" in list(app._notifications)[-1].message
        Path("mine.toml").write_text("mine")
        await pilot.press("w")
        await type_in(pilot, "mine.toml")
        await pilot.press("n")
        await pilot.pause()
        assert Path("mine.toml").read_text() == "mine"
        await pilot.press("w")
        await type_in(pilot, "mine.toml")
        await pilot.press("y")
        await pilot.pause()
        assert Plan.load(Path("mine.toml")) == saved


async def test_a_second_run_is_put_beside_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    other = MadeSource(data("done", rows=50, name="other"))
    monkeypatch.setattr(key_actions.run_sources, "FolderSource", lambda path: other)
    async with driving(console(MadeSource(data("done")))) as (pilot, app):
        await pilot.press("v", "enter")
        await pilot.pause()
        assert [run.name for run in app.shown.runs] == ["demo", "other"]
        assert app.query("#queues #side1").first().display
        await pilot.press("V")
        assert [run.name for run in app.shown.runs] == ["demo"]
        assert other.closed


async def test_buttons_do_what_keys_do_and_only_what_applies() -> None:
    source = MadeSource(data())
    async with driving(console(source)) as (pilot, app):
        await pilot.press("7")
        enabled = {b.id for b in app.query(Button) if not b.disabled}
        assert enabled == {"stop", "abort", "save_plan"}
        await pilot.click("#stop")
        await pilot.pause()
        await pilot.click("#yes")
        await pilot.pause()
    assert asked(source) == [{"kind": "halt"}]


@pytest.mark.parametrize(
    ("source", "has", "lacks"),
    [
        (None, {"Open folder", "Help"}, {"Stop", "Cut/mend", "Faster", "Zoom in"}),
        ("live", {"Stop", "Abort", "Cut/mend", "Pace", "Zoom in"}, {"Run", "Faster"}),
        ("done", {"Faster", "Run again", "Save as plan"}, {"Stop", "Cut/mend", "Pace"}),
    ],
)
async def test_the_palette_has_what_applies_now(
    source: str | None, has: set[str], lacks: set[str]
) -> None:
    made = None if source is None else MadeSource(data("running" if source == "live" else "done"))
    async with driving(console(made)) as (_pilot, app):
        titles = {command.title for command in app.get_system_commands(app.screen)}
        assert has <= titles
        assert not lacks & titles
        jumps = [title for title in titles if title.startswith("Jump to")]
        assert bool(jumps) == (made is not None)


async def test_the_palette_jumps_to_an_event() -> None:
    async with driving(console(MadeSource(data()))) as (_pilot, app):
        commands = {c.title: c.callback for c in app.get_system_commands(app.screen)}
        commands["Jump to set links.up.rate at 1.200 s"]()
        assert app.window.cursor_ps == 1200 * MS


async def test_help_dark_and_light_and_quit() -> None:
    async with driving(console(MadeSource(data()))) as (pilot, app):
        before = app.theme
        await pilot.press("D")
        assert app.theme != before
        await pilot.press("question_mark")
        assert len(app.screen_stack) == 2
        await pilot.press("escape", "q")
        await pilot.pause()
        assert app._exit


async def test_a_run_that_was_started_here_may_go_on_when_the_console_is_left() -> None:
    app = console(MadeSource(data()))
    app.started = object.__new__(run_launcher.LocalRun)
    app.watch_started = lambda: None  # type: ignore[method-assign]
    async with driving(app) as (pilot, app):
        await pilot.press("q")
        await pilot.pause()
        assert len(app.screen_stack) == 2
        await pilot.press("enter")
        await pilot.pause()
        assert app._exit


async def test_stale_data_stays_and_says_so() -> None:
    source = MadeSource(data())
    async with driving(console(source)) as (_pilot, app):
        rows = source.data.rows
        source.data.stale_s = 5.0
        app._drew = -1.0
        app.tick()
        assert "STALE 5 s" in str(app._top())
        assert source.data.rows == rows
        source.data.stale_s = 0.0
        assert "STALE" not in str(app._top())


async def test_a_run_that_ends_changes_what_can_be_done() -> None:
    source = MadeSource(data())
    async with driving(console(source)) as (_pilot, app):
        assert app.check_action("stop", ())
        assert source.data.state is not None
        over = source.data.state.model_copy(update={"stage": "done", "accepts": []})

        def end(found: RunData) -> None:
            found.state = over

        source.feed = end
        app.tick()
        assert not app.check_action("stop", ())
        assert app.check_action("speed", ())


async def test_a_folder_that_is_no_run_is_refused(alone: Path) -> None:
    with pytest.raises(BadInput, match="no run folder"):
        FolderSource(alone)
    async with driving(console()) as (pilot, app):
        await pilot.press("o")
        await type_in(pilot, str(alone))
        assert len(app.screen_stack) == 2


async def test_keys_of_the_users_own(alone: Path) -> None:
    assert keymap() == {}
    file = alone / "tailback" / "keys.toml"
    file.parent.mkdir()
    file.write_text('"view.queues" = "f4"\n')
    app = console(MadeSource(data()))
    app.own_keys = keymap()
    async with driving(app) as (pilot, app):
        app.action_show_view("runs")
        await pilot.press("4")
        assert app.view == "runs"
        await pilot.press("f4")
        assert app.view == "queues"
    file.write_text('"view.queue" = "f4"\n')
    with pytest.raises(BadInput, match=r"did you mean view\.queues"):
        keymap()


def test_every_binding_has_an_id_of_its_own_and_every_action_is_there() -> None:
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)
    for action in ACTIONS:
        assert hasattr(Console, "action_" + action.action.partition("(")[0]), action


def footer(app: Console) -> list[str]:
    """What stands at the bottom of the screen."""
    return [entry.text for entry in app.query_one(Keys)._entries]


async def test_the_footer_has_the_keys_of_this_view_and_says_what_they_do_now() -> None:
    async with driving(console(MadeSource(data())), (120, 40)) as (pilot, app):
        wanted = {
            "1": ["Open", "Filter", "Beside", "Help", "Quit"],
            "2": ["Stop", "Change", "Freeze", "Help", "Quit"],
            "4": ["Stop", "Change", "Freeze", "Choose", "Help", "Quit"],
            "6": ["Jump there", "Stop", "Filter", "Help", "Quit"],
            "7": ["Change", "Stop", "Help", "Quit"],
        }
        for key, texts in wanted.items():
            await pilot.press(key)
            await pilot.pause()
            assert footer(app) == texts, key
        await pilot.press("4", "space")
        await pilot.pause()
        assert footer(app)[2] == "Follow"
        await pilot.press("f")
        await pilot.pause()
        assert footer(app)[2] == "Freeze"


async def test_space_plays_a_finished_run_and_the_footer_says_so() -> None:
    async with driving(console(MadeSource(data("done")))) as (pilot, app):
        await pilot.press("4", "comma")
        await pilot.pause()
        assert footer(app) == ["Play", "Choose", "Help", "Quit"]
        await pilot.press("space")
        await pilot.pause()
        assert footer(app)[0] == "Stop playing"


async def test_runs_are_filtered_by_words() -> None:
    async with driving(console()) as (pilot, app):
        await pilot.press("slash")
        assert app.view == "runs"
        await pilot.press(*"DEMO mis")
        await pilot.pause()
        table = app.query_one(Runs).query_one(Table)
        assert [cells[1] for cells in table._cells] == ["✗ missed"]
        await pilot.press("enter")
        assert app.focused is table, "the lines have the keys again"
        app.draw()
        assert len(table._cells) == 1, "and stay filtered"
        await pilot.press("slash", "x", "y")
        await pilot.pause()
        assert not table._cells
        assert "Escape" in str(app.query_one(Runs).query_one("#hint", Static).content)
        await pilot.press("escape")
        await pilot.pause()
        assert len(table._cells) == 4
        assert not app.query_one(Runs).query_one(Filter).display
