"""Plans that one machine holds: a real controller, real agents, Verilated models.

What comes back is what a run here makes, to the byte; who dies, or cannot, is told by name.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import tailback
from orchestrator.errors import TailbackError
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.testbed.controller import controller_client
from tests.orchestrator.testbed.held.bench import WAIT_S, Bench, until, workers_of

LACK = Registry.load().target("gateware").probe()
PLAN = Path(__file__).parents[3] / "firmware" / "plans" / "react.toml"
RATES = "nodes.switch.service_rate=0.4Gb/s,0.5Gb/s"
BARE = {"PATH": "/nonexistent"}
"""Verilator needs a compiler, and there is none on this path."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(LACK is not None, reason=str(LACK)),
]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Two agents that can hold gateware, and one that cannot, which is the first."""
    with Bench(tmp_path_factory.mktemp("bench")) as made:
        made.agent("bare", **BARE)
        made.agent("left")
        made.agent("right")
        made.start()
        yield made
        assert made.left() == []
        assert {name: one.end() for name, one in made.agents.items()} == dict.fromkeys(
            made.agents, 0
        )


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of this machine's own; what it needs is built and compiled then."""
    done = run(Plan.load(PLAN), "gateware", out=tmp_path_factory.mktemp("here"), report=False)
    assert done.folder is not None
    return done.folder


def longer(folder: Path, milliseconds: int) -> Path:
    """The plan for so long."""
    path = folder / "longer.toml"
    path.write_text(PLAN.read_text().replace('duration = "4ms"', f'duration = "{milliseconds}ms"'))
    return path


def told(bench: Bench, what: str) -> dict[str, str]:
    """Machine -> what the controller says of its `state`, or the `part` that it is at."""
    assert bench.controller is not None
    state = asyncio.run(
        controller_client.status(bench.controller.address, bench.folder / "user", None)
    )
    return {one["name"]: one[what] for one in state["machines"]}


def running(bench: Bench) -> list[str]:
    """The machines that run a plan."""
    return [name for name, part in told(bench, "part").items() if part == "running"]


def read(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / name).read_text())
    return found


def test_a_run_that_a_machine_holds_is_the_run_here(bench: Bench, here: Path) -> None:
    code, result, said = bench.run(PLAN)
    assert code == 0, said
    there, mine = Path(result["folder"]), bench.folder / "mine"
    assert there.is_relative_to(mine), "whoever asked has the folder"
    same = ["samples.parquet", "latency.parquet", "plan.toml"]
    captures = sorted(path.relative_to(here).as_posix() for path in here.glob("captures/*"))
    assert len(captures) == 3
    for name in [*same, *captures]:
        assert (there / name).read_bytes() == (here / name).read_bytes(), name
    ours, theirs = read(here, "result.json"), read(there, "result.json")
    timed = ("clocks_per_cpu_s", "clocks_per_s")
    for one in (ours, theirs):
        one["fidelity"] = {k: v for k, v in one["fidelity"].items() if k not in timed}
    for key in ours.keys() - {"performance"}:
        assert theirs[key] == ours[key], key
    (machine,) = theirs["machines"]
    assert theirs["machines"] == {machine: ["nic1", "nic2", "switch", "sink"]}
    assert machine in ("left", "right")
    manifest = read(there, "manifest.json")
    assert (manifest["on"], manifest["clock"]) == (machine, "virtual")
    assert manifest["sources"] == read(here, "manifest.json")["sources"]
    rows = [json.loads(line) for line in (there / "events.jsonl").read_text().splitlines()]
    said_by = [row["detail"]["text"] for row in rows if row["kind"] == "machine"]
    assert said_by[1:] == ["building", "running", "ended", "collected"]
    assert [row for row in rows if row["kind"] != "machine"] == [
        json.loads(line) for line in (here / "events.jsonl").read_text().splitlines()
    ]
    assert "running" in said


def test_another_seed_is_another_run(bench: Bench, here: Path) -> None:
    code, result, said = bench.run(PLAN, "--seed", 4)
    assert (code, result["seed"]) == (0, 4), said
    theirs = (Path(result["folder"]) / "samples.parquet").read_bytes()
    assert theirs != (here / "samples.parquet").read_bytes()


def test_points_go_side_by_side_and_one_that_died_is_counted_once(
    bench: Bench, here: Path, tmp_path: Path
) -> None:
    """One machine is killed in the midst of its point; the table is that of a sweep here."""
    plan = longer(tmp_path, 30)
    over, seeds = "nodes.switch.service_rate=0.4Gb/s", "3,5"
    more = ["--over", over, "--seeds", seeds, "--target", "gateware", "--out", tmp_path / "runs"]
    process = bench.tailback("sweep", plan, *more, "--yes", "--json")
    try:
        until(lambda: len(running(bench)) == 2 or process.poll() is not None, "two run at once")
        assert process.poll() is None, "it ended before two were seen to run"
        assert [len(workers_of(bench.agents[name])) for name in ("left", "right")] == [1, 1]
        (worker,) = workers_of(bench.agents["left"])
        bench.agents["left"].kill()
        until(lambda: not Path(f"/proc/{worker}").exists(), "its worker goes along")
        printed, said = process.communicate(timeout=WAIT_S)
    finally:
        process.kill()
    assert process.returncode == 0, said
    assert "is invalid, and run again: invalid: agent left is gone" in said
    result = json.loads(printed)
    assert (result["target"], result["points"], result["invalid"]) == ("gateware", 2, 0)
    swept = tailback.sweep(
        str(plan), over=[over], seeds=seeds, target="gateware", out=tmp_path / "local"
    )
    theirs = pq.read_table(Path(result["folder"]) / "points").to_pylist()
    assert theirs == swept.points().to_pylist()
    assert [row["seed"] for row in theirs] == [3, 5]
    bench.agent("left")
    assert bench.agents["left"].heard("left over by a predecessor")
    until(lambda: told(bench, "state")["left"] == "up", "it is back")


