"""The view of a sweep: pictures, keys, what goes on and what is finished."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from orchestrator.batch.result_store import Store
from orchestrator.batch.stream_executor import process_executor
from orchestrator.batch.sweep_design import Sweep as Planned
from orchestrator.batch.sweep_design import SweepOptions
from orchestrator.batch.sweep_run import SweepRun, write_sweep_folder
from orchestrator.cli.console import sweep_here
from orchestrator.console import run_catalog, sweep_map
from orchestrator.console.app import Console
from orchestrator.console.sweep_curve import drawn_curve
from orchestrator.console.sweep_data import SweepData, take_in
from orchestrator.console.sweep_map import Look, drawn_map
from orchestrator.console.sweep_sources import JournalSource, SweepFolder
from orchestrator.console.text_table import Table
from orchestrator.console.views.runs_view import Runs
from orchestrator.console.views.sweep_view import Sweep
from orchestrator.errors import BadInput
from orchestrator.live import session_registry
from tests.orchestrator.batch.made import FULL, random_flow
from tests.orchestrator.console.made_sweep import (
    DELAYS,
    SD,
    USED,
    MadeSweep,
    head,
    over_one,
    over_three,
    over_two,
    point,
    sampled,
)
from tests.orchestrator.console.test_key_actions import Clock, driving
from tests.orchestrator.console.test_plain import EVIL, steers
from tests.orchestrator.console.test_screens import SIZES, compare, run

MADE: dict[str, Callable[[], SweepData]] = {
    "map": over_two,
    "curve": over_one,
    "done": over_three,
    "sample": sampled,
}
on_screen = pytest.mark.usefixtures("catalog", "alone", "listed")


def console(data: SweepData) -> Console:
    """A console on a sweep, whose clock stands still."""
    return Console(clock=Clock(), cpu=lambda: 0.0, ticking=False, sweep=MadeSweep(data))


def lines(data: SweepData, look: Look, width: int = 80, height: int = 24) -> list[str]:
    """The rows of its map or curve."""
    draw = drawn_map if len(data.axes) > 1 else drawn_curve
    return ["".join(text for text, _ in row) for row in draw(data, look, width, height)]


@on_screen
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", MADE)
def test_screens(name: str, size: tuple[int, int], tmp_path: Path) -> None:
    app = console(MADE[name]())
    wrong: list[str | None] = []

    async def look(pilot: Pilot[None]) -> None:
        await pilot.pause()
        wrong.append(await compare(app, pilot, f"sweep-{name}-{size[0]}x{size[1]}", tmp_path))

    run(app, size, look)
    assert wrong == [None]


@on_screen
@pytest.mark.parametrize("name", ["help", "light", "no-colour"])
def test_help_and_looks(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if name == "no-colour":
        monkeypatch.setenv("NO_COLOR", "1")
    app = console(over_two())
    keys = {"help": ["question_mark"], "light": ["D"]}
    wrong: list[str | None] = []

    async def look(pilot: Pilot[None]) -> None:
        await pilot.press(*keys.get(name, []))
        await pilot.pause()
        wrong.append(await compare(app, pilot, f"sweep-{name}", tmp_path))

    run(app, (80, 24), look)
    assert wrong == [None]


def test_a_cell_has_the_mean_of_its_seeds_and_its_side_of_the_edge() -> None:
    data = over_two(done=0.2)
    data.places.clear()
    for at, (delay, numbers) in enumerate(
        [(1e-5, [10e3, 11e3, 12e3]), (1e-4, [30e3, 31e3, 32e3]), (1e-3, [10e3, 15e3, 25e3])]
    ):
        for seed, number in enumerate(numbers):
            take_in(data, point(at, [2.0, delay], seed, number))
    drawn = lines(data, Look(turn=0), 100)
    row = {DELAYS[at]: line for at, line in zip((4, 3, 2, 1, 0), drawn[1::3], strict=False)}
    assert "11 KB  " in row[1e-5]
    assert "31 KB ▲" in row[1e-4]
    assert "16.67 KB ?" in row[1e-3]
    assert sweep_map.WAITS in row[3.162e-5]
    assert sweep_map.ABOVE not in row[1e-5]


def test_a_refused_place_is_crossed_and_told() -> None:
    drawn = lines(over_two(), Look())
    top = next(line for line in drawn if line.lstrip().startswith("1 ms"))
    assert top.rstrip().endswith(sweep_map.REFUSED)
    assert sum(sweep_map.REFUSED in line for line in drawn) == 2  # and the legend


@on_screen
async def test_keys_change_metric_parameters_and_cut() -> None:
    async with driving(console(over_three())) as (pilot, app):
        view = app.query_one(Sweep)

        def title() -> str:
            assert view.data is not None
            return lines(view.data, view.look)[0]

        assert title() == f"{SD}   scheme = qcn"
        await pilot.press("k")
        assert title() == f"{SD}   scheme = bcn"
        await pilot.press("m")
        assert title() == f"{USED}   scheme = bcn"
        await pilot.press("t")
        assert title() == f"{USED}   links.up.delay = 10 µs"
        await pilot.press("k", "k", "k", "k", "k", "m")
        assert title() == f"{SD}   links.up.delay = 10 µs"
        await pilot.press("1")
        assert app.view == "runs"
        await pilot.press("8")
        assert app.view == "sweep"


@on_screen
async def test_keys_that_change_nothing_do_not_apply() -> None:
    async with driving(console(over_two())) as (_pilot, app):
        assert app.check_action("metric", ())
        assert not app.check_action("turn", ())
        assert not app.check_action("cut", ())
        app.sweep = None
        assert not app.check_action("sweep", ())


def write(path: Path, *told: dict[str, Any]) -> None:
    """Further lines of a journal."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in told)


