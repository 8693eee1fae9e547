"""Names of a plan's entities: ports, directions, limiters, flows, lanes, and their kinds."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.plan.entity_names import (
    Flow,
    Lane,
    directions,
    entities,
    flows,
    is_ours,
    lanes,
    limiters,
    ports,
)


def plan(**changes: Any) -> Plan:
    table: dict[str, Any] = {
        "name": "names",
        "duration": 10**12,
        "sample_interval": 10**9,
        "nodes": {
            "h1": {
                "kind": "nic",
                "reaction_points": 2,
                "reaction_point": {"plugin": "qcn-rp"},
            },
            "h2": {"kind": "nic"},
            "s": {"kind": "switch"},
            "d": {"kind": "sink"},
        },
        "links": {
            "a": {"ends": ["h1", "s"], "rate": 10**9},
            "b": {"ends": ["h2", "s"], "rate": 10**9},
            "c1": {"ends": ["s", "d"], "rate": 10**9},
            "c2": {"ends": ["d", "s"], "rate": 10**9},
        },
        "traffic": {
            "one": {"plugin": "cbr", "from": "h1", "to": "d", "rate": 10**6},
            "two": {"plugin": "cbr", "from": "h2", "to": "d", "rate": 10**6, "flows": 2},
        },
    }
    return Plan(**(table | changes))


def test_directions_are_in_the_order_of_links_and_parallel_ones_carry_their_link() -> None:
    found = directions(plan())
    assert [way.entity for way in found] == [
        *("h1>s", "s>h1", "h2>s", "s>h2"),
        *("c1:s>d", "c1:d>s", "c2:d>s", "c2:s>d"),
    ]
    assert [way.link for way in found] == ["a", "a", "b", "b", "c1", "c1", "c2", "c2"]
    assert [(way.sender.node, way.receiver.node) for way in found[:2]] == [("h1", "s"), ("s", "h1")]
    assert [way.sender.forward for way in found] == [True, False] * 4


def test_a_port_is_named_by_its_peer_and_where_links_are_parallel_by_its_link() -> None:
    found = ports(plan())
    assert [port.entity for port in found] == [
        *("h1.s", "s.h1", "h2.s", "s.h2", "s.c1", "d.c1", "d.c2", "s.c2"),
    ]
    assert [port.input for port in found[:2]] == ["h1.s/in", "s.h1/in"]
    assert [(port.peer, port.link) for port in found[:2]] == [("s", "a"), ("h1", "a")]


def test_flows_are_numbered_where_an_entry_has_several() -> None:
    assert flows(plan()) == [
        Flow("one", "one", 0, "h1", "d"),
        Flow("two.0", "two", 0, "h2", "d"),
        Flow("two.1", "two", 1, "h2", "d"),
    ]


def test_flows_to_a_group_have_its_members_each_with_a_name() -> None:
    traffic = {"g": {"plugin": "cbr", "from": "h1", "to": "all", "rate": 10**6}}
    found = flows(plan(traffic=traffic, groups={"all": ["d", "h2"]}))
    assert found == [Flow("g", "g", 0, "h1", "all", ("d", "h2"))]
    assert [found[0].at(member) for member in found[0].members] == ["g@d", "g@h2"]
    kinds = entities(plan(traffic=traffic, groups={"all": ["d", "h2"]}))
    assert kinds["g"] == {"entry", "multicast", "messages"}
    assert (kinds["g@d"], kinds["g@h2"]) == ({"copy"}, {"copy"})


def test_a_nic_with_a_reaction_point_has_its_limiters() -> None:
    assert limiters(plan()) == {"h1": ["h1.rp0", "h1.rp1"]}


@pytest.mark.parametrize("priorities", ["shared", "separate"])
def test_plans_share_one_lane_unless_they_separate_priorities(priorities: str) -> None:
    found = lanes(plan(priorities=priorities))
    if priorities == "shared":
        assert found == [Lane("", tuple(range(8)))]
    else:
        assert found == [Lane("/p0", (0, 1, 2, 3, 4, 5, 6, 7))]


def traffic(*priorities: int, **changes: Any) -> dict[str, Any]:
    return {
        f"t{p}": {"plugin": "cbr", "from": "h1", "to": "d", "rate": 10**6, "priority": p} | changes
        for p in priorities
    }


def test_each_priority_in_use_has_a_lane_and_the_first_takes_the_rest() -> None:
    found = lanes(plan(priorities="separate", traffic=traffic(5, 2), more_priorities=[7]))
    assert found == [Lane("/p2", (2, 0, 1, 3, 4, 6)), Lane("/p5", (5,)), Lane("/p7", (7,))]


def test_the_rest_goes_to_the_first_lossy_lane() -> None:
    """PFC names the priorities that it holds alone: others do not share their lanes."""
    nodes = plan().model_dump()["nodes"]
    nodes["s"] = {
        "kind": "switch",
        "pause": {"plugin": "pfc"},
        "pause_priorities": [2],
    }
    nodes["h1"] = {"kind": "nic"}
    nodes["h2"] = {"kind": "nic"}
    nodes["d"] = {"kind": "sink"}
    found = lanes(plan(priorities="separate", traffic=traffic(2, 5), nodes=nodes))
    assert found == [Lane("/p2", (2,)), Lane("/p5", (5, 0, 1, 3, 4, 6, 7))]
    nodes["s"]["pause_priorities"] = [2, 5]
    found = lanes(plan(priorities="separate", traffic=traffic(2, 5), nodes=nodes))
    assert found == [Lane("/p2", (2, 0, 1, 3, 4, 6, 7)), Lane("/p5", (5,))]


def test_acknowledgements_in_a_priority_of_their_own_have_a_lane() -> None:
    found = lanes(
        plan(
            priorities="separate",
            traffic=traffic(1, ack_priority=6, transport={"plugin": "go-back-n"}),
        )
    )
    assert found == [Lane("/p1", (1, 0, 2, 3, 4, 5, 7)), Lane("/p6", (6,))]


def test_every_entity_has_its_kinds() -> None:
    kinds = entities(plan())
    assert kinds["s"] == {"switch"}
    assert kinds["h1"] == kinds["h2"] == {"nic"}
    assert kinds["d"] == {"sink"}
    assert kinds["s.h1"] == {"end", "port"}
    assert kinds["h1.s"] == kinds["d.c1"] == {"end"}
    assert kinds["h1>s"] == kinds["c2:s>d"] == {"link"}
    assert kinds["h1.rp1"] == {"limiter"}
    assert kinds["one"] == {"entry", "flow", "messages"}
    assert (kinds["two"], kinds["two.1"]) == ({"entry", "messages"}, {"flow"})
    assert kinds["traffic"] == {"traffic", "messages"}
    assert kinds["network"] == {"network"}
    assert "s.h1/in" not in kinds


def test_lanes_have_queues_and_links_of_their_own() -> None:
    nodes = {
        "h1": {"kind": "nic"},
        "h2": {"kind": "nic"},
        "d": {"kind": "sink"},
        "s": {"kind": "switch", "inputs": {"buffer": 10**5}},
    }
    kinds = entities(plan(priorities="separate", traffic=traffic(1, 3), nodes=nodes))
    assert kinds["s.h1"] == {"end"}
    assert kinds["s.h1/p1"] == kinds["s.h1/p3"] == {"port"}
    assert kinds["s.h1/in/p1"] == {"input"}
    assert (kinds["h1>s"], kinds["h1>s/p3"]) == ({"link"}, {"lane"})


def test_of_a_device_of_others_only_our_ends_have_metrics() -> None:
    nodes = {
        "h1": {"kind": "nic"},
        "h2": {"kind": "nic"},
        "d": {"kind": "sink"},
        "s": {"kind": "external"},
    }
    links = {
        name: {"ends": ends, "rate": 10**9}
        for name, ends in {"a": ["h1", "s"], "b": ["h2", "s"], "c": ["s", "d"]}.items()
    }
    made = plan(nodes=nodes, links=links)
    kinds = entities(made)
    assert not is_ours(made, "s")
    assert is_ours(made, "h1")
    assert kinds["s.h1"] == {"external port"}
    assert kinds["h1.s"] == {"end"}
    assert kinds["s"] == {"external"}
    assert kinds["h1>s"] == {"link"}
    assert "s>h1" not in kinds
