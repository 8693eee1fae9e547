"""A submission whose plan is wrong in very many places costs little, and its asker hears why."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

import pytest

import plugins
from orchestrator.plan.size_limits import MOST
from orchestrator.testbed.controller.controller_messages import Submit
from orchestrator.testbed.controller.distributed_job import DistributedJob
from orchestrator.testbed.controller.run_job import LONGEST_ERROR
from orchestrator.testbed.inventory import Testbed

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
