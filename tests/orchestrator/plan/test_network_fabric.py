"""A fabric by one line: the nodes, links and paths that it stands for, and what is refused."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.assembly.route_tables import add_routes, ports_by_address
from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.world_builder import WorldBuilder
from orchestrator.engine.records import NONE, PORT_SETS
from orchestrator.errors import BadInput
from orchestrator.plan import Nic, Plan, Switch
from orchestrator.plan.json_schema import plan_schema
from orchestrator.plan.shortest_paths import by_its_node

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
    ways = made.multipath_routes()
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
    assert made.multipath_routes()["leaf1"]["h12"] == ["spine1", "spine2"]


def test_leaves_may_be_oversubscribed_by_hosts_links_and_rates() -> None:
    more = "uplinks = 4, uplink_rate = '25Gb/s', uplink_delay = '2us', overhead = '24B' }"
    made = plan(SPINE.replace("}", f", {more}"))
    assert [made.links[f"leaf2-up{n}"].ends[1] for n in range(1, 5)] == ["spine1", "spine2"] * 2
    up, host = made.links["leaf2-up4"], made.links["h1"]
    assert (up.rate, up.delay, up.overhead) == (25 * 10**9, 2 * 10**6, 24)
    assert (host.rate, host.delay, host.overhead) == (10**10, 0, 24)
    assert len(made.multipath_routes()["leaf1"]["h12"]) == 4
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


@pytest.mark.slow
def test_the_largest_fat_tree_is_a_plan_with_routes() -> None:
    text = (
        '[traffic.t]\nplugin = "cbr"\nfrom = "{hosts}"\nto = "{hosts}"\npairing = "permutation"\n'
    )
    made = plan(TREE.replace("k = 4", "k = 32"), text)
    assert (len(made.nodes), len(made.links)) == (9472, 24_576)
    assert len(made.flows()) == 8192
    ways = made.multipath_routes()
    assert [len(ways[node]["h8192"]) for node in ("h1", "edge1", "agg1", "core1")] == [1, 16, 16, 1]


def test_fabrics_are_counted_apart_from_ranges() -> None:
    """As many as the largest has are made; one more, and none is."""
    text = TREE.replace("k = 4", "k = 32") + '[nodes."x{1..4096}"]\nkind = "sink"\n'
    with pytest.raises(BadInput, match="at most 12000"):
        plan(text)
    with pytest.raises(BadInput, match="may make 40000 nodes and links"):
        plan('lists.net = ["a", "b"]\n', TREE.replace("k = 4", 'k = 32, prefix = "{net}-"'))


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


def every_way_to(made: Plan, destination: str) -> dict[str, list[str]]:
    """Node -> its ports on shortest paths, by walking from the destination over all links."""
    by_node = by_its_node(made)
    switches = {n for n, node in made.nodes.items() if isinstance(node, Switch)}
    distance = {destination: 0}
    waiting = [destination]
    while waiting:
        here = waiting.pop(0)
        for port in by_node[here] if here == destination or here in switches else []:
            if port.peer not in distance:
                distance[port.peer] = distance[here] + 1
                waiting.append(port.peer)
    found = {
        name: [
            port.name
            for port in by_node[name]
            if distance.get(port.peer) == hops - 1 and (port.peer in {*switches, destination})
        ]
        for name, hops in distance.items()
    }
    return {name: ports for name, ports in found.items() if ports}


@st.composite
def networks(draw: st.DrawFn) -> Plan:
    """Any nodes with any links, some of them parallel, some that join two hosts, some missing."""
    switches = [f"s{n}" for n in range(draw(st.integers(0, 5)))]
    hosts = [f"h{n}" for n in range(draw(st.integers(2, 6)))]
    ends = st.sampled_from([*switches, *hosts])
    links = draw(st.lists(st.tuples(ends, ends).filter(lambda two: two[0] != two[1]), max_size=14))
    spreads = st.sampled_from(["flows", "frames", "none"])
    nodes: dict[str, Any] = {name: {"kind": "nic"} for name in hosts}
    nodes |= {name: {"kind": "switch", "spread": draw(spreads)} for name in switches}
    link = {f"l{at}": {"ends": list(two), "rate": "1Gb/s"} for at, two in enumerate(links)}
    return Plan(name="n", duration="1ms", nodes=nodes, links=link)


@given(networks())
def test_ways_are_those_of_every_destination_for_itself(made: Plan) -> None:
    ways, routes = made.multipath_routes(), made.routes()
    for destination, end in made.nodes.items():
        wanted = {} if isinstance(end, Switch) else every_way_to(made, destination)
        for name, node in made.nodes.items():
            spreads = isinstance(node, Switch) and node.spread != "none"
            ports = wanted.get(name, [])
            assert ways[name].get(destination, []) == (ports if spreads else ports[:1])
            assert routes[name].get(destination) == (ports[0] if ports else None)
            assert (destination in list(ways[name])) == bool(ports)


@given(networks())
def test_a_world_has_the_routes_of_its_plan(made: Plan) -> None:
    indices, builder = Indices(made), WorldBuilder(1)
    builder.ports = [{} for _ in indices.ports]
    add_routes(builder, made, indices)
    world = SimpleNamespace(routes=builder.routes, behind=builder.behind)
    for name, row in indices.nodes.items():
        found = ports_by_address(world, row)  # type: ignore[arg-type]
        for destination in made.nodes:
            if destination == name:
                continue  # nobody sends to itself
            way = int(found[indices.node_address(destination)])
            rows = [way] if way >= NONE else list(builder.ways[PORT_SETS - way][1:])
            wanted = [
                indices.port_rows[f"{name}.{p}"]
                for p in made.multipath_routes()[name].get(destination, [])
            ]
            assert rows == (wanted or [NONE])


def test_an_editor_knows_its_keys() -> None:
    table = plan_schema()["properties"]["fabric"]
    assert {"k", "hosts"} <= set(table["anyOf"][1]["properties"])
    assert table["anyOf"][0]["properties"]["rate"]["examples"]
