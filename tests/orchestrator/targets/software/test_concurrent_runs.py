"""Two runs in real time at once: the second one is told which has the cores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator import python_command
from orchestrator.cli import run_summary
from orchestrator.run import partial_runs
from orchestrator.targets.software.concurrent_runs import (
    ConcurrentRun,
    concurrent_runs,
    other_runs,
    with_concurrent_runs,
)
from tests.orchestrator.targets.software.other_run import going_on
from tests.orchestrator.targets.software.short_plans import QCN
from tests.patience import PATIENCE_S


@pytest.fixture
def other(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """Another run, by its process and its folder."""
    with going_on(tmp_path / "theirs") as one:
        yield one


def test_a_run_is_found_by_process_and_folder(other: tuple[int, Path]) -> None:
    process, folder = other
    assert ConcurrentRun(*other) in concurrent_runs()
    assert str(ConcurrentRun(*other)) == f"demo (process {process}, {folder})"
    assert folder.parent.name == "demo"
    assert partial_runs.active_run_folders(partial_runs.process_commands())[process] == folder


def test_an_agent_tells_of_runs_and_not_of_the_parts_of_other_agents(
    other: tuple[int, Path],
) -> None:
    agent = subprocess.Popen(
        python_command.code(
            "import subprocess, sys, os; subprocess.run([sys.executable, '-c', 'input()', "
            "'orchestrator.targets.software.worker_main', '9', str(os.getpid())])"
        ),
        stdin=subprocess.PIPE,
    )
    try:
        end = time.monotonic() + PATIENCE_S
        while agent.pid not in [one.process for one in concurrent_runs()]:
            assert time.monotonic() < end
        assert ConcurrentRun(*other) in other_runs()
        assert agent.pid not in [one.process for one in other_runs()]
    finally:
        agent.communicate()


def test_what_ended_and_what_is_ours_is_none(other: tuple[int, Path]) -> None:
    waits = [sys.executable, "-c", "input()", "orchestrator.targets.software.worker_main", "9"]
    ours = subprocess.Popen([*waits, str(os.getpid())], stdin=subprocess.PIPE)
    dead = subprocess.Popen(["true"])
    dead.wait()
    orphan = subprocess.Popen([*waits, str(dead.pid)], stdin=subprocess.PIPE)
    try:
        found = [one.process for one in concurrent_runs()]
        assert other[0] in found
        assert os.getpid() not in found
        assert dead.pid not in found
    finally:
        for process in (ours, orphan):
            process.kill()
            process.communicate()


def test_a_run_on_other_cores_is_none(other: tuple[int, Path]) -> None:
    cores = os.sched_getaffinity(0)
    if len(cores) < 2:
        pytest.skip("one core is everybody's")
    mine, theirs = sorted(cores)[:1], sorted(cores)[1:]
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(other[0])], capture_output=True, text=True, check=True
    )
    try:
        os.sched_setaffinity(0, mine)
        for child in children.stdout.split():
            os.sched_setaffinity(int(child), theirs)
        assert other[0] not in [one.process for one in concurrent_runs()]
    finally:
        os.sched_setaffinity(0, cores)


def test_a_distorted_run_names_its_neighbour_and_advises_no_pace(
    capsys: pytest.CaptureFixture[str],
) -> None:
    met = [ConcurrentRun(4711, Path("/x/runs/demo/20260101T000000Z-aa")), ConcurrentRun(12, None)]
    bad = {"verdict": "invalid", "reasons": ["late"], "advised_pace": 0.0007}
    told = with_concurrent_runs(bad, met)
    assert told["advised_pace"] is None
    assert told["reasons"] == [
        "late",
        "another run in real time had cores of this machine at the same time: "
        "demo (process 4711, /x/runs/demo/20260101T000000Z-aa), a run of process 12",
    ]
    shown = str(run_summary._slower(told)[0][1])
    assert shown == "run it again when the other one is over"
    assert "0.0007" in str(run_summary._slower(bad)[0][1])
    assert not run_summary._slower(bad | {"verdict": "valid"}), (
        "a paced run whose clock was held back"
    )
    good = {"verdict": "valid", "reasons": []}
    assert with_concurrent_runs(good, met)["reasons"] == []
    assert with_concurrent_runs(bad, []) is bad


@pytest.mark.software
@pytest.mark.usefixtures("namespaces")
def test_the_second_of_two_runs_says_which_the_first_is(
    other: tuple[int, Path], tmp_path: Path
) -> None:
    plan = tmp_path / "mine.toml"
    plan.write_text(QCN)
    words = ["run", str(plan), "--target", "software", "--out", str(tmp_path / "mine"), "--json"]
    done = subprocess.run(
        python_command.module("orchestrator.cli", *words, "--no-report"),
        env=python_command.environment(),
        capture_output=True,
        text=True,
    )
    told = f"demo (process {other[0]}, {other[1]})"
    assert told in done.stderr
    neighbours = json.loads(done.stdout)["fidelity"]["neighbours"]
    assert told in [one["told"] for one in neighbours]
    assert "--pace" not in done.stderr
