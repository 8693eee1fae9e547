"""The search for machines and cables, against one that keeps nothing and counts anew each time."""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatchcase
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import Refused, RunFailed
from orchestrator.plan import Plan
from orchestrator.testbed.controller import node_placement
from orchestrator.testbed.controller.controller_service import NO_MACHINE, MachinePool
from orchestrator.testbed.controller.node_placement import Mapping, map_plan
from orchestrator.testbed.inventory import Testbed
from tests.orchestrator.testbed.controller.test_node_placement import bed

NODES = {"nic1": "nic", "nic2": "nic", "leaf": "switch", "spine": "switch", "sink": "sink"}
LINKS = {"up1": "nic1 leaf", "up2": "nic2 leaf", "mid": "leaf spine", "down": "spine sink"}
TABLE: dict[str, Any] = {
    "name": "line",
    "duration": 10**9,
    "nodes": {name: {"kind": kind} for name, kind in NODES.items()},
    "links": {name: {"ends": ends.split(), "rate": 10**9} for name, ends in LINKS.items()},
}
PLAN = Plan(**TABLE)
Cables = dict[str, tuple[str, str]]


def joined(*pairs: str) -> Cables:
    """Cables c0, c1, ... between machines, "one two"; every NIC has one."""
    return {
        f"c{n}": (f"{pair.split()[0]}:eth{n}", f"{pair.split()[1]}:eth{n}")
        for n, pair in enumerate(pairs)
    }


def placed(cables: Cables, available: str = "a b c", **nodes: list[str]) -> list[str]:
    """The machines of nic1, nic2, leaf, spine and sink."""
    return list(map_plan(PLAN, bed(cables, **nodes), available.split()).machines.values())


def enough(where: dict[str, str], cables: Cables) -> bool:
    """Whether there is a cable for each link between machines."""
    pairs = [{where.get(end, "") for end in ends.split()} for ends in LINKS.values()]
    needed = Counter(frozenset(pair) for pair in pairs if len(pair) == 2 and "" not in pair)
    have = Counter(frozenset(end.split(":")[0] for end in ends) for ends in cables.values())
    return needed <= have


def searched(where: dict[str, str], testbed: Testbed, cables: Cables, there: list[str]) -> bool:
    """Complete `where` if that is possible, as the module says: the plan's order, deepest first;
    by name, else by pattern, else machines for which nothing is said; the emptiest one first."""
    if len(where) == len(NODES):
        return True
    node = list(NODES)[len(where)]
    machines = testbed.machines.items()
    right = [name for name, one in machines if node in one.nodes]
    right = right or [n for n, one in machines if any(fnmatchcase(node, p) for p in one.nodes)]
    right = right or [name for name, one in machines if not one.nodes]
    for machine in sorted(right, key=lambda name: list(where.values()).count(name)):
        where[node] = machine
        if machine in there and enough(where, cables) and searched(where, testbed, cables, there):
            return True
        del where[node]
    return False


patterns = st.sampled_from(["nic1", "nic2", "nic*", "leaf", "spine", "s*", "sink", "*"])
beds = st.fixed_dictionaries({name: st.lists(patterns, max_size=2) for name in "abc"})
pairs = st.lists(st.sampled_from(["a b", "b a", "b c", "a c"]), max_size=6)


@given(beds, pairs, st.lists(st.sampled_from("abc"), min_size=2, max_size=3, unique=True))
def test_the_first_place_in_its_order_is_found_where_there_is_one(
    nodes: dict[str, list[str]], ways: list[str], there: list[str]
) -> None:
    cables, where = joined(*ways), dict[str, str]()
    testbed = bed(cables, **nodes)
    if searched(where, testbed, cables, there):
        assert map_plan(PLAN, testbed, there).machines == where
    else:
        with pytest.raises(Refused):
            map_plan(PLAN, testbed, there)


def test_the_emptiest_machine_that_cables_lead_to() -> None:
    assert placed(joined(*["a b"] * 4), a=[], b=[]) == ["a", "b", "a", "b", "a"]
    assert placed(joined("a b"), a=[], b=[]) == ["a", "b", "a", "a", "a"]
    assert placed({}, a=[], b=[]) == ["a"] * 5


