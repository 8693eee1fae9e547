"""Runs that the console starts: each is shown, and none is started while one is on its way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.console import key_actions
from orchestrator.console.app import Console
from orchestrator.console.run_launcher import Draft
from tests.orchestrator.console.made import MadeSource, data, resolved
from tests.orchestrator.console.test_key_actions import console, driving

pytestmark = pytest.mark.usefixtures("catalog", "alone", "listed")


class Made:
    """A run that was started; what becomes of it is said by whoever tests."""

    def __init__(self, *_: Any) -> None:
        self.shown: MadeSource | None = None
        self.why: str | None = None
        self.over = self.closed = False
        self.lines: list[str] = []
        self.folder: Path | None = None

    def source(self) -> MadeSource | None:
        return self.shown

    def failure(self) -> str | None:
        return self.why

    def ended(self) -> bool:
        return self.over

    def run_folder(self) -> Path | None:
        return self.folder if self.over else None

    def new_lines(self) -> list[str]:
        lines, self.lines = self.lines, []
        return lines

    def close(self) -> None:
        self.closed = True

    def shows(self) -> MadeSource:
        """From now on it can be watched."""
        self.shown = MadeSource(data())
        return self.shown


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Made]:
    """All that were started, in order."""
    found: list[Made] = []

    def start(*arguments: Any) -> Made:
        found.append(Made(*arguments))
        return found[-1]

    monkeypatch.setattr(key_actions, "LocalRun", start)
    return found


def desk() -> Console:
    """A console with a plan that is about to be run."""
    return console(draft=Draft.from_plan(resolved().plan))


async def press_r(pilot: Any, app: Console) -> None:
    """As a person does, and time passes."""
    await pilot.press("r")
    await pilot.pause()
    app.tick()


def finish(source: MadeSource) -> None:
    """The run is over."""
    assert source.data.state is not None
    source.data.state = source.data.state.model_copy(update={"stage": "done", "accepts": []})


async def test_every_run_that_is_started_is_shown(started: list[Made]) -> None:
    async with driving(desk()) as (pilot, app):
        for number in range(3):
            await press_r(pilot, app)
            assert len(started) == number + 1
            mine = started[number]
            mine.lines = [f"line {number}"]
            source = mine.shows()
            app.tick()
            assert app.source is source
            mine.lines = [f"more of {number}"]
            app.tick()
            assert [text for _, text in source.data.lines][-2:] == [
                f"line {number}",
                f"more of {number}",
            ]
            finish(source)
            app.tick()
        assert [one.closed for one in started] == [True, True, False]


async def test_while_a_run_is_on_its_way_no_other_one_is_started(started: list[Made]) -> None:
    async with driving(desk()) as (pilot, app):
        for _ in range(4):
            await press_r(pilot, app)
        assert not app.check_action("run", ())
        assert len(started) == 1
        source = started[0].shows()
        app.tick()
        assert app.source is source
        await press_r(pilot, app)
        assert len(started) == 1, "it goes on"


@pytest.mark.parametrize("why", [None, "tailback: no room left"])
async def test_after_a_run_that_cannot_be_shown_another_one_may_start(
    started: list[Made], why: str | None
) -> None:
    async with driving(desk()) as (pilot, app):
        await press_r(pilot, app)
        started[0].over, started[0].why = True, why
        app.tick()
        await pilot.pause()
        said = [notice.message for notice in app._notifications]
        assert any((why or "over before it could be watched") in text for text in said)
        assert started[0].closed
        await press_r(pilot, app)
        assert len(started) == 2
        source = started[1].shows()
        app.tick()
        assert app.source is source


async def test_a_run_that_was_over_before_it_could_be_watched_is_shown_from_its_folder(
    started: list[Made], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from orchestrator.console import run_sources

    folder = MadeSource(data("done"))
    monkeypatch.setattr(run_sources, "FolderSource", {tmp_path: folder}.__getitem__)
    async with driving(desk()) as (pilot, app):
        await press_r(pilot, app)
        started[0].folder, started[0].over = tmp_path, True
        app.tick()
        assert app.source is folder
        assert app.view == "overview"


async def test_another_run_that_is_opened_stays_while_the_started_one_goes_on(
    started: list[Made],
) -> None:
    async with driving(desk()) as (pilot, app):
        await press_r(pilot, app)
        started[0].shows()
        app.tick()
        other = MadeSource(data())
        app.opened(other)
        app.tick()
        assert app.source is other
