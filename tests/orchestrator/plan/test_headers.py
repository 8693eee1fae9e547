"""The table `headers`: what does not go together is refused by key, and where it does not run."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan
from orchestrator.plan.canonical_form import canonical
from orchestrator.plan.entity_names import has_remapping, lanes
from orchestrator.plan.header_table import TC_TO_DSCP, Headers
from orchestrator.plan.pfc_headroom import lossless_buffers
from orchestrator.plan.plan_tables import Switch
from orchestrator.registry import Registry
from tests.orchestrator.worlds import line_of_three

DSCP = {"priority": "dscp"}
QCN = {"kind": "switch", "congestion_point": {"plugin": "qcn-cp"}}
FEEDBACK = {"plugin": "qcn-cp", "tell": "destination", "sampling": "arrival"}


def plan(headers: dict[str, Any], **changes: Any) -> Plan:
    return Plan(**line_of_three(headers=headers, **changes))


def with_switch(headers: dict[str, Any], **keys: Any) -> dict[str, Any]:
    table = line_of_three(headers=headers)
    table["nodes"]["switch"] |= keys
    return table


def refusal(table: dict[str, Any]) -> str:
    with pytest.raises((BadInput, ValueError)) as refused:
        Plan(**table).check(Registry.load())
    return str(refused.value)


def traffic(**keys: Any) -> dict[str, Any]:
    return {"gen": {"plugin": "cbr", "from": "nic", "to": "sink", "rate": 10**9} | keys}


@pytest.mark.parametrize(
    ("table", "where", "accepted"),
    [
        (with_switch({"vlan": 0}), "headers.vlan", "at least 1"),
        (with_switch({"vlan": 4095}), "headers.vlan", "at most 4094"),
        (with_switch({"outer_vlan": "7"}), "headers.outer_vlan", "a whole number"),
        (with_switch({"ip": 5}), "headers.ip", "known: 4, 6"),
        (with_switch({"tagged": False, "vlan": 3}), "headers.vlan", "tagged = true"),
        (with_switch({"tagged": False, "outer_vlan": 3}), "headers.outer_vlan", "no 'outer_vlan'"),
        (with_switch({"dscp_to_tc": {"3": 3}}), "headers.dscp_to_tc", 'priority = "dscp"'),
        (with_switch({"tc_to_dscp": TC_TO_DSCP}), "headers.tc_to_dscp", 'priority = "dscp"'),
        (with_switch({}, dscp_to_tc={"3": 3}), "nodes.switch.dscp_to_tc", 'priority = "dscp"'),
        (with_switch({}, tc_to_queue=[0] * 8), "nodes.switch.tc_to_queue", 'priority = "dscp"'),
        (with_switch(DSCP | {"tc_to_dscp": [64] * 8}), "headers.tc_to_dscp", "less than 64"),
        (with_switch(DSCP | {"tc_to_dscp": [1] * 7}), "headers.tc_to_dscp", "at least 8"),
        (with_switch(DSCP | {"dscp_to_tc": {"64": 1}}), "headers.dscp_to_tc", "from 0 to 63"),
        (with_switch(DSCP | {"dscp_to_tc": {"3": 8}}), "headers.dscp_to_tc.3", "at most 7"),
        (
            line_of_three(headers={"tagged": False}, traffic=traffic(priority=3)),
            "traffic.gen.priority",
            'headers.priority = "dscp" is expected',
        ),
        (
            line_of_three(headers={"ip": 6, "outer_vlan": 9}, traffic=traffic(frame=93)),
            "traffic.gen.frame",
            "at least 94B",
        ),
        (with_switch({"ip": 6}, **QCN), "nodes.switch.congestion_point", "headers.ip = 4"),
        (
            with_switch(DSCP, congestion_point=FEEDBACK),
            "nodes.switch.congestion_point",
            'headers.priority = "pcp" is expected',
        ),
        (
            line_of_three(headers={"ip": 6}, groups={"g": ["sink"]}),
            "groups",
            "headers.ip = 4 is expected",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(
    table: dict[str, Any], where: str, accepted: str
) -> None:
    text = refusal(table)
    assert where in text
    assert accepted in text


def test_programs_and_gateware_have_the_usual_headers_alone() -> None:
    table = line_of_three(headers={"vlan": 2}, target="software")
    table["nodes"]["sink"] = {"kind": "nic"}
    table["traffic"] = {"t": {"plugin": "sockets", "from": "nic", "to": "sink"}}
    assert "no table 'headers' is expected" in refusal(table)
    registry = Registry.load()
    gateware = next(each for each in registry.targets if each.name == "gateware")
    resolved = plan({"vlan": 2}, target="gateware").check(registry)
    with pytest.raises(Refused, match="its frames have a VLAN tag of VLAN 1"):
        gateware.check(resolved, registry.targets)


def test_a_plan_without_the_table_is_written_as_before() -> None:
    assert "headers" not in canonical(plan({}))
    assert canonical(plan({"ip": 6}))["headers"]["ip"] == 6


def test_each_priority_comes_back_from_its_code_point_by_the_default_maps() -> None:
    headers = Headers(priority="dscp")
    classes = headers.classes()
    assert [classes[dscp] for dscp in headers.code_points()] == list(range(8))
    assert classes.count(1) == 64 - 7, "all other code points are best effort"


def test_entries_of_a_switch_go_before_those_of_the_plan() -> None:
    headers = Headers(priority="dscp", dscp_to_tc={"3": 6, "26": 2})
    switch = Switch(kind="switch", dscp_to_tc={"3": 7}, tc_to_queue=[0, 1, 2, 3, 4, 5, 6, 0])
    assert [headers.classes()[dscp] for dscp in (3, 26, 4)] == [6, 2, 4]
    assert [headers.classes(switch)[dscp] for dscp in (3, 26, 4)] == [0, 2, 4]


def test_every_priority_that_a_map_gives_has_a_lane() -> None:
    table = with_switch(DSCP, dscp_to_tc={"3": 2})
    table |= {"priorities": "separate", "traffic": traffic(priority=3)}
    assert [lane.suffix for lane in lanes(Plan(**table))] == ["/p2", "/p3"]


@pytest.mark.parametrize(("entries", "remaps"), [({}, False), ({"3": 1}, True), ({"4": 1}, False)])
def test_a_switch_that_remaps_has_no_certain_headroom_and_may_join_any_lanes(
    entries: dict[str, int], remaps: bool
) -> None:
    registry = Registry.load()
    table = Plan.load(registry.plans()["dscp-untagged"], registry).model_dump(by_alias=True)
    for step in ("mutant", "expect"):
        table[step] = []
    table["nodes"]["rack"]["dscp_to_tc"] = entries or None
    resolved = Plan(**table).check(registry)
    assert has_remapping(resolved.plan) == remaps
    assert ("spine.rack/in" in lossless_buffers(resolved)) != remaps


def test_headers_go_over_those_of_the_base() -> None:
    registry = Registry.load()
    text = """
base = "dscp-untagged"
name = "mine"
[headers]
ip = 6
"""
    found = Plan.load(text, registry).headers
    assert (found.ip, found.tagged, found.priority) == (6, False, "dscp")
