"""The same traffic on both targets: the same schedule from the seed, completed on either."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.plan import Plan
from orchestrator.recording import MessageTable
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import MS, US


def plan() -> Plan:
    ends = {"from": ["h1", "h2", "h3"], "to": ["h1", "h2", "h3"], "frame": 1500}
    return Plan(
        name="both",
        duration=300 * MS,
        sample_interval=MS,
        seed=5,
        nodes={name: {"kind": "nic"} for name in ends["to"]} | {"s": {"kind": "switch"}},
        links={
            name: {"ends": [name, "s"], "rate": 100_000_000, "delay": 20 * US}
            for name in ends["to"]
        },
        traffic={
            "p": ends
            | {"plugin": "poisson", "pairing": "all", "load": "0.2", "stop": 200 * MS}
            | {"sizes": "cdf", "cdf": [[1000, 0.5], [20_000, 1.0]]},
            "i": {"plugin": "incast", "from": ["h1", "h2"], "to": "h3", "frame": 1000}
            | {"size": 10_000, "rounds": 3, "every": 50 * MS},
        },
    )


@pytest.mark.software
def test_schedules_agree_and_every_message_is_completed(namespaces: None) -> None:
    tables: list[MessageTable] = []
    for target in ("simulated", "software"):
        done = run(plan(), target=target, out=None)
        assert done.recording.messages is not None
        tables.append(done.recording.messages)
        assert done.result["metrics"]["run"]["i"]["messages.completed"] == 6
    ideal, real = tables
    assert ideal.flows == real.flows
    for name in ("flow", "start_ps", "size", "ideal_ps"):
        assert np.array_equal(getattr(ideal, name), getattr(real, name)), name
    for table in tables:
        assert (table.done_ps >= 0).all()
        assert table.slowdown().min() >= 1
    assert len(real.size) > 50
