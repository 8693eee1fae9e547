"""Untouched captures of simulated runs conform: plans drawn by a seed, over all schemes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.traces.oracle.drawn_plans import SCHEMES, TCP, plan
from tests.traces.oracle.test_mutants import captured
from traces.oracle.conformance_judge import Judgement, judge

SOME, ALL = 40, 500
WITHOUT_CNM = [name for name in SCHEMES if name != "qcn"]
HEADERS: list[dict[str, Any]] = [
    {"tagged": False, "priority": "dscp"},
    {"vlan": 300, "outer_vlan": 7},
    {"ip": 6},
    {"ip": 6, "tagged": False, "priority": "dscp", "tc_to_dscp": [0, 10, 18, 26, 34, 46, 48, 56]},
]


def judged(table: dict[str, Any], folder: Path) -> Judgement:
    resolved = Plan(**table).check(Registry.load())
    return judge(captured(resolved, folder), resolved)


def check_conformance(seed: int, folder: Path) -> None:
    table = plan(seed)
    found = judged(table, folder)
    departures = [(one.departure.node, one.rule, one.diagnosis.why) for one in found.findings]
    assert departures == [], table
    assert sum(node.frames for node in found.nodes) > 20


@pytest.mark.parametrize("seed", range(SOME))
def test_a_drawn_plan_conforms(seed: int, tmp_path: Path) -> None:
    check_conformance(seed, tmp_path)


@pytest.mark.parametrize("seed", [215, 245, 800_009])
def test_senders_in_step(seed: int, tmp_path: Path) -> None:
    """Frames of two or three of them meet in the same nanosecond hundreds of times: before a queue
    of two priorities, beside a departure, before a crossbar."""
    check_conformance(seed, tmp_path)


def with_headers(table: dict[str, Any], headers: dict[str, Any]) -> dict[str, Any]:
    """A drawn plan with other headers; where these carry no CNM or feedback, for another scheme."""
    if headers.get("priority") == "dscp":
        code_points = {"dscp_to_tc": {"10": 6, "0": 5, "8": 2}}
        for name, node in table["nodes"].items():
            table["nodes"][name] = node | (code_points if node["kind"] == "switch" else {})
    return table | {"headers": headers}


@pytest.mark.parametrize("other", [0, 2])
@pytest.mark.parametrize("name", WITHOUT_CNM)
def test_a_drawn_plan_conforms_with_other_headers(name: str, other: int, tmp_path: Path) -> None:
    headers = HEADERS[(WITHOUT_CNM.index(name) + other) % len(HEADERS)]
    table = with_headers(plan(list(SCHEMES).index(name)), headers)
    found = judged(table, tmp_path)
    departures = [(one.departure.node, one.rule, one.diagnosis.why) for one in found.findings]
    assert departures == [], table
    assert sum(node.frames for node in found.nodes) > 20


def test_cnm_conforms_without_tags_and_with_two(tmp_path: Path) -> None:
    for number, headers in enumerate(HEADERS[:2]):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = judged(with_headers(plan(1), headers), folder)
        assert found.conforming, [one.diagnosis.why for one in found.findings]


@pytest.mark.trials
@pytest.mark.parametrize("first", range(SOME, ALL, 20))
def test_many_drawn_plans_conform(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        check_conformance(seed, folder)


def test_the_ordinary_seeds_draw_every_scheme_and_feature() -> None:
    tables = [plan(seed) for seed in range(SOME)]
    assert {table["name"].split("-", 2)[2] for table in tables} == set(SCHEMES)
    switches = [table["nodes"]["s"] for table in tables]
    assert any("forwards_by" in one for one in switches)
    assert any("inputs" in one for one in switches)
    assert any("s2" in table["nodes"] for table in tables)
    assert any("priorities" in table for table in tables)
    assert any(table.get("clock_ppm") == 0 for table in tables)


def aligned(sources: int, delay: str, switch: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Hosts whose frames reach a switch at one instant, to the ps, in 5 ms."""
    hosts = range(1, sources + 1)
    links: dict[str, Any] = {f"up{n}": {"ends": [f"h{n}", "s"]} for n in hosts}
    links["down"] = {"ends": ["s", "d"]}
    ports = [f"{a}.{b}" for link in links.values() for a, b in (link["ends"], link["ends"][::-1])]
    rate = {"rate": "1Gb/s", "delay": delay}
    nodes = {f"h{n}": {"kind": "nic"} for n in hosts}
    return {
        "name": "aligned",
        "clock_ppm": 0,
        "phase": "aligned",
        "duration": "5ms",
        "nodes": nodes | {"s": {"kind": "switch", **switch}, "d": {"kind": "sink"}},
        "links": {name: link | rate for name, link in links.items()},
        "traffic": {
            "t": {"plugin": "cbr", "from": f"h{{1..{sources}}}", "to": "d", "rate": "0.6Gb/s"}
        },
        "capture": {"ports": ports, "snap": "256B", "frames": 100_000},
    } | changes


@pytest.mark.parametrize("sources", [2, 3])
@pytest.mark.parametrize("scheme", ["codel", "pie"])
@pytest.mark.parametrize("delay", ["5us", "5130001ps"])
def test_frames_of_one_instant_of_which_one_is_dropped(
    sources: int, scheme: str, delay: str, tmp_path: Path
) -> None:
    switch = {"congestion_point": SCHEMES[scheme]["congestion_point"], "buffer": "2MB"}
    found = judged(aligned(sources, delay, switch), tmp_path)
    assert found.conforming, [one.diagnosis.why for one in found.findings]


@pytest.mark.parametrize("transport", [TCP, TCP | {"congestion_control": "cubic"}])
def test_acknowledgements_that_cross_a_router(transport: dict[str, Any], tmp_path: Path) -> None:
    """The MAC addresses of a hop are those of its ends, not of the hosts."""
    table = aligned(2, "2us", {"forwards_by": "ip", "buffer": "150KB"})
    table["nodes"]["d"] = {"kind": "nic"}
    entry = {"plugin": "bulk", "from": "h{1..2}", "to": "d", "transport": transport}
    found = judged(table | {"traffic": {"t": entry}}, tmp_path)
    assert found.conforming, [one.diagnosis.why for one in found.findings]
    assert all(node.frames > 50 for node in found.nodes)


@pytest.mark.parametrize("period", ["1us", "500ns", "2us"])
@pytest.mark.parametrize("rate", ["0.6Gb/s", "0.9Gb/s"])
def test_messages_in_the_nanosecond_of_a_refill(period: str, rate: str, tmp_path: Path) -> None:
    """A capture does not show which of them came first; the tokens of a limiter do."""
    point = {"congestion_point": SCHEMES["p4qcn"]["congestion_point"], "buffer": "150KB"}
    table = aligned(3, "2us", point, clock_ppm=100, phase="random", duration="20ms")
    host = {
        "kind": "nic",
        "reaction_points": 1,
        "reaction_point": SCHEMES["p4qcn"]["reaction_point"],
        "limiter": {"depth": "3KB", "period": period},
    }
    table["nodes"] |= {f"h{n}": host for n in (1, 2, 3)}
    table["traffic"]["t"]["rate"] = rate
    found = judged(table, tmp_path)
    assert found.conforming, [one.diagnosis.why for one in found.findings]
