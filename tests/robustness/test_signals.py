"""Ctrl-C and SIGTERM at every stage, in imports and in callbacks of the compiler."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from orchestrator.terminal import exit_codes
from tests.orchestrator.targets.software.processes import gone, marked
from tests.robustness.runs import ENDLESS, QUICK, RUNNING, one_sentence, whole
from tests.traces_of_runs import Run, partial_folders

SIGNALS = [
    pytest.param(signal.SIGINT, "interrupted", id="ctrl-c"),
    pytest.param(signal.SIGTERM, "stopped by SIGTERM", id="sigterm"),
]


@pytest.mark.parametrize(("number", "words"), SIGNALS)
@pytest.mark.parametrize("stage", ["compiling", "running", "writing"])
def test_a_signal_to_the_process_group(target, out, number, words, stage):
    if target == "simulated" and stage == "compiling":
        pytest.skip("it has no such stage when it is compiled")
    plan = ENDLESS[target] if stage in ("compiling", "running") else QUICK
    with Run(*plan, "--target", target, "--out", out) as run:
        assert run.wait_for(RUNNING[target] if stage == "running" else stage)
        run.interrupt(number)
        code, output, said = run.end()
        assert run.left(out.parent) == []
    if stage == "writing" and whole(out):
        return  # it was complete before the signal came
    # Python ends by the signal itself when the signal came within `exec` of a text
    assert code in (128 + number, -number)
    assert output == ""
    one_sentence(said, words, "nothing of an unfinished run was kept")
    assert not out.exists()


@pytest.mark.parametrize(("number", "words"), SIGNALS)
@pytest.mark.parametrize("moment", [0.5, 1.5])
def test_a_signal_while_it_compiles(target, out, number, words, moment):
    with (
        tempfile.TemporaryDirectory() as cache,
        Run(*QUICK, "--target", target, "--out", out, NUMBA_CACHE_DIR=cache) as run,
    ):
        assert run.wait_for("compiling")
        time.sleep(moment)
        run.interrupt(number)
        code, _, said = run.end()
        assert run.left(out.parent) == []
    assert code in (128 + number, -number)
    one_sentence(said, words)
    assert not out.exists()


@pytest.mark.parametrize("module", [b"pydantic_core", b"llvmlite", b"pyarrow"])
def test_ctrl_c_while_it_imports(out, module):
    with Run(*QUICK, "--target", "simulated", "--out", out) as run:
        maps = Path(f"/proc/{run.process.pid}/maps")
        while run.process.poll() is None and module not in maps.read_bytes():
            time.sleep(0.001)
        run.interrupt()
        code, _, said = run.end()
        assert run.left(out.parent) == []
    if not whole(out):
        assert code in (128 + signal.SIGINT, -signal.SIGINT)
        one_sentence(said, "interrupted")


SWALLOWED = """
import ctypes, signal, time
from orchestrator.terminal import exit_codes as exits
exits.REDELIVERY_S = {after}
guard = exits.raise_on_signals()
guard.__enter__()
number = signal.Signals[{name!r}]
def printed():
    ctypes.pythonapi.PyRun_SimpleString(b"import signal; signal.raise_signal(%d)" % number)
unraisable = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(number))
try:
    {lost}()
    time.sleep(20)
    print("swallowed")
except BaseException as error:
    print(exits.explain(error))
