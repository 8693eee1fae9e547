"""containerlab's topologies become plans of nodes and links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator.cli.main import command_line
from orchestrator.plan import Plan
from orchestrator.registry import Registry

LAB = """name: clos.small
mgmt: {network: custom}
topology:
  defaults: {kind: nokia_srlinux}
  groups:
    servers: {kind: linux}
  nodes:
    leaf1:
    leaf2: {type: ixrd2}
    spine1: {kind: arista_ceos}
    client.1: &client
      group: servers
      exec: ["ip link"]
    client2: {<<: *client, image: alpine}
    router: {kind: linux}
    lonely: {kind: linux}
  links:
    - endpoints: ["leaf1:e1-1", "spine1:e1-1"]
    - endpoints: ["leaf2:e1-1", "spine1:e1-2"]
    - endpoints: ["client.1:eth1", "leaf1:e1-2"]
      mtu: 1500
    - type: veth
      endpoints:
        - {node: client2, interface: eth1}
        - {node: leaf2, interface: e1-2}
    - endpoints: ["router:eth1", "leaf1:e1-3"]
    - endpoints: ["router:eth2", "leaf2:e1-3"]
    - endpoints: ["leaf1:mgmt0", "host:leaf1-mgmt"]
    - type: dummy
      endpoint: {node: leaf1, interface: e1-9}
"""


def run(folder: Path, text: str, *options: str) -> int:
    (folder / "x.clab.yml").write_text(text, encoding="utf-8")
    line = ["import", "containerlab", str(folder / "x.clab.yml"), "--out", str(folder / "p.toml")]
    return command_line([*line, *options])


def test_nodes_and_links(tmp_path: Path) -> None:
    assert run(tmp_path, LAB, "--rate", "25Gb/s", "--delay", "300ns") == 0
    plan = Plan.load(tmp_path / "p.toml", Registry.load())
    assert plan.name == "clos-small"
    kinds = {name: node.kind for name, node in plan.nodes.items()}
    assert kinds == {
        "leaf1": "switch",
        "leaf2": "switch",
        "spine1": "switch",
        "client-1": "nic",
        "client2": "nic",
        "router": "switch",
    }
    assert [link.ends for link in plan.links.values()] == [
        ("leaf1", "spine1"),
        ("leaf2", "spine1"),
        ("client-1", "leaf1"),
        ("client2", "leaf2"),
        ("router", "leaf1"),
        ("router", "leaf2"),
    ]
    assert {(link.rate, link.delay) for link in plan.links.values()} == {(25 * 10**9, 300_000)}
    text = " ".join((tmp_path / "p.toml").read_text(encoding="utf-8").replace("#", " ").split())
    assert "1 nodes without a link to another: lonely" in text
    assert "2 links that leave the topology" in text


def test_the_plan_runs_with_traffic(tmp_path: Path) -> None:
    assert run(tmp_path, LAB, "--name", "other") == 0
    text = (tmp_path / "p.toml").read_text(encoding="utf-8")
    text += '[traffic.t]\nplugin = "cbr"\nfrom = "client2"\nto = "client-1"\nrate = "1Gb/s"\n'
    assert Plan.load(text, Registry.load()).name == "other"


def changed(old: str, new: str) -> str:
    assert old in LAB
    return LAB.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            changed('"leaf1:e1-1"', '"leaf9:e1-1"'),
            r"yml:18: topology.links\[0\].endpoints: 'leaf9'",
        ),
        (changed('"leaf1:e1-1"', '"leaf1"'), r"yml:18: topology.links\[0\].*such as \"a:eth1\""),
        (changed('"leaf1:e1-1"', "7"), r"yml:18: topology.links\[0\].endpoints: 7"),
        (changed('"leaf1:e1-1", ', ""), r"yml:18: topology.links\[0\].*a list of two"),
        (changed('"leaf1:e1-1"', '"spine1:e9"'), r"yml:18: .*two different nodes"),
        (changed("nodes:\n", "knots:\n"), "topology.nodes: 'missing'"),
        (changed("topology:\n", "topo:\n"), "topology: 'missing'"),
        (
            changed("  defaults: {kind: nokia_srlinux}\n", ""),
            "topology.nodes.leaf1.kind: 'missing'",
        ),
        (changed("kind: arista_ceos", "kind: [a]"), "yml:10: topology.nodes.spine1.kind: a list"),
        (changed("spine1: {kind: arista_ceos}", "spine1: 5"), "yml:10: topology.nodes.spine1: 5"),
        (changed("lonely: {kind", "client-1: {kind"), "would both be called 'client-1'"),
        (changed("name: clos.small", "name: [a"), "yml:.*YAML"),
        (changed("name: clos.small", "name: 5"), "yml:1: name: 5 .*a text"),
        (changed("    leaf1:\n", "    7: {}\n"), "topology.nodes: 7 .*in quotes"),
        ("- a\n- b\n", "file: 'no mapping'"),
        ("", "file: 'no mapping'"),
        ("a: &a [*a]\n", "topology: 'missing'|YAML"),
        ("a: !!python/object:os.system {}\n", "YAML: .*constructor"),
        ("topology: {nodes: {a: {kind: linux}}}\n", "a link between two nodes is expected"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    assert run(tmp_path, text) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert re.search(message, said), said
    assert not (tmp_path / "p.toml").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rate", "10"], "--rate: '10' is not accepted"),
        (["--delay", "1"], "--delay: '1' is not accepted"),
        (["--name", "a b"], "--name: 'a b' is not accepted"),
        (["--rate", "1b/s"], "rate: '1b/s' is not accepted"),
    ],
)
def test_options_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert run(tmp_path, LAB, *options) == 2
    assert message in capsys.readouterr().err


HEAD, SEPARATOR, TAIL = LAB.partition("  links:\n")
LINKS = re.split(r"^(?=    - )", TAIL, flags=re.MULTILINE)[1:]


@pytest.mark.parametrize("first", range(len(LINKS)))
def test_links_that_leave_the_topology_end_no_list(tmp_path: Path, first: int) -> None:
    """Whichever link is the first one: the same links, and as many that are left out."""
    links = "".join([*LINKS[first:], *LINKS[:first]])
    assert run(tmp_path, HEAD + SEPARATOR + links) == 0
    plan = Plan.load(tmp_path / "p.toml", Registry.load())
    assert {link.ends for link in plan.links.values()} == {
        *(("leaf1", "spine1"), ("leaf2", "spine1"), ("client-1", "leaf1")),
        *(("client2", "leaf2"), ("router", "leaf1"), ("router", "leaf2")),
    }
    text = " ".join((tmp_path / "p.toml").read_text(encoding="utf-8").replace("#", " ").split())
    assert "2 links that leave the topology" in text
