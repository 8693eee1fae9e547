"""`tailback.sweep` takes what `tailback sweep` does, and means the same by it."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tailback
from orchestrator.batch.batch_executor import PointFailed
from orchestrator.cli import sweep as command
from orchestrator.errors import BadInput
from orchestrator.targets.software.namespace_probe import probe
from orchestrator.testbed import curve_keys as keys_of
from orchestrator.testbed.interruptible_wait import wait_for_run
from tests.orchestrator.batch.made import random_flow

SHARE = "utilization of switch.sink in run"
OF_THE_COMMAND_LINE = {"changes", "as_json", "yes", "fresh", "programs"}
"""Settings of a plan are made with the plan itself; nothing is asked; what is kept counts; a caller
that runs the plan of another permits programs by TAILBACK_PROGRAMS."""
OF_TARGETS = {"pace", "testbed"}
"""Options of targets, which `options` takes too."""


def test_no_option_of_the_command_is_missing() -> None:
    there = set(inspect.signature(command.sweep).parameters) - OF_THE_COMMAND_LINE
    assert set(inspect.signature(tailback.sweep).parameters) == there | {"progress"} | OF_TARGETS


@pytest.mark.parametrize(
    ("how", "option"),
    [
        ({"target": "software", "jobs": 2}, "--jobs"),
        ({"target": "software", "scheduler": "tcp://127.0.0.1:1"}, "--scheduler"),
        ({"jobs": 2, "scheduler": "tcp://127.0.0.1:1"}, "--jobs"),
        ({"controller": "tcp://127.0.0.1:1", "target": "simulated"}, "--target"),
        ({"controller": "tcp://127.0.0.1:1", "target": "gateware", "pace": 0.5}, "--pace"),
        ({"controller": "tcp://127.0.0.1:1", "target": "gateware", "jobs": 2}, "--jobs"),
        ({"controller": "tcp://127.0.0.1:1", "testbed": "lab.toml"}, "--testbed"),
        ({"pace": 0.5}, "--pace"),
        ({"target": "nowhere"}, "nowhere"),
        ({"target": "gateware", "testbed": "no/such.toml"}, "no/such.toml"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_runs(
    tmp_path: Path, how: dict[str, Any], option: str
) -> None:
    with pytest.raises(BadInput, match=option):
        tailback.sweep(random_flow(), over={"traffic.gen.rate": "1Mb/s"}, out=tmp_path, **how)
    assert not list(tmp_path.iterdir())


def test_a_controller_is_asked_with_the_keys_that_were_named(tmp_path: Path) -> None:
    keys_of.make(tmp_path / "mine", "me")
    keys_of.make(tmp_path / "theirs", "them")
    asked = {"over": {"traffic.gen.rate": "1Mb/s"}, "out": tmp_path / "runs"}
    there = {"controller": "tcp://127.0.0.1:9", "keys": tmp_path / "mine"}
    with pytest.raises(PointFailed, match=r"mine/known.*0 keys of controllers"):
        tailback.sweep(random_flow(), **asked, **there)
    key = str(tmp_path / "theirs" / keys_of.PUBLIC)
    with pytest.raises(PointFailed, match=r"on software, seed 1: .*127\.0\.0\.1:9"):
        tailback.sweep(random_flow(), **asked, **there, controller_key=key)


@pytest.mark.software
@pytest.mark.slow
@pytest.mark.skipif(probe() is not None, reason=str(probe()))
def test_points_on_real_frames(tmp_path: Path) -> None:
    """A tenth of the rate makes a tenth of the load, on wires as well."""
    slow = {"links.up.rate": "100Mb/s", "links.down.rate": "100Mb/s"}
    slow |= {"traffic.gen.rate": "50Mb/s", "traffic.gen.peak": "100Mb/s"}
    plan = random_flow(duration=2 * 10**11, sample_interval=5 * 10**9)
    plan = plan.with_settings([f"{key}={value}" for key, value in slow.items()])
    swept = tailback.sweep(
        plan, over={"traffic.gen.rate": ["5Mb/s", "50Mb/s"]}, target="software", pace=0.04,
        metrics=["utilization"], out=tmp_path,
    )  # fmt: skip
    assert swept.result["target"] == "software"
    used = [row[SHARE] for row in swept.parameter_points().to_pylist()]
    if len(used) < 2:
        pytest.skip(f"this machine distorts it: {json.dumps(swept.result['invalid'])}")
    assert used == [pytest.approx(0.05, rel=0.5), pytest.approx(0.5, rel=0.2)]


async def _soon(told: list[str]) -> int:
    try:
        await asyncio.sleep(0 if told else 60)
    except asyncio.CancelledError:
        told.append("cancelled")
        raise
    return 7


def _in_a_thread(work: Callable[[], int]) -> int:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def test_a_run_is_waited_for_by_a_script_a_thread_and_a_notebook() -> None:
    async def notebook() -> int:
        return wait_for_run(_soon(["soon"]))

    assert wait_for_run(_soon(["soon"])) == 7
    assert _in_a_thread(lambda: wait_for_run(_soon(["soon"]))) == 7
    assert asyncio.run(notebook()) == 7


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_ctrl_c_cancels_the_run_that_is_waited_for(in_a_loop: bool) -> None:
    told: list[str] = []

    async def notebook() -> int:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # as a notebook has it
        try:
            return wait_for_run(_soon(told))
        finally:
            signal.signal(signal.SIGINT, before)

    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(notebook()) if in_a_loop else wait_for_run(_soon(told))
    assert told == ["cancelled"]