def test_what_a_wrong_way_took_is_given_back() -> None:
    """With leaf at c, which is emptier, no cable is left for the sink; without it both are."""
    nodes = {"a": ["nic*", "leaf", "sink"], "c": ["leaf", "spine"]}
    assert placed(joined("a c", "a c"), **nodes) == ["a", "a", "a", "c", "a"]
    with pytest.raises(Refused, match="needs 1 free cables between b and c, and there are 0"):
        placed(joined("a c"), a=["nic1"], c=["nic2", "leaf"], b=["s*"])


def test_a_machine_that_was_left_again_is_as_empty_as_before() -> None:
    """leaf was at c for a while; then spine has the choice of b and c, and takes the first."""
    cables = joined("a c", "a c", "a b", "a b")
    nodes = {"a": ["nic*", "leaf", "sink"], "b": ["spine"], "c": ["leaf", "spine"]}
    assert placed(cables, **nodes) == ["a", "a", "a", "b", "a"]
    other = {name: nodes[name] for name in "acb"}
    assert placed(cables, **other) == ["a", "a", "a", "c", "a"]


def test_a_name_counts_before_a_pattern_and_a_pattern_before_nothing() -> None:
    cables = joined(*["a b", "b c", "a c"] * 3)
    assert placed(cables, a=["nic1"], b=["*"], c=[]) == ["a", "b", "b", "b", "b"]
    assert placed(cables, a=["nic*"], b=["nic1"], c=[]) == ["b", "a", "c", "c", "c"]


def test_each_link_has_a_cable_of_its_own_in_the_order_of_both() -> None:
    cables = joined("b a", "a c", "a b", "a b")
    testbed = bed(cables, a=["nic*", "spine"], b=["leaf"], c=["sink"])
    found = map_plan(PLAN, testbed, ["a", "b", "c"])
    assert found.cables == {"up1": "c0", "up2": "c2", "mid": "c3", "down": "c1"}
    assert found.ports == {
        "nic1.leaf": ("a", "eth0"),
        "leaf.nic1": ("b", "eth0"),
        "nic2.leaf": ("a", "eth2"),
        "leaf.nic2": ("b", "eth2"),
        "leaf.spine": ("b", "eth3"),
        "spine.leaf": ("a", "eth3"),
        "spine.sink": ("a", "eth1"),
        "sink.spine": ("c", "eth1"),
    }
    assert found.used() == ["a", "b", "c"]
    assert found.nodes("a") == ["nic1", "nic2", "spine"]
    assert found.nics("b") == ["eth0", "eth2", "eth3"]


def test_a_machine_is_used_once_however_many_nodes_it_has() -> None:
    assert Mapping({"x": "b", "y": "a", "z": "b"}, {}, {}).used() == ["b", "a"]


def test_the_lack_of_the_deepest_node_is_told() -> None:
    """leaf finds a place at b alone; from there none leads on to c, for spine."""
    with pytest.raises(Refused, match="node spine on c needs 1 free cables between b and c"):
        placed(joined("a b", "a b", "a c"), a=["nic*"], b=["leaf"], c=["s*"])
    with pytest.raises(Refused, match="node leaf on b needs 2 free cables between a and b, and"):
        placed(joined("a b"), a=["nic*"], b=["leaf"], c=["s*"])


def test_of_several_lacks_of_a_node_the_first_is_told_and_of_several_places_the_last() -> None:
    nodes = {"a": ["nic1"], "b": ["nic2"], "c": ["leaf"]}
    with pytest.raises(Refused, match="node leaf on c needs 1 free cables between a and c"):
        placed({}, **nodes)
    with pytest.raises(Refused, match="node leaf on c needs 2 free cables between a and c"):
        placed({}, a=["nic*"], b=["leaf"], c=["leaf"])