def test_python_asks_for_the_same(bench: Bench, here: Path, tmp_path: Path) -> None:
    there = {"controller": bench.there[1], "keys": bench.there[3]}
    rows = [
        tailback.sweep(
            str(PLAN), over={"traffic.one.rate": ["400Mb/s"]}, target="gateware", out=out, **more
        ).points().to_pylist()
        for out, more in ((tmp_path / "a", there), (tmp_path / "b", {}))
    ]  # fmt: skip
    assert rows[0] == rows[1]
    assert len(rows[0]) == 1


def test_a_run_that_nobody_wants_any_more_is_ended_there(
    bench: Bench, here: Path, tmp_path: Path
) -> None:
    words = ["run", longer(tmp_path, 2000), "--target", "gateware", "--no-report"]
    process = bench.tailback(*words, "--out", tmp_path / "runs")
    assert any(" of 2000 ms" in line for line in process.stderr), "how far it is"
    assert running(bench)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=WAIT_S)
    assert process.returncode == 130
    until(lambda: bench.left() == [], f"nothing stays: {bench.left()}")
    assert not list((tmp_path / "runs").rglob("result.json"))


def test_a_sweep_that_is_ended_ends_what_goes_on_there(
    bench: Bench, here: Path, tmp_path: Path
) -> None:
    words = ["sweep", longer(tmp_path, 2000), "--over", RATES, "--target", "gateware", "--yes"]
    process = bench.tailback(*words, "--out", tmp_path / "runs")
    until(lambda: len(running(bench)) == 2, "two of it run")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130, said
    until(lambda: bench.left() == [], f"nothing stays: {bench.left()}")


def test_what_gateware_lacks_is_refused_by_name(bench: Bench, tmp_path: Path) -> None:
    plan = tmp_path / "faulty.toml"
    step = '[[timeline]]\nat = "1ms"\nkill_agent = "sink"\n'
    plan.write_text(PLAN.read_text() + step)
    code, _, said = bench.run(plan)
    assert code == 2
    assert "kill_agent of sink" in said
    code, _, said = bench.run(PLAN, "--set", "nodes.nic1.reaction_time=1us")
    assert code == 2
    assert "its limiters act at once" in said


def test_who_can_hold_it_is_told(bench: Bench) -> None:
    printed, _ = bench.tailback("machines", "--json").communicate(timeout=WAIT_S)
    holds = {one["name"]: one["holds"]["gateware"] for one in json.loads(printed)["machines"]}
    assert (holds["left"], holds["right"]) == ("", "")
    assert "Verilator needs g++" in holds["bare"]


def another_plugin(folder: Path) -> str:
    """A folder for PYTHONPATH with a plugin that nobody else has."""
    (folder / "extra.py").write_text("ANSWER = 42\n")
    told = folder / "extra-1.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: extra\nVersion: 1\n")
    (told / "entry_points.txt").write_text("[tailback]\nextra = extra\n")
    return str(folder)


def test_where_nobody_can_or_has_the_same_it_is_refused(tmp_path: Path) -> None:
    """One agent lacks a compiler; the other has a plugin more than whoever asks."""
    extra = tmp_path / "extra"
    extra.mkdir()
    with Bench(tmp_path) as bench:
        bench.agent("bare", **BARE)
        bench.start()
        code, _, said = bench.run(PLAN)
        assert code == 2, said
        assert "no machine of the testbed can hold a plan on gateware" in said
        assert "agent bare: target gateware: Verilator needs g++" in said
        assert "sudo apt-get install g++" in said
        with pytest.raises(TailbackError, match=r"Verilator needs g\+\+") as refused:
            tailback.sweep(
                str(PLAN), over={"traffic.one.rate": ["400Mb/s"]}, target="gateware",
                controller=bench.there[1], keys=bench.there[3], out=tmp_path / "runs",
            )  # fmt: skip
        assert refused.value.exit_code == 2
        bench.agents["bare"].kill()
        until(lambda: bench.heard("agent bare: gone"), "its end is noticed")
        code, _, said = bench.run(PLAN)
        assert code == 3, "it may be able to"
        assert "agent bare does not answer" in said
        bench.agent("bare", PYTHONPATH=another_plugin(extra))
        until(lambda: told(bench, "state")["bare"] == "up", "its successor is up")
        code, _, said = bench.run(PLAN)
        assert code == 2, said
        assert "its tailback, its plugins or its libraries are others" in said
        assert "agent bare" in said
