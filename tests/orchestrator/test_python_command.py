"""No process of ours executes what lies in the folder that it was started from."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator import python_command
from orchestrator.console.run_launcher import LocalRun
from orchestrator.errors import RunFailed, TailbackError
from orchestrator.run.run_folder import RunFolder
from orchestrator.targets.software.program_runner import Hosts, Programs
from orchestrator.targets.software.worker_process import run_job
from orchestrator.testbed import curve_keys
from traces.pytest_plugin import testbed_session

POISON = ("queue", "pyroute2", "dataclasses", "typing", "json", "resource", "tomllib", "typer")
PRODUCT = ("orchestrator", "traces", "traffic", "plugins", "firmware")
ALLOWED = {
    "orchestrator/python_command.py",
    "orchestrator/run/machine_diagnosis.py",
    "firmware/toolchain.py",
}
"""Where `sys.executable` may be: the second and third tell of it and start nothing with it."""


@pytest.fixture
def poisoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stand in a folder of modules that leave a trace when they are imported; none must."""
    here, trace = tmp_path / "here", tmp_path / "executed"
    here.mkdir()
    for name in POISON:
        line = f"open({str(trace)!r}, 'a').write({name!r} + ' ')\nraise SystemExit(9)\n"
        (here / f"{name}.py").write_text(line)
    monkeypatch.chdir(here)
    yield tmp_path
    assert not trace.exists(), f"executed from the working folder: {trace.read_text()}"


def command(folder: Path) -> None:
    tailback = Path(sys.executable).with_name("tailback")
    done = subprocess.run([tailback, "plans"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def worker(folder: Path) -> None:
    with suppress(TailbackError):  # where there are no namespaces it says so
        assert run_job("builtins:bool") is True


def programs(folder: Path) -> None:
    plan: Any = SimpleNamespace(programs={"one": None})
    with_one = Programs(plan, Hosts())
    assert with_one._process is not None
    with_one._process.communicate("[]\n", timeout=120)
    assert with_one._process.returncode == 0


def console(folder: Path) -> None:
    plan = SimpleNamespace(to_toml=lambda: "no plan", programs={})
    draft: Any = SimpleNamespace(
        name="x", target="simulated", pace=None, programs=(), resolved=SimpleNamespace(plan=plan)
    )
    started = LocalRun(draft, folder / "runs")
    assert started.process.wait(120) == 2, started.failure()
    assert "x.toml" in (started.failure() or "")
    started.close()


def pytest_plugin(folder: Path) -> None:
    curve_keys.make(folder / "config" / "tailback" / "keys", "me")
    with (
        pytest.raises(RunFailed, match=r"no-such-testbed\.toml"),
        testbed_session.testbed_session(folder / "no-such-testbed.toml"),
    ):
        pass


def reaper(folder: Path) -> None:
    with RunFolder.open(folder / "runs", "x") as run:
        run.write_text("plan.toml", "")
        time.sleep(0.2)


def lines(folder: Path) -> None:
    words = python_command.code("import queue, dataclasses, json")
    subprocess.run(words, check=True, timeout=60, env=python_command.environment())


@pytest.mark.parametrize(
    "process", [command, worker, programs, console, pytest_plugin, reaper, lines]
)
@pytest.mark.parametrize("path", [None, os.pathsep + "/nowhere"], ids=["", "empty entry"])
def test_nothing_of_the_working_folder_is_executed(poisoned, process, path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(poisoned / "config"))
    if path is not None and process is not command:  # that one's path is its caller's
        monkeypatch.setenv("PYTHONPATH", path)
    process(poisoned)


def test_commands_of_python_are_made_in_one_place():
    root = Path(__file__).parents[2]
    found = set()
    for file in (path for name in PRODUCT for path in (root / name).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and node.attr == "executable":
                found.add(file.relative_to(root).as_posix())
    assert found - ALLOWED == {"orchestrator/run/run_folder.py"}, "which names it in a message"