def test_of_several_lacks_the_first_is_told_with_its_own_number() -> None:
    """leaf at c needs two cables to a, where there is one, and one to b, where there is none."""
    table = TABLE | {
        "nodes": {"nic3": {"kind": "nic"}} | TABLE["nodes"],
        "links": TABLE["links"] | {"up3": {"ends": ["nic3", "leaf"], "rate": 10**9}},
    }
    testbed = bed(joined("a c"), a=["nic1", "nic2"], b=["nic3"], c=["leaf", "spine", "sink"])
    lack = "node leaf on c needs 2 free cables between a and c, and there are 1"
    with pytest.raises(Refused, match=lack):
        map_plan(Plan(**table), testbed, ["a", "b", "c"])


def test_a_node_that_no_machine_is_for() -> None:
    with pytest.raises(Refused, match="no machine of the testbed is for node sink"):
        placed({}, a=["nic*", "leaf", "spine"])
    with pytest.raises(Refused, match="node sink belongs on b, c, where no agent answers"):
        placed({}, "a", a=["nic*", "leaf", "spine"], b=["sink"], c=["sink"])


def test_a_search_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_placement, "STEPS", 5)
    assert placed({}, a=["*"]) == ["a"] * 5
    monkeypatch.setattr(node_placement, "STEPS", 4)
    with pytest.raises(Refused, match=r"was found in 4 steps; say in testbed\.toml"):
        placed({}, a=["*"])
    monkeypatch.setattr(node_placement, "STEPS", 3)
    with pytest.raises(Refused, match="node leaf on b needs 2 free cables"):
        placed({}, a=["nic*"], b=["leaf"])


# Which machine holds a plan: one that can and has nothing to do; and who lacks what.

ABLE, LACKS = {"gateware": ""}, {"gateware": "target gateware: g++ is missing. Install g++"}


def peer(holds: dict[str, str] | None, state: str = "up") -> Any:
    """A machine; None: nothing is known of it."""
    offer = None if holds is None else SimpleNamespace(holds=holds)
    return SimpleNamespace(state=state, why="", offer=offer)


def test_one_plan_at_a_time_on_each_that_can() -> None:
    places = MachinePool(
        {"a": peer(LACKS), "b": peer(ABLE), "c": peer(ABLE, "gone"), "d": peer(ABLE)}
    )
    assert places.able("gateware") == ["b", "d"]
    assert [places.take("gateware"), places.take("gateware")] == ["b", "d"]
    assert places.all_taken("gateware")
    assert places.take("gateware") == NO_MACHINE
    places.give_back("b")
    assert not places.all_taken("gateware")
    assert places.take("gateware") == "b"


def test_where_nobody_can_nobody_is_waited_for() -> None:
    places = MachinePool({"a": peer(LACKS)})
    assert not places.all_taken("gateware")
    assert places.take("gateware") == NO_MACHINE
    places.give_back(NO_MACHINE)
    assert not places.all_taken("gateware")


def test_who_has_died_is_not_waited_for() -> None:
    machines = {"a": peer(ABLE), "b": peer(ABLE)}
    places = MachinePool(machines)
    assert places.take("gateware") == "a"
    machines["b"].state = "gone"
    assert places.all_taken("gateware"), "a is"
    machines["a"].state = "gone"
    assert not places.all_taken("gateware")


def test_where_all_say_why_they_cannot_it_is_refused_with_what_would_mend_it() -> None:
    lack = MachinePool({"a": peer(LACKS), "b": peer({})}).lack("gateware")
    assert isinstance(lack, Refused)
    assert "agent a: target gateware: g++ is missing. Install g++" in str(lack)
    assert "agent b: target gateware: there is none of that name" in str(lack)


@pytest.mark.parametrize("silent", [peer(ABLE, "gone"), peer(None, "connecting")])
def test_one_that_does_not_answer_may_be_able_to(silent: Any) -> None:
    lack = MachinePool({"a": peer(LACKS), "b": silent}).lack("gateware")
    assert isinstance(lack, RunFailed)
    assert "agent b does not answer" in str(lack)
    assert "agent a: target gateware: g++ is missing" in str(lack)
