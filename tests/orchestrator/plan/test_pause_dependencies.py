"""The static check of networks: rings are named, and where it finds none nothing gets stuck."""

from __future__ import annotations

import json
import time
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import plugins
from orchestrator.cli.main import assemble
from orchestrator.plan import Plan
from orchestrator.plan.cyclic_dependencies import wait_cycles
from orchestrator.plan.pause_dependencies import network
from orchestrator.registry import Registry
from orchestrator.run import pause_deadlocks
from tests.orchestrator.random_fabrics import fabric
from tests.orchestrator.worlds import Table, recorded

PLANS = Path(plugins.__file__).parent / "plans"
RING = ("s1>s2", "s2>s3", "s3>s1")


def resolved(table: Table):
    return Plan(**table).check(Registry.load())


def the_ring() -> Table:
    return tomllib.loads((PLANS / "pathology-deadlock-ring.toml").read_text("utf-8"))


def found(table: Table, **how: bool) -> list[tuple[str, ...]]:
    return [ring.links for ring in wait_cycles(network(resolved(table), **how))]


def test_the_ring_of_the_shipped_plan_is_named_with_what_breaks_it() -> None:
    (ring,) = wait_cycles(network(resolved(the_ring())))
    assert ring.links == RING
    assert [wait.buffer for wait in ring.waits] == ["s2.s1/in", "s3.s2/in", "s1.s3/in"]
    assert ring.alone == (0, 1, 2)
    assert "s1>s2 waits for s2>s3 waits for s3>s1 waits for s1>s2" in ring.text
    assert "no frames from s1>s2 to s2>s3" in ring.remedies()[0]


def test_what_a_remedy_says_does_break_it() -> None:
    """Without PFC at one of its inputs, or with one of its ways led back."""
    table = the_ring()
    table["expect"], table["mutant"] = [], []
    assert found(table) == [RING]
    forwarding = table["nodes"]["s{1..3}"]["forwarding"]
    assert found(table | {"nodes": table["nodes"] | {"s{1..3}": table["nodes"]["s{1..3}"] | {
        "forwarding": {k: v for k, v in forwarding.items() if "+1" in k}}}}) == []  # fmt: skip
    table["nodes"]["s{1..3}"].pop("inputs")
    assert found(table) == []


def test_traffic_that_is_not_there_closes_no_ring_unless_any_is_asked_for() -> None:
    table = the_ring()
    table |= {"expect": [], "mutant": [], "phases": {}}
    table["traffic"] = {"one": {"plugin": "cbr", "from": "h1", "to": "h3", "rate": "10Gb/s"}}
    assert found(table) == []
    assert found(table, any_traffic=True) == [RING]


def test_lanes_are_kept_apart_by_pfc_and_not_by_pause() -> None:
    """Two thirds of the ring in one lane, one in the other: PFC cannot close it, PAUSE can."""
    table = the_ring() | {"priorities": "separate", "expect": [], "mutant": [], "phases": {}}
    table["traffic"] = {
        f"t{n}": {"plugin": "cbr", "from": f"h{n}", "to": f"h{(n + 1) % 3 + 1}", "rate": "1Gb/s",
                  "priority": 3 if n == 3 else 0}
        for n in (1, 2, 3)
    }  # fmt: skip
    assert found(table) == []
    table["nodes"]["s{1..3}"]["inputs"]["pause"]["plugin"] = "pause"
    assert len(found(table)) == 1


def test_a_lane_change_is_followed() -> None:
    """What is sent on aside waits in the other lane, and closes the ring there."""
    table = the_ring() | {"priorities": "separate", "expect": [], "mutant": [], "phases": {}}
    table["traffic"] = {
        f"t{n}": {"plugin": "cbr", "from": f"h{n}", "to": f"h{(n + 1) % 3 + 1}", "rate": "1Gb/s",
                  "priority": 0 if n == 1 else 1}
        for n in (1, 2, 3)
    }  # fmt: skip
    assert found(table) == []
    table["nodes"]["s{1..3}"]["congestion_point"] = {
        "plugin": "priority-demotion",
        "threshold": "9KB",
        "priority": 1,
    }
    (ring,) = found(table)
    assert {link.rpartition("/")[2] for link in ring} == {"p1"}


