"""`tailback explain`, as it is typed: tables, codes, what is kept, the map, Ctrl-C, the shell."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from orchestrator.cli import main
from orchestrator.cli.plan_key_completion import complete_key
from orchestrator.registry import Registry
from tests.orchestrator.batch.made import FULL, random_flow
from tests.orchestrator.cli.interrupted import interrupted

BUSY = FULL | {"name": "busy", "min": 0.4}
RATE = "traffic.gen.rate=100Mb/s,300Mb/s,500Mb/s,700Mb/s"
"""Of a link of 1 Gb/s: busy by four tenths from the third on."""
BUFFER = "nodes.switch.buffer=20KB,90KB"


@pytest.fixture
def tailback() -> Callable[..., Result]:
    """The command line with everything that is installed, in this process."""
    app = main.assemble(Registry.load())
    return lambda *words: CliRunner().invoke(app, ["explain", *map(str, words), "--jobs", "1"])


def written(folder: Path, *expect: dict[str, Any], **changes: Any) -> Path:
    """A plan file: half of a link's rate by chance."""
    table = {"expect": list(expect) or [BUSY], "duration": "10ms"} | changes
    plan = random_flow(**table)
    path = folder / "mine.toml"
    path.write_text(plan.check(Registry.load()).plan.to_toml())
    return path


def kept(folder: Path) -> Path:
    """The one folder of the search."""
    (only,) = (folder / "runs" / "line-of-three").iterdir()
    return only


def test_it_says_where_a_statement_holds_and_keeps_table_and_map(
    tailback: Callable[..., Result], tmp_path: Path
) -> None:
    done = tailback(written(tmp_path), "--free", RATE, "--out", tmp_path / "runs")
    assert done.exit_code == 0, done.output
    assert "all 1 statements hold at 2 of 4 places: rate 500Mb/s to 700Mb/s" in done.stdout
    assert "(not 300Mb/s)" in done.stdout
    folder = kept(tmp_path)
    assert str(folder.relative_to(tmp_path)) in done.stdout.replace("\n", "")
    found = json.loads((folder / "explain.json").read_text())
    assert [place["hold"] for place in found["places"]] == [0, 0, 1, 1]
    assert found["all"]["places"] == 2
    assert "rate 500Mb/s to 700Mb/s" in (folder / "explain.md").read_text()
    assert (folder / "map.svg").read_text().count("<svg") == 1
    assert (folder / "map.png").read_bytes()[1:4] == b"PNG"
    assert (folder / "plan.toml").exists()


def test_nowhere_is_a_code_and_says_what_is_in_the_way(
    tailback: Callable[..., Result], tmp_path: Path
) -> None:
    calm = FULL | {"name": "calm", "min": None, "max": 0.2}
    plan = written(tmp_path, BUSY, {k: v for k, v in calm.items() if v is not None})
    done = tailback(plan, "--free", RATE, "--out", tmp_path / "runs", "--json")
    assert done.exit_code == 1, done.output
    told = json.loads(done.stdout)
    assert told["all"]["places"] == 0
    assert told["contradictions"] == [["busy", "calm"]]
    assert Path(told["folder"]) == kept(tmp_path)


def test_a_map_of_two_parameters_is_a_plane(
    tailback: Callable[..., Result], tmp_path: Path
) -> None:
    words = ("--free", RATE, "--free", BUFFER, "--out", tmp_path / "runs")
    done = tailback(written(tmp_path), *words)
    assert done.exit_code == 0, done.output
    assert "8 places (every combination" in done.stdout.replace("\n", " ")
    text = (kept(tmp_path) / "map.svg").read_text()
    assert "rate" in text
    assert "buffer" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--free", "nodes.switch.buffer"], "KEY=RANGE is expected"),
        (["--free", "nodes.swich.buffer=1KB,2KB"], "switch"),
        (["--free", BUFFER, "--seeds", "0"], "--seeds"),
        (["--free", BUFFER, "--free", BUFFER], "nodes.switch.buffer"),
    ],
)
def test_what_is_not_accepted_says_what_is(tmp_path: Path, words: list[str], said: str) -> None:
    plan = str(written(tmp_path))
    command = [sys.executable, "-m", "orchestrator.cli", "explain", plan, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(tmp_path: Path) -> None:
    plan = written(tmp_path, duration="2s")  # the command is not done when the signal comes
    store = tmp_path / "runs" / ".points" / "line-of-three.jsonl"
    command = [sys.executable, "-m", "orchestrator.cli", "explain", str(plan), "--jobs", "1"]
    command += ["--free", "traffic.gen.rate=100Mb/s..900Mb/s/200", "--points", "200"]
    code, said, workers = interrupted(command, store, tmp_path)
    assert code == 130, said
    assert "200 points" in said
    assert "the same command goes on there" in said
    assert "Traceback" not in said
    assert workers
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert not (tmp_path / "runs" / "line-of-three").exists()
    done = store.read_bytes().count(b"\n")
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        told = next(line for line in process.stderr if "200 points" in line)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert f"{done} of them from before" in told


def test_the_shell_completes_keys_of_the_plan(tmp_path: Path) -> None:
    context: Any = SimpleNamespace(params={"plan": str(written(tmp_path))})
    assert complete_key(context, "nodes.sw") == ["nodes.switch."]
    assert "nodes.switch.buffer=" in complete_key(context, "nodes.switch.")
    assert complete_key(context, "traffic.gen.pe") == ["traffic.gen.peak="]
    for nothing in ("nodes.switch.buffer=1", "nodes.{a,b}.", "nodes.none.", "seed.x."):
        assert complete_key(context, nothing) == []
    context.params["plan"] = str(tmp_path / "none.toml")
    assert complete_key(context, "nodes.") == []
    context.params["plan"] = None
    assert complete_key(context, "nodes.") == []
