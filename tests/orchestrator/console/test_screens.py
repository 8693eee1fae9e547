"""Every view at three sizes, of a live run, of none and of a failed one, against stored pictures.

`TAILBACK_SCREENS=write` stores what is there now; look at the pictures before they are committed.

pytest-textual-snapshot does not do this job: its newest release (1.1.0) asks for syrupy 4.8.0 and
with it for pytest below 9; the one before (1.0.0) stores nothing as SVG with a later syrupy. Both
take one picture of an app that they run themselves, at once, where here all views of one app are
looked at and each may take until the machine has drawn it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from orchestrator.console.app import Console
from orchestrator.console.key_bindings import VIEWS
from orchestrator.console.run_sources import Source
from tests.orchestrator.console.made import MS, MadeSource, data

STORED = Path(__file__).parent / "screens"
PATIENCE = 100  # looks, a tenth of a second apart, before a screen is said to differ
SETTLED = 3  # looks without a change, before a screen is stored
SIZES = [(80, 24), (120, 40), (200, 60)]
STATES: dict[str, Callable[[], Source | None]] = {
    "live": lambda: MadeSource(data("running")),
    "empty": lambda: None,
    "failed": lambda: MadeSource(data("failed", rows=60)),
}

pytestmark = pytest.mark.usefixtures("catalog", "alone", "listed")


def console(source: Source | None) -> Console:
    """A console whose clock stands still."""
    return Console(source, clock=lambda: 0.0, cpu=lambda: 0.0, ticking=False)


async def compare(app: Console, pilot: Pilot[None], name: str, out: Path) -> str | None:
    """What is wrong with a screen once it has settled; None when it becomes as stored.

    Widgets draw a little after the key, how much depends on what else the machine does.
    """
    stored = STORED / f"{name}.svg"
    wanted = stored.read_text(encoding="utf-8") if stored.is_file() else None
    if os.environ.get("TAILBACK_SCREENS") == "write":
        await write(app, pilot, stored)
        return None
    for _ in range(PATIENCE):
        picture = app.export_screenshot(title="tailback", simplify=True)
        if picture == wanted:
            return None
        await pilot.pause(0.1)
    (out / f"{name}.svg").write_text(picture, encoding="utf-8")
    return f"{stored} differs from {out / name}.svg"


async def write(app: Console, pilot: Pilot[None], stored: Path) -> None:
    """Store a screen once it has not changed for a while."""
    before, same = "", 0
    while same < SETTLED:
        await pilot.pause(0.1)
        picture = app.export_screenshot(title="tailback", simplify=True)
        same = same + 1 if picture == before else 0
        before = picture
    stored.parent.mkdir(exist_ok=True)
    stored.write_text(before, encoding="utf-8")


def run(app: Console, size: tuple[int, int], look: Callable[..., Awaitable[None]]) -> None:
    """Run a console of this size and look at it."""

    async def go() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            app.clear_notifications()
            await look(pilot)

    asyncio.run(go())


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("state", STATES)
def test_views(state: str, size: tuple[int, int], tmp_path: Path) -> None:
    app = console(STATES[state]())
    wrong: list[str | None] = []

    async def look(pilot: Pilot[None]) -> None:
        for view in VIEWS:
            app.action_show_view(view)
            app.tick()
            await pilot.pause()
            await app.workers.wait_for_complete()
            app.draw()
            await pilot.pause()
            wrong.append(await compare(app, pilot, f"{view}-{state}-{size[0]}x{size[1]}", tmp_path))

    run(app, size, look)
    assert [told for told in wrong if told] == []


SPECIAL: dict[str, tuple[str, tuple[int, int]]] = {
    "help": ("question_mark", (80, 24)),
    "palette": ("ctrl+p", (80, 24)),
    "choose": ("e", (80, 24)),
    "ask": ("R", (80, 24)),
    "confirm": ("s", (80, 24)),
    "light": ("D", (120, 40)),
    "too-small": ("", (70, 20)),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_dialogs_and_looks(name: str, tmp_path: Path) -> None:
    key, size = SPECIAL[name]
    app = console(MadeSource(data("running")))
    wrong: list[str | None] = []

    async def look(pilot: Pilot[None]) -> None:
        app.action_show_view("queues")
        await pilot.pause()  # the keys of the view stand in the footer behind the dialog
        await pilot.press(*[key] if key else [])
        await pilot.pause()
        for blinking in app.screen.query("Input"):
            blinking.cursor_blink = False
        app.clear_notifications()
        await pilot.pause()
        wrong.append(await compare(app, pilot, name, tmp_path))

    run(app, size, look)
    assert wrong == [None]


def test_two_runs_side_by_side(tmp_path: Path) -> None:
    app = console(MadeSource(data("done", name="demo aa")))
    app.other = MadeSource(data("done", rows=120, name="demo bb"))
    wrong: list[str | None] = []

    async def look(pilot: Pilot[None]) -> None:
        app.action_show_view("queues")
        app.window.go(900 * MS, app.newest_ps)
        app.draw()
        await pilot.pause()
        wrong.append(await compare(app, pilot, "beside", tmp_path))

    run(app, (120, 40), look)
    assert wrong == [None]


def test_a_run_that_fell_silent_is_marked_everywhere(tmp_path: Path) -> None:
    source = MadeSource(data("running"))
    source.data.stale_s = 7.0
    app = console(source)
    wrong: list[str | None] = []

    async def look(pilot: Pilot[None]) -> None:
        app.action_show_view("overview")
        await pilot.pause()
        wrong.append(await compare(app, pilot, "stale", tmp_path))

    run(app, (80, 24), look)
    assert wrong == [None]


def test_without_colour_nothing_is_lost(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = console(MadeSource(data("running")))
    wrong: list[str | None] = []

    async def look(pilot: Pilot[None]) -> None:
        app.action_show_view("rates")
        await pilot.pause()
        wrong.append(await compare(app, pilot, "no-colour", tmp_path))

    run(app, (120, 40), look)
    assert wrong == [None]