def test_outputs_that_pause_hold_all_neighbours_even_on_shortest_paths() -> None:
    """Leaves and spines: no frame turns round at a leaf, but a leaf's full uplink holds the other
    spine as well."""
    table: Table = {
        "name": "clos",
        "duration": "1ms",
        "fabric": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts": 2, "rate": "10Gb/s"},
        "nodes": {"{leaf,spine}{1..2}": {"pause": {"plugin": "pfc", "high": "30KB", "low": "9KB"}}},
        "traffic": {"all": {"plugin": "cbr", "from": "h{1..4}", "to": "h{1..4}", "rate": "1Gb/s",
                            "pairing": "all"}},
    }  # fmt: skip
    assert len(found(table)) == 2, "a ring each way round"
    pause = table["nodes"]["{leaf,spine}{1..2}"].pop("pause")
    table["nodes"]["{leaf,spine}{1..2}"]["inputs"] = {"pause": pause}
    assert found(table) == []
    assert found(table, any_traffic=True) == []


def test_a_watchdog_in_the_ring_is_told() -> None:
    table = the_ring() | {"expect": [], "mutant": []}
    table["nodes"]["s{1..3}"]["watchdog"] = {"plugin": "pfc-watchdog"}
    (ring,) = wait_cycles(network(resolved(table)))
    assert ring.ended_by == tuple(f"pfc-watchdog at {link}" for link in RING)
    assert "until a watchdog acts" in ring.text


def test_what_a_plan_does_not_say_is_told() -> None:
    table = the_ring() | {"expect": [], "mutant": []}
    table["nodes"]["s{1..3}"]["inputs"]["pause"] = {"plugin": "scripted-pause"}
    (said,) = network(resolved(table)).unknown
    assert "'scripted-pause'" in said


def agreement(count: int, first: int = 0) -> Counter[str]:
    """Fabrics by what the check says and what became of them; those that do not agree by seed."""
    tally: Counter[str] = Counter()
    for seed in range(first, first + count):
        table = fabric(seed)
        plan = resolved(table)
        free = not wait_cycles(network(plan))
        recording = recorded(table)
        stuck = still_there(recording)
        told = bool(pause_deadlocks.find_deadlocks(plan, recording))
        tally["free" if free else "can"] += 1
        tally["stuck"] += stuck
        tally["told"] += told
        if free and (stuck or told):
            tally[f"fabric({seed}) is free, and stuck"] += 1
        if told and not stuck:
            tally[f"fabric({seed}) moves, and a deadlock is told"] += 1
        if stuck and not told:
            tally["stuck and not told"] += 1
    return tally


def still_there(recording) -> bool:
    """Frames that lie in a buffer at the end, though sources ended at half time."""
    frames = [n for n, c in enumerate(recording.columns) if c.quantity == "queue_frames"]
    return bool(np.any(recording.values[-1, frames] > 0))


def assert_agrees(tally: Counter[str], count: int) -> None:
    assert not [name for name in tally if name.startswith("fabric")], tally
    assert tally["stuck and not told"] == 0, tally
    assert min(tally["free"], tally["can"]) >= count // 8, tally
    assert tally["stuck"] > count // 20, tally


def test_no_deadlock_where_the_check_says_free() -> None:
    assert_agrees(agreement(60), 60)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_deadlock_where_the_check_says_free_in_a_thousand_fabrics() -> None:
    assert_agrees(agreement(1000, first=1000), 1000)


FAT_TREE: Table = {
    "name": "large",
    "duration": "1ms",
    "fabric": {"kind": "fat-tree", "k": 16, "rate": "100Gb/s"},
    "nodes": {"{edges}": {"inputs": {"pause": {"plugin": "pfc"}}},
              "{aggs}": {"inputs": {"pause": {"plugin": "pfc"}}},
              "{cores}": {"inputs": {"pause": {"plugin": "pfc"}}}},
    "traffic": {"some": {"plugin": "cbr", "from": "{hosts}", "to": "{hosts}",
                         "pairing": "permutation", "rate": "1Gb/s"}},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("any_traffic", [False, True])
def test_a_fat_tree_of_sixteen_ports_takes_less_than_ten_seconds(any_traffic: bool) -> None:
    plan = resolved(FAT_TREE)
    begun = time.process_time()
    looked = network(plan, any_traffic=any_traffic)
    assert wait_cycles(looked) == []
    assert time.process_time() - begun < 10
    assert looked.switch_links == 2 * (16 * 8 * 8 + 16 * 8 * 8)


def command(*words: str):
    return CliRunner().invoke(assemble(Registry.load(), words), list(words))


def test_the_command_tells_it_all_by_exit_code_and_json() -> None:
    done = command("network", "pathology-deadlock-ring", "--json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert told["rings"][0]["links"] == list(RING)
    assert not told["deadlock_free"]
    done = command("network", "ibm-fabric")
    assert done.exit_code == 0
    assert "cannot deadlock" in done.stdout
    assert command("network", "pathology-headroom-overrun").exit_code == 1
    assert command("network", "no-such-plan").exit_code == 2
