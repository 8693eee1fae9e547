"""kill -9 of a run or of its worker, at moments and at stages."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time

import pytest

from tests.orchestrator.targets.software.processes import gone, marked
from tests.robustness.runs import ENDLESS, QUICK, RUNNING, one_sentence, whole
from tests.traces_of_runs import Run, partial_folders

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
