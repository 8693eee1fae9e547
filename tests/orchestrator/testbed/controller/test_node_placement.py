"""Nodes onto machines, links onto cables; probes against the inventory."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.testbed.controller.cable_probes import cable_faults
from orchestrator.testbed.controller.node_placement import map_plan
from orchestrator.testbed.inventory import Testbed

KEY = "0" * 40


def bed(cables: dict[str, tuple[str, str]], **nodes: list[str]) -> Testbed:
    return Testbed.model_validate(
        {
            "machines": {
                name: {"address": "tcp://127.0.0.1:1", "key": KEY, "nodes": mine}
                for name, mine in nodes.items()
            },
            "cables": {name: {"ends": list(ends)} for name, ends in cables.items()},
        }
    )


@pytest.fixture(scope="module")
def fig11() -> Plan:
    return Plan.load(Registry.load().plans()["netfpga-fig11"])


def test_the_papers_experiment_on_four_machines(fig11: Plan):
    cables = {f"a{n}": (f"one:eth{n}", f"mid:eth{n}") for n in range(4)}
    cables |= {f"b{n}": (f"two:eth{n}", f"mid:eth{n + 4}") for n in range(4)}
    cables["down"] = ("mid:eth8", "end:eth0")
    where = bed(cables, one=["nic1"], two=["nic2"], mid=["switch"], end=["sink"])
    found = map_plan(fig11, where, ["one", "two", "mid", "end"])
    assert found.machines == {
        "nic1": "one",
        "nic2": "two",
        "switch": "mid",
        "sink": "end",
    }
    assert sorted(found.cables.values()) == sorted(cables)
    assert len(found.ports) == 18
    assert len(set(found.ports.values())) == 18, "every port has a NIC of its own"
    for link, cable in found.cables.items():
        ways = [way for way in fig11.directions() if way.link == link]
        ends = {found.ports[way.sender.entity] for way in ways}
        assert ends == {tuple(end.split(":")) for end in cables[cable]}


def test_without_being_told_the_search_finds_a_place_that_the_cables_allow(fig11: Plan):
    cables = {"down": ("a:eth0", "b:eth0")}
    found = map_plan(fig11, bed(cables, a=[], b=[]), ["a", "b"])
    assert len(found.cables) <= 1


def test_one_machine_needs_no_cable(fig11: Plan):
    found = map_plan(fig11, bed({}, only=[]), ["only"])
    assert found.ports == {}
    assert set(found.machines.values()) == {"only"}


def test_a_lack_of_cables_is_told_with_its_numbers(fig11: Plan):
    cables = {"a": ("one:eth0", "two:eth0")}
    with pytest.raises(Refused, match=r"needs 4 free cables between one and two, and there are 1"):
        map_plan(fig11, bed(cables, one=["nic1"], two=["*"]), ["one", "two"])


def test_of_two_lacks_the_numbers_are_those_of_one(fig11: Plan):
    cables = {"a": ("one:eth0", "mid:eth0")}
    cables |= {f"b{n}": (f"two:eth{n}", f"mid:eth{n + 1}") for n in range(2)}
    where = bed(cables, one=["nic1"], two=["nic2"], mid=["switch", "sink"])
    with pytest.raises(Refused, match=r"needs 4 free cables between mid and one, and there are 1"):
        map_plan(fig11, where, ["one", "two", "mid"])


def test_a_machine_without_an_agent_is_named(fig11: Plan):
    with pytest.raises(Refused, match="node nic1 belongs on one, where no agent answers"):
        map_plan(fig11, bed({}, one=["nic1"], two=["*"]), ["two"])


CABLES = {"c1": [("a", "e1"), ("b", "e1")], "c2": [("a", "e2"), ("b", "e2")]}


def test_cables_that_are_right():
    received = {
        "a": [("e1", "b", "e1"), ("e2", "b", "e2")],
        "b": [("e1", "a", "e1"), ("e2", "a", "e2")],
    }
    assert cable_faults(CABLES, received) == []


def test_a_dead_cable_is_named_in_both_directions():
    received = {"a": [("e2", "b", "e2")], "b": [("e2", "a", "e2")]}
    told = cable_faults(CABLES, received)
    assert len(told) == 2
    assert all("cable c1" in sentence and "dead" in sentence for sentence in told)


def test_crossed_cables_are_both_named_with_where_they_lead():
    received = {
        "a": [("e2", "b", "e1"), ("e1", "b", "e2")],
        "b": [("e2", "a", "e1"), ("e1", "a", "e2")],
    }
    told = cable_faults(CABLES, received)
    assert len(told) == 4
    assert "cable c1: what a:e1 sends arrives at b:e2, b:e1 is expected (wrong cable)" in told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "machines"),
        ("[machines.a]\naddress = 'udp://x:1'\nkey = 'k'", "address"),
        ("[machines.a]\naddress = 'tcp://x:1'\nkey = 'k'\nspeed = 1", "speed"),
        ("[machines.'../x']\naddress = 'tcp://x:1'\nkey = 'k'", "machines"),
        (
            "[machines.a]\naddress = 'tcp://x:1'\nkey = 'k'\n[cables.c]\nends = ['a:e', 'b:e']",
            "machine 'b'",
        ),
        (
            "[machines.a]\naddress = 'tcp://x:1'\nkey = 'k'\n[cables.c]\nends = ['a:e', 'a:e']",
            "one cable",
        ),
        ("machines = 3 3", "not TOML"),
    ],
)
def test_mistakes_in_a_testbed_are_named(tmp_path: Path, text: str, words: str):
    path = tmp_path / "testbed.toml"
    path.write_text(text)
    with pytest.raises(BadInput, match=words):
        Testbed.load(path)


def test_a_plan_of_another_machine_names_no_file_of_this_one(tmp_path: Path):
    """A plan that comes over the wire cannot have a file read, whoever's it is."""
    from orchestrator.plan.algorithm_params import without_files

    secret = tmp_path / "secret"
    secret.write_text("0 1500\n")
    text = Plan.load(Registry.load().plans()["quickstart"]).to_toml()
    stolen = text.replace('plugin = "cbr"', f'plugin = "trace"\nfile = "{secret}"')
    with without_files(), pytest.raises(BadInput, match="cannot name a file of this one"):
        Plan.load(stolen).check(Registry.load())


