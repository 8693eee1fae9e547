"""`obeys_pfc`: the lanes of a switch or NIC that received PFC stops, and those that go on."""

from __future__ import annotations

from itertools import product

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.pause_dependencies import network
from orchestrator.registry import Registry
from tests.orchestrator.engine.node.test_lossy_lanes import ring
from tests.orchestrator.worlds import MS, US, Table, at, recorded

RATE = 10**9
LANES = (0, 3, 5)


def stormed(obeys: list[int] | None, vector: int, frames: str = "pfc") -> Table:
    """A NIC for each of three priorities; behind the switch a neighbour that holds from 1 ms on."""
    plan: Table = {
        "name": "stormed",
        "duration": 3 * MS,
        "sample_interval": 100 * US,
        "priorities": "separate",
        "nodes": {
            "s": {"kind": "switch"},
            "far": {
                "kind": "switch",
                "pause": {
                    "plugin": "pause-storm",
                    "start": MS,
                    "stop": 2 * MS,
                    "frames": frames,
                    "vector": vector,
                },
            },
            "d": {"kind": "sink"},
        },
        "links": {
            "c": {"ends": ["s", "far"], "rate": RATE, "delay": US},
            "e": {"ends": ["far", "d"], "rate": RATE, "delay": US},
        },
        "traffic": {},
    }
    if obeys is not None:
        plan["nodes"]["s"]["obeys_pfc"] = obeys
    for priority in LANES:
        plan["nodes"][f"h{priority}"] = {"kind": "nic"}
        plan["links"][f"a{priority}"] = {"ends": [f"h{priority}", "s"], "rate": RATE, "delay": US}
        entry = {"plugin": "cbr", "from": f"h{priority}", "to": "d", "rate": RATE // 10}
        plan["traffic"][f"t{priority}"] = entry | {"priority": priority}
    return plan


@pytest.mark.parametrize(
    ("obeys", "vector"), list(product([None, [], [3], [0, 5], [0, 3, 5]], [8, 1, 33, 255]))
)
def test_the_lanes_that_are_named_and_obeyed_stop(obeys: list[int] | None, vector: int) -> None:
    done = recorded(stormed(obeys, vector))
    for priority in LANES:
        held = at(done, f"s>far/p{priority}", "paused_ps", 3 * MS)
        stops = vector >> priority & 1 == 1 and (obeys is None or priority in obeys)
        sent = at(done, f"t{priority}", "bytes_received", 2 * MS)
        sent -= at(done, f"t{priority}", "bytes_received", MS + 100 * US)
        if stops:
            assert held == pytest.approx(MS, rel=0.02)
            assert sent == 0
        else:
            assert held == 0
            assert sent * 8 / 0.0009 == pytest.approx(RATE / 10, rel=0.15)


@pytest.mark.parametrize("vector", [8, 255])
@pytest.mark.parametrize("obeys", [None, [], [3], [0]])
def test_the_lanes_of_a_nic_likewise(obeys: list[int] | None, vector: int) -> None:
    """Each of the NICs has one lane with traffic."""
    plan = stormed(None, 0)
    plan["nodes"]["s"]["pause"] = plan["nodes"]["far"].pop("pause") | {"vector": vector}
    for name in ("h0", "h3"):
        if obeys is not None:
            plan["nodes"][name]["obeys_pfc"] = obeys
    done = recorded(plan)
    for priority in (0, 3):
        sent = at(done, f"t{priority}", "bytes_received", 2 * MS)
        sent -= at(done, f"t{priority}", "bytes_received", MS + 100 * US)
        stops = vector >> priority & 1 == 1 and (obeys is None or priority in obeys)
        assert (sent == 0) == stops


def test_a_pause_of_the_whole_link_holds_all() -> None:
    """802.3x PAUSE names no priority."""
    done = recorded(stormed([3], 0, "pause"))
    for priority in LANES:
        assert at(done, f"s>far/p{priority}", "paused_ps", 3 * MS) == pytest.approx(MS, rel=0.02)


@pytest.mark.parametrize(("obeys", "waiting"), [(None, {"p3", "p5"}), ([], set()), ([5], {"p5"})])
def test_what_obeys_no_pfc_waits_for_nothing(obeys: list[int] | None, waiting: set[str]) -> None:
    """A deadlock needs lanes that stop."""
    plan = ring(None)
    for node in plan["nodes"].values():
        if node["kind"] == "switch" and obeys is not None:
            node["obeys_pfc"] = obeys
    waits = network(Plan(**plan).check(Registry.load())).waits
    assert {link.rpartition("/")[2] for pair in waits for link in pair} == waiting


@pytest.mark.parametrize(
    ("obeys", "text"),
    [
        ([2], "nodes.s.obeys_pfc: priority 2 has no lane of its own"),
        ([8], "nodes.s.obeys_pfc[0]"),
        ([3] * 9, "nodes.s.obeys_pfc"),
    ],
)
def test_what_cannot_be_is_refused(obeys: list[int], text: str) -> None:
    with pytest.raises(BadInput) as raised:
        Plan(**stormed(obeys, 8)).check(Registry.load())
    assert text in str(raised.value)


def test_what_cannot_be_is_refused_of_a_nic_as_well() -> None:
    plan = stormed(None, 8)
    plan["nodes"]["h3"]["obeys_pfc"] = [2]
    with pytest.raises(BadInput, match=r"nodes.h3.obeys_pfc: priority 2 has no lane of its own"):
        Plan(**plan).check(Registry.load())
