"""While a run is deployed it is told what the machines do that are waited for."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path
from typing import Any

import pytest

import plugins
from orchestrator.plan import Plan
from orchestrator.plan.size_limits import MOST
from orchestrator.registry import Registry
from orchestrator.targets.software.worker_stages import BUILDING, COMPILING, READY
from orchestrator.testbed.agent.agent_messages import HeartbeatReply
from orchestrator.testbed.controller.controller_messages import Submit
from orchestrator.testbed.controller.distributed_job import DistributedJob
from orchestrator.testbed.controller.distributed_run import DistributedRun
from orchestrator.testbed.controller.run_job import LONGEST_ERROR
from orchestrator.testbed.controller.run_lifecycle import FETCH_TRIES, RunEnded, wait_reason
from orchestrator.testbed.curve_keys import make
from orchestrator.testbed.inventory import Testbed
from orchestrator.testbed.wire.chunked_transfer import cut, listed
from tests.orchestrator.worlds import line_of_three

WITHIN_S = 60.0
BED = Testbed(name="lab")
LOADING = ": first run of this version, some 13 seconds"


def pulse(stage: str) -> HeartbeatReply:
    state = stage if stage == READY else "deploying"
    words: dict[str, Any] = {"received_ns": 0, "answered_ns": 0, "boot": "b", "leases": 1}
    return HeartbeatReply(**words, state=state, stage=stage)


class Machine:
    """A machine by its last heartbeat."""

    def __init__(self, stage: str) -> None:
        self.pulse: HeartbeatReply | None = pulse(stage) if stage else None


def test_machines_are_named_by_what_they_do():
    stages = {"a": COMPILING, "b": BUILDING, "c": COMPILING, "d": COMPILING}
    pulses = {name: pulse(stage) for name, stage in stages.items()}
    assert (
        wait_reason(pulses, ["a", "b", "c", "d"])
        == f"compiling or loading on a, c and d{LOADING}; building on b"
    )
    assert wait_reason(pulses, ["b"]) == "building on b"
    assert wait_reason(pulses | {"e": None, "f": pulse("\x1b[2J" * 900)}, ["e", "f"]) == ""


@pytest.fixture
def job(tmp_path) -> tuple[DistributedJob, DistributedRun]:
    make(tmp_path, "controller")
    plan = Plan(**line_of_three()).check(Registry.load())
    machines: Any = {"left": Machine(BUILDING), "right": Machine("")}
    run = DistributedRun("0" * 16, plan, BED, machines)
    run.leases = {"left": "l", "right": "r"}
    asked = Submit(run="0" * 16, plan=plan.plan.to_toml())
    job = DistributedJob(asked, BED, machines, tmp_path, lambda line: None)
    job.run = run
    run.on_stage = lambda: job._news(run)
    return job, run


def test_a_cold_compile_is_seen_by_whoever_follows(job: tuple[DistributedJob, DistributedRun]):
    followed, run = job
    peers: Any = run.peers

    async def whole() -> None:
        run._say("deploying")
        waiting = asyncio.create_task(run._until(READY, WITHIN_S))
        for left, right, done, detail in (
            (BUILDING, "", 0.0, "building on left"),
            (COMPILING, BUILDING, 0.0, f"compiling or loading on left{LOADING}; building on right"),
            (COMPILING, COMPILING, 0.0, f"compiling or loading on left and right{LOADING}"),
            (READY, COMPILING, 0.5, f"compiling or loading on right{LOADING}"),
        ):
            for name, stage in (("left", left), ("right", right)):
                peers[name].pulse = pulse(stage) if stage else None
            end = time.monotonic() + WITHIN_S
            while (told := followed.progress(0)).detail != detail:
                assert time.monotonic() < end, told
                await asyncio.sleep(0.01)
            assert (told.stage, told.done) == ("deploying", done)
        peers["right"].pulse = pulse(READY)
        await asyncio.wait_for(waiting, WITHIN_S)

    asyncio.run(whole())
    assert followed.lines.count("deploying") == 1, "a stage is a line once, however it goes"


@pytest.mark.parametrize("damaged", [0, 1, FETCH_TRIES - 1, FETCH_TRIES])
def test_a_file_that_keeps_coming_damaged_ends_the_run(
    job: tuple[DistributedJob, DistributedRun], tmp_path, damaged: int
):
    _, run = job
    run.leases = {"left": "0" * 16}
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.write_bytes(bytes(range(256)) * 9)
    asked: list[int] = []

    async def answer(machine: str, kind: str, body: Any) -> tuple[dict[str, Any], bytes | None]:
        asked.append(body.offset)
        chunk, octets = cut(source, body.offset)
        return chunk.model_dump(), octets[:-1] + b"?" if len(asked) <= damaged else octets

    run._ask = answer  # type: ignore[method-assign]
    fetched = run._fetch("left", listed("x", source), copy)
    if damaged < FETCH_TRIES:
        asyncio.run(fetched)
        assert copy.read_bytes() == source.read_bytes()
    else:
        with pytest.raises(RunEnded, match=f"came damaged, {FETCH_TRIES} times"):
            asyncio.run(fetched)


# A submission whose plan is wrong in very many places costs little, and its asker hears why.

QUICKSTART = Path(plugins.__file__).parent / "plans" / "quickstart.toml"
LARGEST = 3_900_000
CPU_S = 20.0
ENTRIES = {
    "tables": lambda n: f'[nodes.x{n}]\nkind = "zzz"\n',
    "links": lambda n: f'[[links]]\na = "u{n}"\nb = "v{n}"\n',
    "expectations": lambda n: f'[[expect]]\nmetric = "zz{n}"\nmin = 1\n',
    "keys": lambda n: f"k{n} = {n}\n",
}


@pytest.mark.parametrize("kind", ENTRIES)
def test_a_submission_that_is_wrong_everywhere(kind: str, tmp_path: Path) -> None:
    entry, draw = ENTRIES[kind], random.Random(kind)
    plan = QUICKSTART.read_text() + "\n" + ("[junk]\n" if kind == "keys" else "")
    parts, size, number = [plan], len(plan), 0
    many = draw.choice([MOST["nodes"] // 2, 10**9])
    while size < LARGEST and number < many:
        parts.append(entry(number))
        size += len(parts[-1])
        number += 1
    said: list[str] = []
    job = DistributedJob(
        Submit(run="ab" * 8, plan="".join(parts)), Testbed(), {}, tmp_path, said.append
    )
    before = time.process_time()
    asyncio.run(job.carry_out())
    assert time.process_time() - before < CPU_S
    assert job.exit_code == 2
    assert job.error is not None
    assert 0 < len(job.error) <= LONGEST_ERROR
    assert sum(map(len, said)) < 1000
    assert len(job.progress(0).model_dump_json()) < 2 * LONGEST_ERROR
