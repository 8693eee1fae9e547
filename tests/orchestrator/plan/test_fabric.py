"""A fabric by one line: the nodes, links and paths that it stands for, and what is refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Nic, Plan, Switch
from orchestrator.plan.plan_schema import plan_schema
from orchestrator.plan.routes import _toward, by_its_node

HEAD = 'name = "f"\nduration = "1ms"\n'
TREE = 'fabric = { kind = "fat-tree", k = 4, rate = "10Gb/s", delay = "1us" }\n'
SPINE = 'fabric = { kind = "leaf-spine", leaves = 3, spines = 2, hosts = 4, rate = "10Gb/s" }\n'


def plan(*texts: str) -> Plan:
    return Plan.load(HEAD + "".join(texts))


def degrees(made: Plan) -> dict[str, Counter[str]]:
    """Node -> what it is joined to, by the letters that names begin with, and how often."""
    found: dict[str, Counter[str]] = {name: Counter() for name in made.nodes}
    for link in made.links.values():
        for here, there in (link.ends, link.ends[::-1]):
            found[here][there.rstrip("0123456789")] += 1
    return found


@pytest.mark.parametrize("k", [2, 4, 6, 8])
def test_a_fat_tree_is_that_of_the_paper(k: int) -> None:
    made = plan(TREE.replace("k = 4", f"k = {k}"))
    half = k // 2
    count = Counter(name.rstrip("0123456789") for name in made.nodes)
    assert count == {"h": k**3 // 4, "edge": k * half, "agg": k * half, "core": half * half}
    assert len(made.links) == 3 * k**3 // 4
    wanted = {
        "h": {"edge": 1},
        "edge": {"h": half, "agg": half},
        "agg": {"edge": half, "core": half},
        "core": {"agg": k},
    }
    assert all(mine == wanted[n.rstrip("0123456789")] for n, mine in degrees(made).items())
    ways = made.ways()
    last = f"h{k**3 // 4}"
    assert len(ways["edge1"][last]) == half
    assert len(ways["agg1"][last]) == half
    assert [len(ways[node][last]) for node in ("core1", "h1")] == [1, 1]
    pods = {core: {int(n[3:]) - 1 for n in ports} for core, ports in _below(made, "core").items()}
    for core, aggs in pods.items():  # one of every pod, so that each core reaches every host
        assert {agg // half for agg in aggs} == set(range(k)), core


def _below(made: Plan, word: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for below, above in (link.ends for link in made.links.values()):
        if above.startswith(word):
            found.setdefault(above, []).append(below)
    return found


def test_every_leaf_is_joined_to_every_spine() -> None:
    made = plan(SPINE)
    assert [n for n, node in made.nodes.items() if isinstance(node, Nic)] == [
        f"h{n}" for n in range(1, 13)
    ]
    assert made.links["h5"].ends == ("h5", "leaf2")
    assert made.links["leaf3-up2"].ends == ("leaf3", "spine2")
    assert degrees(made)["leaf1"] == {"h": 4, "spine": 2}
    assert made.ways()["leaf1"]["h12"] == ["spine1", "spine2"]


def test_leaves_may_be_oversubscribed_by_hosts_links_and_rates() -> None:
    more = "uplinks = 4, uplink_rate = '25Gb/s', uplink_delay = '2us', overhead = '24B' }"
    made = plan(SPINE.replace("}", f", {more}"))
    assert [made.links[f"leaf2-up{n}"].ends[1] for n in range(1, 5)] == ["spine1", "spine2"] * 2
    up, host = made.links["leaf2-up4"], made.links["h1"]
    assert (up.rate, up.delay, up.overhead) == (25 * 10**9, 2 * 10**6, 24)
    assert (host.rate, host.delay, host.overhead) == (10**10, 0, 24)
    assert len(made.ways()["leaf1"]["h12"]) == 4
    wide = plan(TREE.replace("k = 4", "k = 4, hosts = 5"))
    assert degrees(wide)["edge8"] == {"h": 5, "agg": 2}


def test_the_plan_goes_over_it_by_name_and_by_level() -> None:
    made = plan(
        TREE,
        '[nodes."h{1..16}"]\nhost_queue = "9KB"\n',
        '[nodes."{cores}"]\nbuffer = "1MB"\n',
        '[nodes.d]\nkind = "sink"\n',
        '[links."{aggs}-up2"]\nrate = "1Gb/s"\n',
        '[links.d]\nends = ["edge1", "d"]\nrate = "1Gb/s"\n',
        '[traffic.t]\nplugin = "cbr"\nfrom = "{hosts}"\nto = "{hosts}"\npairing = "permutation"\n',
    )
    queues = {n.host_queue for n in made.nodes.values() if isinstance(n, Nic)}
    assert queues == {9_000}
    big = [n for n, s in made.nodes.items() if isinstance(s, Switch) and s.buffer == 10**6]
    assert big == ["core1", "core2", "core3", "core4"]
    assert [made.links[f"agg1-up{n}"].rate for n in (1, 2)] == [10**10, 10**9]
    assert len(made.traffic["t"].pairs) == 16
    assert {s.spread for s in made.nodes.values() if isinstance(s, Switch)} == {"flows"}
    assert Plan.load(made.to_toml()) == made


def test_one_for_each_word_of_a_list() -> None:
    prefixed = SPINE.replace("}", ', prefix = "{net}-" }')
    made = plan('lists.net = ["a", "b"]\n', prefixed, '[nodes."{net}-{leaves}"]\nbuffer = "9KB"\n')
    assert len(made.nodes) == 2 * 17
    assert made.links["b-leaf3-up2"].ends == ("b-leaf3", "b-spine2")
    assert made.nodes["a-leaf3"].buffer == 9_000
    assert "b-h1" not in made.routes()["a-leaf1"]


def test_a_plan_on_top_changes_it(tmp_path: Any) -> None:
    (tmp_path / "below.toml").write_text(HEAD + TREE + '[nodes.h3]\nhost_queue = "9KB"\n')
    text = 'base = "below"\nscale = 10\nname = "g"\nfabric.k = 6\n'
    (tmp_path / "above.toml").write_text(text)
    made = Plan.load(tmp_path / "above.toml")
    assert len(made.nodes) == 54 + 45
    assert made.links["h1"].rate == 10**11
    assert made.nodes["h3"].host_queue == 9_000
    (tmp_path / "other.toml").write_text(f'base = "below"\nname = "o"\n{SPINE}')
    assert len(Plan.load(tmp_path / "other.toml").nodes) == 17


def test_in_python_quantities_are_numbers() -> None:
    fabric = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts": 1, "rate": 10**9}
    made = Plan(name="p", duration=10**9, fabric=fabric)
    assert made.links["leaf2-up1"].rate == 10**9


@pytest.mark.parametrize(
    ("text", "where", "accepted"),
    [
        (TREE.replace("k = 4", "k = 5"), "fabric.k", "an even number"),
        (TREE.replace("k = 4", "k = 34"), "fabric.k", "at most 32"),
        (TREE.replace("10Gb/s", "10GB"), "fabric.rate", "no unit of a rate"),
        (TREE.replace("fat-tree", "tree"), "fabric.kind", "did you mean fat-tree"),
        (TREE.replace("k = 4", "k = 4, leaves = 2"), "fabric.leaves", "known: delay, hosts, k"),
        (SPINE.replace("hosts = 4, ", ""), "fabric.hosts", "required"),
        (SPINE.replace("}", ", uplinks = 3 }"), "fabric.uplinks", "2 spines"),
        (SPINE.replace("}", ', prefix = "-" }'), "fabric.prefix", "how names begin"),
        (SPINE.replace("}", ', prefix = "{net}" }'), "fabric.prefix", "no list of this plan"),
        (SPINE + 'lists.leaves = ["x"]\n', "lists.leaves", "call yours something else"),
        ("fabric = 4\n", "fabric", "a table is expected"),
        (SPINE + '[nodes.h13]\nhost_queue = "1KB"\n', "nodes.h13.kind", "missing"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, where: str, accepted: str) -> None:
    with pytest.raises(BadInput) as error:
        plan(text)
    (problem,) = [one for one in error.value.problems if one.where == where]
    assert accepted in str(problem)
    assert problem.at.endswith(":4" if where[0] in "ln" else ":3")


def test_ways_by_switch_are_those_of_every_node_for_itself() -> None:
    text = (
        SPINE
        + '[nodes.d]\nkind = "sink"\n[links."d{1..2}"]\nends = ["leaf{}", "d"]\nrate = "1Gb/s"\n'
    )
    for made in (plan(TREE), plan(text)):
        by_node = by_its_node(made)
        carriers = {n for n, node in made.nodes.items() if isinstance(node, Switch)}
        found = made.ways()
        for name in set(made.nodes) - carriers:
            wanted = _toward(name, carriers, by_node)
            assert {n: w[name] for n, w in found.items() if name in w and n in carriers} == {
                n: w for n, w in wanted.items() if n in carriers
            }
            assert {n for n, w in found.items() if name in w} == set(wanted)


def test_an_editor_knows_its_keys() -> None:
    table = plan_schema()["properties"]["fabric"]
    assert {"k", "hosts"} <= set(table["anyOf"][1]["properties"])
    assert table["anyOf"][0]["properties"]["rate"]["examples"]