"""


@pytest.mark.parametrize("lost", ["unraisable", "printed"])
@pytest.mark.parametrize("after", [0, exit_codes.REDELIVERY_S])
@pytest.mark.parametrize(("number", "words"), SIGNALS)
def test_a_signal_that_a_library_swallows_is_delivered_again(number, words, after, lost):
    """The compiler calls back from C, from where no exception gets out; modules in C print one that
    ends an import. At 0 s the second signal comes while the first is looked at, as on a busy
    machine."""
    script = SWALLOWED.format(name=number.name, after=after, lost=lost)
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == f"{128 + number}\n"
    one_sentence(done.stderr, words)


# kill -9 of a run or of its worker, at moments and at stages.

MOMENTS = [random.Random(moment).uniform(0, 2) for moment in range(4)]


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: f"{moment:.2f}s")
def test_killed_at_any_moment(target, out, moment):
    with Run(*QUICK, "--target", target, "--out", out) as run:
        time.sleep(moment)
        run.process.kill()
        run.end()
        assert run.left(out.parent) == []
    if whole(out) == []:
        assert not out.exists(), "the folders that were made for it are gone too"


@pytest.mark.parametrize("stage", ["compiling", "running", "writing", "drawing"])
def test_killed_at_a_stage(target, out, stage):
    if target == "simulated" and stage == "compiling":
        pytest.skip("it has no such stage when it is compiled")
    plan = ENDLESS[target] if stage == "running" else QUICK
    with Run(*plan, "--target", target, "--out", out) as run:
        assert run.wait_for(RUNNING[target] if stage == "running" else stage)
        assert stage != "running" or len(partial_folders(out.parent)) == 1
        assert target == "simulated" or stage != "running" or len(run.networks) >= 4
        run.process.kill()
        assert run.end()[0] == -signal.SIGKILL
        assert run.left(out.parent) == []
    assert len(whole(out)) <= (stage == "drawing")


def test_killed_while_it_compiles(target, out):
    with (
        tempfile.TemporaryDirectory() as cache,
        Run(*QUICK, "--target", target, "--out", out, NUMBA_CACHE_DIR=cache) as run,
    ):
        assert run.wait_for("compiling")
        time.sleep(0.5)
        run.process.kill()
        run.end()
        assert run.left(out.parent) == []
    assert not out.exists()


def test_killed_together_with_its_reaper_the_next_run_tidies_up(out):
    with Run(*ENDLESS["simulated"], "--target", "simulated", "--out", out) as run:
        assert run.wait_for("simulating")
        for process in marked(run.mark):
            os.kill(process, signal.SIGSTOP)  # so that the reaper cannot see the others end
        for process in marked(run.mark):
            os.kill(process, signal.SIGKILL)
        run.end()
        assert gone(run.mark)
    assert len(partial_folders(out)) == 1
    with Run(*QUICK, "--target", "simulated", "--out", out) as run:
        assert run.end()[0] == 0
        assert run.left(out.parent) == []
    assert len(whole(out)) == 1


@pytest.mark.parametrize("stage", ["preparing", "running"])
def test_a_worker_that_is_killed_ends_the_run_with_a_sentence(software, out, stage):
    with Run(*ENDLESS[software], "--target", software, "--out", out) as run:
        assert run.wait_for(stage)
        while (worker := run.worker()) is None:
            assert run.process.poll() is None
            time.sleep(0.01)
        os.kill(worker, signal.SIGKILL)
        code, output, said = run.end()
        assert run.left(out.parent) == []
    assert (code, output) == (3, "")
    one_sentence(said, "target software", "the worker process ended (signal 9)")
    assert not out.exists()


# Two runs beside each other: both are kept, and neither takes the other along.


def test_two_runs_at_once_are_both_kept(target, out):
    """On a busy machine the software target's verdict may be that the machine was too busy."""
    arguments = [*QUICK, "--target", target, "--out", out, "--json"]
    with Run(*arguments) as one, Run(*arguments) as two:
        ended = [run.end() for run in (one, two)]
        assert [run.left(out.parent) for run in (one, two)] == [[], []]
    results = [json.loads(output) for _, output, _ in ended]
    assert sorted(Path(result["folder"]) for result in results) == whole(out)
    assert len(whole(out)) == 2
    for (code, _, _), result in zip(ended, results, strict=True):
        assert {"met": 0, "unjudged": 0, "missed": 1, "invalid": 3}[result["verdict"]] == code
        assert all(row["met"] for row in result["expectations"])
        assert sum(result["fidelity"].get("lost_outside_queues", {}).values()) == 0


def test_a_run_that_is_killed_leaves_its_neighbour_alone(target, out):
    with Run(*ENDLESS[target], "--target", target, "--out", out) as one:
        assert one.wait_for(RUNNING[target])
        with Run(*QUICK, "--target", target, "--out", out) as two:
            assert two.wait_for("running" if target == "software" else "writing")
            one.process.kill()
            one.end()
            two.end()
            assert two.left(out.parent) == []
        assert one.left(out.parent) == []
    assert len(whole(out)) == 1
