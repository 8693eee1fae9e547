"""htsim's fat trees and connection matrices become plans."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from orchestrator.cli.main import command_line
from orchestrator.plan import Plan
from orchestrator.registry import Registry

NS = 1000
TWO = """# two tiers
Nodes 8
Tiers 2
Podsize 8

Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 50
Oversubscribed 2
Queue_Down 80000
Queue_Up 60000

Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 2000
Switch_Latency_ns 70
Queue_Down 90000
"""
THREE = """nodes 16
tiers 3
podsize 4

tier 0
downlink_speed_gbps 200
radix_down 2
radix_up 2
downlink_latency_ns 500

tier 1
downlink_speed_gbps 200
radix_down 2
radix_up 4
downlink_latency_ns 500

tier 2
downlink_speed_gbps 100
radix_down 8
downlink_latency_ns 500
bundle 2
"""
MATRIX = """Nodes 8
Connections 3
0->5 id 1 start 0 size 20000
1->5 start 1000000 size 20000 prio 3
7->0 id 3 start 2.5e6 size 1
"""


def run(folder: Path, topology: str, matrix: str) -> int:
    (folder / "a.topo").write_text(topology, encoding="utf-8")
    (folder / "b.cm").write_text(matrix, encoding="utf-8")
    files = [str(folder / "a.topo"), str(folder / "b.cm")]
    return command_line(["import", "htsim", *files, "--out", str(folder / "p.toml")])


def imported(folder: Path, topology: str, matrix: str = MATRIX) -> Plan:
    assert run(folder, topology, matrix) == 0
    return Plan.load(folder / "p.toml", Registry.load())


def test_two_tiers(tmp_path: Path) -> None:
    plan = imported(tmp_path, TWO)
    kinds = Counter(re.sub(r"\d", "", name) for name in plan.nodes)
    assert kinds == {"h": 8, "tor": 2, "agg": 2}
    ends = {link.ends for link in plan.links.values()}
    assert ends == {(f"h{n}", f"tor{n // 4}") for n in range(8)} | {
        (f"tor{a}", f"agg{b}") for a in range(2) for b in range(2)
    }
    by_ends = {link.ends: link for link in plan.links.values()}
    # a frame meets the latency of a switch before the queue of its output
    up = by_ends["h0", "tor0"]
    assert (up.delay, up.delay_back) == (1050 * NS, 1000 * NS)
    above = by_ends["tor0", "agg1"]
    assert (above.delay, above.delay_back) == (2070 * NS, 2050 * NS)
    tor = plan.nodes["tor1"]
    assert tor.buffer_of("h4") == 80_000
    assert tor.buffer_of("agg0") == 60_000
    assert plan.nodes["agg0"].buffer_of("tor1") == 90_000


def test_three_tiers_with_bundles(tmp_path: Path) -> None:
    plan = imported(tmp_path, THREE)
    kinds = Counter(re.sub(r"\d", "", name) for name in plan.nodes)
    assert kinds == {"h": 16, "tor": 8, "agg": 8, "core": 4}
    counts = Counter(link.ends for link in plan.links.values())
    up = {ends: count for ends, count in counts.items() if ends[1].startswith("core")}
    assert set(up.values()) == {2}
    assert up.keys() == {
        (f"agg{a}", f"core{c}") for a in range(8) for c in range(4) if c % 2 == a % 2
    }
    inside = {ends for ends in counts if ends[1].startswith("agg")}
    assert inside == {
        (f"tor{t}", f"agg{a}") for t in range(8) for a in range(8) if t // 2 == a // 2
    }
    assert {link.rate for link in plan.links.values() if "core" in link.ends[1]} == {100 * 10**9}


def test_connections_become_flows(tmp_path: Path) -> None:
    matrix = MATRIX + "trigger id 9 oneshot\n2->3 id 4 trigger 9 size 5\n# remark\n"
    matrix = matrix.replace("Connections 3", "Connections 4\nTriggers 1")
    plan = imported(tmp_path, TWO, matrix)
    lines = (tmp_path / "p-flows.csv").read_text(encoding="utf-8").splitlines()
    assert lines[1:] == [
        "h0,h5,20000,0,0,flows",
        "h1,h5,20000,1000000,0,flows",
        "h7,h0,1,2500000,0,flows",
    ]
    assert plan.traffic["flows"].transport is not None
    text = " ".join((tmp_path / "p.toml").read_text(encoding="utf-8").replace("#", " ").split())
    lacks = text.partition("Not taken")[2]
    for part in ("1 connections that begin on a trigger", "1 triggers", "1 priorities"):
        assert part in lacks
    assert "sizes of queues" not in lacks


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("topology", "matrix", "message"),
    [
        (changed(TWO, "Tiers 2", "Tiers 4"), MATRIX, "a.topo:3: tiers: 4 .*2 or 3"),
        (changed(TWO, "Podsize 8\n", ""), MATRIX, "podsize: 'missing'"),
        (changed(TWO, "Podsize 8", "Podsize 3"), MATRIX, "a.topo:4: podsize: 3 .*divisor of 8"),
        (changed(TWO, "Radix_Up 2", "Radix_Up 3"), MATRIX, "tier 0 radix_up: 3 .*2 is expected"),
        (changed(TWO, "Radix_Up 2\n", ""), MATRIX, "tier 0 radix_up: 'missing'"),
        (changed(TWO, "Radix_Down 4", "Radix_Down 3"), MATRIX, "tier 0 radix_down: 3"),
        (changed(TWO, "Radix_Down 4", "Radix_Down four"), MATRIX, "a.topo:8: Radix_Down: 'four'"),
        (changed(TWO, "Radix_Down 4", "Radius 4"), MATRIX, "a.topo:8: key: 'Radius'"),
        (changed(TWO, "Radix_Down 4", "Radix_Down 4\nradix_down 4"), MATRIX, "a.topo:9.*line 8"),
        (changed(TWO, "Tier 1", "Tier 0"), MATRIX, "a.topo:16: tier: 0 .*once"),
        (changed(TWO, "Oversubscribed 2", "Oversubscribed 3"), MATRIX, "tier 0 oversubscribed"),
        (changed(THREE, "bundle 2", "bundle 1"), MATRIX, "tier 1 radix_up: 4 .*2 is expected"),
        ("Nodes 8\n", MATRIX, "tiers: 'missing'"),
        (TWO, changed(MATRIX, "0->5", "0->8"), "b.cm:3: destination: '8'.*0 to 7"),
        (TWO, changed(MATRIX, "0->5", "0->0"), "b.cm:3: connection: '0->0'.*two different"),
        (TWO, changed(MATRIX, "size 20000", "size -1"), "b.cm:3: size: '-1'"),
        (TWO, changed(MATRIX, " size 1\n", "\n"), "b.cm:5: size: 'missing'"),
        (TWO, changed(MATRIX, "start 0 ", ""), "b.cm:3: start: 'missing'"),
        (TWO, changed(MATRIX, "start 0 ", "start 0.5 "), "b.cm:3: start: '0.5'"),
        (TWO, changed(MATRIX, "start 0 ", "begin 0 "), "b.cm:3: key: 'begin'"),
        (TWO, changed(MATRIX, "Connections 3", "Connections 2"), "b.cm:2: Connections: 2 .*3 is"),
        (TWO, changed(MATRIX, "Nodes 8\n", ""), "destination: '5'|Nodes: 0"),
        (TWO, changed(MATRIX, "Nodes 8", "Nodes 9"), "has 9 nodes, and .*a.topo 8"),
        (TWO, "Nodes 8\nConnections 0\n", "has no connection"),
        (TWO, "Nodes 8\nvertices\n", "b.cm:2: line: 'vertices'"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], topology: str, matrix: str, message: str
) -> None:
    assert run(tmp_path, topology, matrix) == 2
    text = capsys.readouterr().err
    assert "Traceback" not in text
    assert re.search(message, text), text
    assert not (tmp_path / "p.toml").exists()