@pytest.fixture
def journal(alone: Path) -> Path:
    """A journal with its head alone."""
    path = alone / "live" / "aa.sweep"
    over = [{"key": "weight", "spacing": "list", "unit": "", "words": False}]
    write(path, head([over[0] | {"values": [0.0, 1.0], "ends": None}]))
    return path


def test_a_sweep_that_goes_on_is_followed_to_its_end(journal: Path) -> None:
    source = sweep_here("demo")
    assert isinstance(source, JournalSource)
    write(journal, {"columns": [[SD, "B"]]}, point(0, [0.0], 1, 5e3))
    with journal.open("a") as file:
        file.write('{"stage": "running points", "done": 0.5, ')
    source.poll()
    assert source.data.number(source.data.places[0], SD) == (5e3, None)
    assert source.data.done == 0.0  # the line is not whole yet
    with journal.open("a") as file:
        file.write('"text": "1 of 2 points"}\n')
    write(journal, {"ended": "done", "text": "", "folder": "runs/x"})
    journal.unlink()
    source.poll()
    assert (source.data.done, source.data.text) == (0.5, "1 of 2 points")
    assert (source.data.state, source.data.folder) == ("done", "runs/x")
    source.close()


def test_a_point_that_is_told_twice_counts_once(journal: Path) -> None:
    source = JournalSource(journal)
    write(journal, {"columns": [[SD, "B"]]}, *[point(0, [0.0], s, 4e3 + s) for s in (1, 2, 1)])
    source.poll()
    mean, half = source.data.number(source.data.places[0], SD) or (0.0, 0.0)
    assert mean == 4001.5
    assert half == pytest.approx(12.706 * 0.5, rel=1e-3)
    assert source.data.verdicts() == {"met": 2}
    source.close()