def test_programs_are_left_to_one_machine():
    plan = Plan.load(Registry.load().plans()["iperf-nothing"])
    with pytest.raises(Refused, match="agents run no programs"):
        map_plan(plan, bed({}, only=[]), ["only"])


DEVICE = """
name = "between"
duration = "1ms"
[nodes."nic{1,2}"]
kind = "nic"
[nodes.sw]
kind = "external"
[nodes.sink]
kind = "sink"
[links."up{1,2}"]
ends = ["nic{}", "sw"]
rate = "1Gb/s"
[links.down]
ends = ["sw", "sink"]
rate = "1Gb/s"
[traffic.gen]
plugin = "cbr"
from = "nic1"
to = "sink"
"""


def around(ports: dict[str, str], **nodes: list[str]) -> Testbed:
    """A testbed with a device."""
    table = bed({}, **nodes).model_dump()
    return Testbed.model_validate(table | {"external": {"sw": {"ports": ports}}})


def test_nodes_live_where_the_cables_of_a_device_are():
    plan = Plan.load("\n" + DEVICE)
    ports = {"nic1": "b:eth1", "nic2": "a:eth1", "sink": "a:eth2"}
    found = map_plan(plan, around(ports, a=[], b=[]), ["a", "b"])
    assert found.machines == {"nic1": "b", "nic2": "a", "sink": "a"}
    assert found.cables == {}
    assert found.ports == {
        "nic1.sw": ("b", "eth1"),
        "nic2.sw": ("a", "eth1"),
        "sink.sw": ("a", "eth2"),
    }
    assert [str(cable) for cable in found.devices] == [
        "sw.nic1 (b:eth1)",
        "sw.nic2 (a:eth1)",
        "sw.sink (a:eth2)",
    ]


@pytest.mark.parametrize(
    ("ports", "nodes", "words"),
    [
        ({"nic1": "a:e1", "nic2": "a:e2"}, {"a": []}, "leads to its port sink"),
        ({"nic1": "a:e1", "nic2": "a:e2", "sink": "e3"}, {"a": []}, "port sink, only e3"),
        (
            {"nic1": "a:e1", "nic2": "b:e2", "sink": "b:e3"},
            {"a": [], "b": ["nic1"]},
            r"the cable to sw.nic1 \(a:e1\) is on a, and node nic1 belongs on b",
        ),
        (
            {"nic1": "a:e1", "nic2": "gone:e2", "sink": "a:e3"},
            {"a": [], "gone": []},
            "node nic2 belongs on gone, where no agent answers",
        ),
    ],
)
def test_a_device_without_its_cables_is_refused_by_name(ports, nodes, words):
    with pytest.raises(Refused, match=words):
        map_plan(Plan.load("\n" + DEVICE), around(ports, **nodes), ["a", "b"])


def test_an_interface_leads_to_one_thing_and_is_of_a_machine(tmp_path: Path):
    text = """
    [machines.a]
    address = "tcp://127.0.0.1:1"
    key = "0000000000000000000000000000000000000000"
    [machines.b]
    address = "tcp://127.0.0.1:2"
    key = "0000000000000000000000000000000000000000"
    [cables.c]
    ends = ["a:e1", "b:e1"]
    [external.sw]
    ports = { nic1 = "a:e1", nic2 = "x:e2", sink = "b:e2", other = "b:e2" }
    """
    (tmp_path / "bed.toml").write_text(text)
    with pytest.raises(BadInput) as found:
        Testbed.load(tmp_path / "bed.toml")
    said = str(found.value)
    assert "external.sw.ports.nic1" in said
    assert "a:e1 is an end of c too" in said
    assert "unknown machine 'x'" in said
    assert "b:e2 is an end of sw.sink too" in said
