"""Settings of a fabric make the network anew; what lies over it stays; what cannot be is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Nic, Plan

HEAD = 'name = "f"\nduration = "1ms"\n'
TREE = 'fabric = { kind = "fat-tree", k = 4, rate = "10Gb/s", delay = "1us" }\n'
OVER = '[links.h1]\nrate = "1Gb/s"\n[nodes."{edges}"]\nbuffer = "99KB"\n'


def hosts(plan: Plan) -> int:
    return sum(isinstance(node, Nic) for node in plan.nodes.values())


def test_another_k_is_another_network_and_equals_the_plan_that_says_so() -> None:
    plan = Plan.load(HEAD + TREE + OVER)
    assert hosts(plan) == 16
    made = plan.with_settings(["fabric.k=6", "fabric.rate=25Gb/s"])
    assert hosts(made) == 54
    text = (HEAD + TREE + OVER).replace("k = 4", "k = 6").replace("10Gb/s", "25Gb/s")
    assert made == Plan.load(text)
    assert hosts(plan) == 16, "the first one is as it was"


def test_settings_before_and_after_stay_in_their_order() -> None:
    plan = Plan.load(HEAD + TREE + OVER)
    steps = [
        "nodes.edge1.buffer=50KB",
        "fabric.k=2",
        "links.h2.rate=2Gb/s",
        "nodes.edge1.buffer=7KB",
    ]
    at_once = plan.with_settings(steps)
    one_by_one = plan
    for step in steps:
        one_by_one = one_by_one.with_settings([step])
    assert at_once == one_by_one
    assert hosts(at_once) == 2
    assert at_once.nodes["edge1"].buffer == 7_000  # type: ignore[union-attr]
    assert at_once.nodes["edge2"].buffer == 99_000  # type: ignore[union-attr]
    assert at_once.links["h2"].rate == 2 * 10**9
    again = at_once.with_settings(["fabric.delay=5us"])
    assert again.nodes["edge1"].buffer == 7_000  # type: ignore[union-attr]
    assert (hosts(again), again.links["h1"].delay) == (2, 5_000_000)


def test_a_fabric_of_a_base_is_changed_too(tmp_path: Path) -> None:
    (tmp_path / "below.toml").write_text(HEAD + TREE)
    top = tmp_path / "top.toml"
    top.write_text('base = "below"\nname = "top"\n[links.h1]\nrate = "1Gb/s"\n')
    made = Plan.load(top).with_settings(["fabric.k=2"])
    assert (made.name, hosts(made), made.links["h1"].rate) == ("top", 2, 10**9)


def test_one_made_in_python_is_changed_too() -> None:
    fabric = {"kind": "fat-tree", "k": 4, "rate": 10**9}
    plan = Plan(name="f", duration=10**9, fabric=fabric)
    assert hosts(plan.with_settings(["fabric.k=2"])) == 2


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("fabric.k=3", ["fabric.k", "even number", "--set 'fabric.k=3'"]),
        ("fabric.leaves=3", ["fabric.leaves", "--set 'fabric.leaves=3'"]),
        ("fabric.rate=fast", ["fabric.rate", "'fast'", "--set 'fabric.rate=fast'"]),
        ("fabric.k.deep=3", ["fabric.k.deep", "fabric.KEY=VALUE"]),
        ("fabric=3", ["fabric.KEY=VALUE"]),
    ],
)
def test_a_mistake_is_told_with_the_setting(setting: str, words: list[str]) -> None:
    with pytest.raises(BadInput) as error:
        Plan.load(HEAD + TREE).with_settings([setting])
    for word in words:
        assert word in str(error.value)


def test_what_the_plan_says_of_a_node_that_is_gone_is_told_with_the_setting() -> None:
    plan = Plan.load(HEAD + TREE + '[links.h9]\nrate = "1Gb/s"\n')
    with pytest.raises(BadInput) as error:
        plan.with_settings(["fabric.k=2"])
    assert "h9" in str(error.value)
    assert "--set 'fabric.k=2'" in str(error.value)


def test_where_nodes_and_links_are_written_out_there_is_no_fabric() -> None:
    written = Plan.load(Plan.load(HEAD + TREE).to_toml())
    for plan in (written, Plan.load(HEAD + TREE).with_data(written.to_table())):
        with pytest.raises(BadInput, match="written out"):
            plan.with_settings(["fabric.k=2"])


def test_data_that_names_the_fabric_is_that_of_an_equal_plan(tmp_path: Path) -> None:
    (tmp_path / "below.toml").write_text(HEAD + TREE + OVER)
    top = tmp_path / "top.toml"
    top.write_text('base = "below"\nname = "top"\n[nodes."{edges}"]\nbuffer = "70KB"\n')
    plan = Plan.load(top).with_settings(["links.h2.rate=3Gb/s", "fabric.k=2"])
    data = plan.unexpanded()
    assert data is not None
    assert data["fabric"]["k"] == 2
    assert "base" not in data
    assert plan.with_data(data) == plan
    scaled = tmp_path / "scaled.toml"
    scaled.write_text('base = "below"\nscale = 2\n')
    assert Plan.load(scaled).unexpanded() is None
    step = HEAD + TREE + '[[timeline]]\nat = "1us"\nset = "links.h1.rate"\nto = "2Gb/s"\n'
    assert Plan.load(step).with_settings(["timeline[0].at=2us"]).unexpanded() is None
    assert Plan.load(Plan.load(HEAD + TREE).to_toml()).unexpanded() is None
