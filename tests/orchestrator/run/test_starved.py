"""A note where one of several equal flows starves at a drop-tail queue, and none elsewhere."""

from __future__ import annotations

import pytest

from orchestrator.assembly import assemble, record
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run import starved
from tests.orchestrator.assembly.test_clocks import FAST, KINDS, fan_in
from tests.orchestrator.worlds import ALIGNED, MS, Table, run_until


def notes(table: Table) -> list[str]:
    assembly = assemble(Plan(**table).check(Registry.load()))
    run_until(assembly, table["duration"] + 1)
    everything = [(assembly, list(table["nodes"]))]
    return starved.starvation_notes(
        assembly.resolved, record("simulated", everything, cpu_s=1, wall_s=1)
    )


def test_a_flow_that_is_locked_out_is_named_with_its_queue_and_what_would_do() -> None:
    (found,) = notes(fan_in(2, KINDS["bulk"], **ALIGNED))
    assert found.startswith("s.d: 1 of 2 equal flows of q starve")
    assert "q.1" in found
    assert 'phase = "random"' in found
    (found,) = notes(fan_in(8, KINDS["bulk"], **ALIGNED))
    assert found.startswith("s.d: 7 of 8 equal flows of q starve")
    assert "and more" in found


@pytest.mark.parametrize("frame", [500, 750])
def test_a_flow_of_longer_frames_that_shorter_ones_lock_out_is_named(frame: int) -> None:
    """A queue that counts octets may have room for a shorter frame and none for a longer one."""
    table = fan_in(2, KINDS["bulk"])
    entry = table["traffic"].pop("q")
    table["traffic"]["short"] = entry | {"from": "h0", "frame": frame}
    table["traffic"]["long"] = entry | {"from": "h1"}
    (found,) = notes(table)
    assert found.startswith("s.d: 1 of 2 flows of short, long with unequal frames starve")
    assert "(long: below 10% of the mean): it is full in octets" in found
    table["traffic"]["short"]["frame"] = 1500
    assert notes(table) == []


def test_fair_shares_and_queues_that_lose_nothing_give_none() -> None:
    assert notes(fan_in(8, KINDS["bulk"])) == []
    light = FAST | {"traffic": {"plugin": "cbr", "rate": 10**9}, "duration": 5 * MS}
    assert notes(fan_in(2, light, **ALIGNED)) == []