def test_a_sweep_whose_process_is_gone_says_so(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = JournalSource(journal)
    source.poll()
    assert source.data.state == "running"
    monkeypatch.setattr(session_registry, "process_exists", lambda process: process != os.getpid())
    source.poll()
    assert source.data.state == "lost"
    source.close()


@on_screen
async def test_enter_opens_a_sweep_that_goes_on(
    journal: Path, listed: list[run_catalog.Entry]
) -> None:
    listed[:] = run_catalog._sweeping()
    assert listed[0].state == "● sweeping"
    async with driving(Console(clock=Clock(), cpu=lambda: 0.0, ticking=False)) as (pilot, app):
        app.query_one(Runs).query_one(Table).move_cursor(0)
        await pilot.press("enter")
        assert app.view == "sweep"
        write(journal, {"stage": "running points", "done": 0.5, "text": "1 of 2 points"})
        app.tick()
        app.draw()
        assert "1 of 2 points" in str(app.query_one("#swept", Static).content)
        assert app.sweep is not None
        app.sweep.close()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sweep with a place that makes no plan."""
    out = tmp_path_factory.mktemp("runs")
    over = ["traffic.gen.rate=100Mb/s,400Mb/s,2Gb/s", "nodes.switch.buffer=10KB,50KB"]
    sweep = Planned.of(random_flow(expect=[FULL | {"min": 0.3}]), SweepOptions(over, "3"))
    running = SweepRun(sweep, Store(out / ".points"), 1)
    assert running.run(process_executor(1))
    return write_sweep_folder(running, out)[1]


def test_a_finished_sweep_shows_what_its_tables_hold(finished: Path) -> None:
    import pyarrow.parquet as pq

    data = SweepFolder(finished).data
    column = "utilization of switch.sink in run"
    table = pq.read_table(finished / "places.parquet").to_pylist()
    shown = {place.values: data.number(place, column) for place in data.places.values()}
    assert shown == {
        (row["traffic.gen.rate"], row["nodes.switch.buffer"]): (row[column], row[column + " ±"])
        for row in table
    }
    assert len(shown) == 4
    assert data.verdicts() == {"met": 6, "missed": 6}
    assert (data.state, data.refused_count) == ("done", 2)
    assert any("2Gb/s" in line for line in data.said)
    drawn = lines(data, Look())
    assert "10 KB" in "".join(drawn)


@on_screen
async def test_a_finished_sweep_is_listed_and_opened_by_its_folder(
    finished: Path, listed: list[run_catalog.Entry]
) -> None:
    listed[:] = run_catalog._finished(finished.parent.parent)
    assert [(entry.kind, entry.state) for entry in listed] == [("swept", "sweep")]
    async with driving(Console(clock=Clock(), cpu=lambda: 0.0, ticking=False)) as (pilot, app):
        app.query_one(Runs).query_one(Table).move_cursor(0)
        await pilot.press("enter")
        assert app.view == "sweep"
        assert "■ done" in str(app.query_one("#swept", Static).content)


@pytest.mark.parametrize("name", ["sweep.json", "places.parquet", "points/part-00000.parquet"])
def test_a_damaged_sweep_ends_in_a_sentence(name: str, finished: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    (copy / name).write_bytes(b"{}")
    with pytest.raises(BadInput, match=r"damaged|cannot|can be read"):
        SweepFolder(copy)


@on_screen
async def test_words_of_others_steer_no_terminal() -> None:
    axis = {"key": EVIL, "spacing": "list", "unit": "", "words": True}
    other = axis | {"values": ["a"], "ends": None}
    from orchestrator.console.sweep_data import new_sweep

    data = new_sweep(head([axis | {"values": [EVIL, "b"], "ends": None}, other]) | {"plan": EVIL})
    take_in(data, {"columns": [[EVIL, EVIL]]})
    take_in(data, {"at": 0, "of": [EVIL, "a"], "seed": 1, "verdict": EVIL, "n": [1.0]})
    take_in(data, {"at": 1, "of": ["b", "a"], "why": EVIL})
    take_in(data, {"said": EVIL})
    take_in(data, {"stage": "", "done": 0.5, "text": EVIL})
    take_in(data, {"ended": "failed", "text": EVIL, "folder": EVIL})
    async with driving(console(data)) as (_pilot, app):
        shown = [str(one.content) for one in app.query(Static)] + lines(data, Look())
        assert not any(steers(text) for text in shown)
