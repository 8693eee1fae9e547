"""GraphML: a plan comes back equal; graphs of other tools become networks."""

from __future__ import annotations

import re
from pathlib import Path

import networkx as nx
import pytest

from orchestrator.cli.main import command_line
from orchestrator.interchange.graphml import to_graphml
from orchestrator.plan import Plan
from orchestrator.registry import Registry

SHIPPED = ["quickstart", "dctcp", "hpcc-incast", "ibm-fig2a", "pathology-deadlock-ring", "shootout"]
ODD = """
name = "odd"
title = "a title with <signs> & \\"quotes\\"\\n of its own"
duration = "1ms"
[nodes."n{8..11}"]
kind = "nic"
[nodes.s]
kind = "switch"
[nodes.s.ports.007]
buffer = "5KB"
[links]
007 = { ends = ["s", "n8"], rate = "10Gb/s", delay = "1us", delay_back = "2us" }
7 = { ends = ["n8", "s"], rate = "1Gb/s" }
x = { ends = ["n9", "s"], rate = "2Gb/s" }
a = { ends = ["s", "n10"], rate = "3Gb/s", delay_line = { plugin = "lossy-delay" } }
b = { ends = ["n11", "s"], rate = "3Gb/s" }
[traffic.t]
plugin = "poisson"
from = ["n9", "n10"]
to = "n11"
sizes = "cdf"
cdf = [["1KB", 0], ["10KB", 0.5], ["1MB", 1]]
[[timeline]]
at = "10us"
cut = "x"
[[expect]]
metric = "frames.dropped"
of = "s.n11"
max = 0
"""


def back(folder: Path, graph: bytes) -> Plan:
    (folder / "g.graphml").write_bytes(graph)
    line = ["import", "graphml", str(folder / "g.graphml"), "--out", str(folder / "p.toml")]
    assert command_line([*line, "--force"]) == 0
    return Plan.load(folder / "p.toml", Registry.load())


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_plan_comes_back_equal(tmp_path: Path, name: str) -> None:
    registry = Registry.load()
    plan = Plan.load(registry.plans()[name], registry)
    again = back(tmp_path, to_graphml(plan))
    assert again == plan
    assert list(again.nodes) == list(plan.nodes)
    assert list(again.links) == list(plan.links)
    assert [link.ends for link in again.links.values()] == [
        link.ends for link in plan.links.values()
    ]


def test_odd_names_parallel_links_and_lists_come_back(tmp_path: Path) -> None:
    plan = Plan.load(ODD, Registry.load())
    again = back(tmp_path, to_graphml(plan))
    assert again == plan
    assert list(again.links) == ["007", "7", "x", "a", "b"]


def test_the_commands_are_each_others_inverse(tmp_path: Path) -> None:
    graph = tmp_path / "q.graphml"
    assert command_line(["export", "graphml", "quickstart", "--out", str(graph)]) == 0
    again = back(tmp_path, graph.read_bytes())
    registry = Registry.load()
    assert again == Plan.load(registry.plans()["quickstart"], registry)
    edges = nx.read_graphml(graph).edges(data=True)
    assert all("rate" in table for _, _, table in edges)


def test_a_graph_of_another_tool(tmp_path: Path) -> None:
    graph = nx.Graph(label="Small Net")
    graph.add_node(0, label="Zürich")
    graph.add_node(1, label="Bern")
    graph.add_node(2, label="Basel", kind="sink")
    graph.add_node(3, label="Chur")
    graph.add_node(4, label="Alone")
    graph.add_edge(0, 1, LinkSpeedRaw=1e9)
    graph.add_edge(1, 2, rate="25Gb/s", delay="5us", delay_back="6us")
    graph.add_edge(0, 2)
    graph.add_edge(0, 3)
    graph.add_edge(3, 3)
    nx.write_graphml(graph, tmp_path / "x.graphml")
    out = tmp_path / "p.toml"
    line = ["import", "graphml", str(tmp_path / "x.graphml"), "--rate", "7Gb/s", "--out", str(out)]
    assert command_line(line) == 0
    plan = Plan.load(out, Registry.load())
    assert plan.name == "Small-Net"
    kinds = {name: node.kind for name, node in plan.nodes.items()}
    assert kinds == {"Z-rich": "switch", "Bern": "switch", "Basel": "sink", "Chur": "nic"}
    found = {link.ends: (link.rate, link.delay, link.delay_back) for link in plan.links.values()}
    assert found == {
        ("Z-rich", "Bern"): (10**9, 10**6, None),
        ("Z-rich", "Basel"): (7 * 10**9, 10**6, None),
        ("Z-rich", "Chur"): (7 * 10**9, 10**6, None),
        ("Bern", "Basel"): (25 * 10**9, 5 * 10**6, 6 * 10**6),
    }
    text = " ".join(out.read_text(encoding="utf-8").replace("#", " ").split())
    for part in ("rate of 2 links", "1 nodes without a link", "1 edges from a node to itself"):
        assert part in text


@pytest.mark.parametrize("make", [nx.path_graph, nx.star_graph, nx.cycle_graph, nx.complete_graph])
def test_graphs_of_networkx_without_labels(tmp_path: Path, make: object) -> None:
    graph = make(5)  # type: ignore[operator]
    nx.write_graphml(graph, tmp_path / "x.graphml")
    out = tmp_path / "p.toml"
    assert command_line(["import", "graphml", str(tmp_path / "x.graphml"), "--out", str(out)]) == 0
    plan = Plan.load(out, Registry.load())
    assert len(plan.nodes) == len(graph)
    assert len(plan.links) == graph.number_of_edges()
    hosts = {name for name, node in plan.nodes.items() if node.kind == "nic"}
    assert len(hosts) == sum(degree == 1 for _, degree in graph.degree())


HEAD = (
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    '<key id="r" for="edge" attr.name="rate" attr.type="string"/>'
    '<key id="k" for="node" attr.name="kind" attr.type="string"/>'
    '<key id="t" for="graph" attr.name="tailback" attr.type="string"/>'
    '<graph edgedefault="undirected">'
)
TAIL = "</graph></graphml>"
NODES = '<node id="a"/><node id="b"/>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f'{HEAD}{NODES}<edge source="a" target="b"><data key="r">10</data></edge>{TAIL}',
            "rate: '10'",
        ),
        (f'{HEAD}<node id="a"><data key="k">hub</data></node>{NODES}{TAIL}', "node a: kind: 'hub'"),
        (f"{HEAD}{NODES}{TAIL}", "graph: 'no edge'"),
        (f"{HEAD}{TAIL}", "graph: 'no node'"),
        (f'{HEAD}<data key="t">name = 5</data>{NODES}{TAIL}', "name: 5"),
        (f'{HEAD}<data key="t">name =</data>{NODES}{TAIL}', "tailback: .*export graphml"),
        (f'{HEAD}<node id="a.b"/><node id="a-b"/>{TAIL}', "both be called 'a-b'"),
        ("<graphml>", r"x.graphml:1: GraphML"),
        ("no graph", r"x.graphml:1: GraphML"),
        ("", "GraphML"),
        ("<html/>", "GraphML"),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (tmp_path / "x.graphml").write_text(text, encoding="utf-8")
    out = tmp_path / "p.toml"
    assert command_line(["import", "graphml", str(tmp_path / "x.graphml"), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert re.search(message, said), said
    assert not out.exists()
