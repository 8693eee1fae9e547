"""[[mutant]]: what it may say, how it goes along with bases and ranges, the plan that it makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.apply_mutant import mutated
from orchestrator.plan.mutant_match import matching_expectations
from orchestrator.registry import Registry
from tests.orchestrator.worlds import line_of_three

PHASES = {"early": {"from": 0, "to": 10**9}, "late": {"from": 10**9, "to": 2 * 10**9}}
QUEUE = {"metric": "queue_bytes.mean", "of": "switch.sink", "phase": "early", "max": "1KB"}
EXPECT = [
    QUEUE,
    QUEUE | {"phase": "late", "name": "settled"},
    {"metric": "utilization", "of": "switch.sink", "phase": "late", "min": 0.9},
]
SMALLER = {"name": "smaller", "set": {"nodes.switch.buffer": "10KB"}}


def plan(*mutants: dict[str, Any], **changes: Any) -> Plan:
    table = line_of_three(expect=EXPECT, phases=PHASES, mutant=list(mutants)) | changes
    return Plan(**table)


def test_it_sets_and_drops() -> None:
    both = {
        "name": "both",
        "set": {"links.{up,down}.rate": "2Gb/s", "timeline[1].at": "1ms"},
        "drop": ["nodes.switch.pause", "timeline[0]"],
    }
    pause = {"plugin": "pause", "high": 90_000, "low": 80_000}
    steps = [{"at": 0, "stop": "gen"}, {"at": 0, "start": "gen"}]
    made = plan(both, timeline=steps, nodes=_nodes(pause=pause))
    changed = mutated(made, made.mutant[0])
    assert [link.rate for link in changed.links.values()] == [2 * 10**9] * 2
    assert changed.nodes["switch"].pause is None
    assert [(step.at, step.start) for step in changed.timeline] == [(10**9, "gen")]
    assert (changed.expect, changed.mutant) == ([], [])
    assert made.nodes["switch"].pause is not None
    assert len(made.timeline) == 2


def _nodes(**of_switch: Any) -> dict[str, Any]:
    nodes = line_of_three()["nodes"]
    return nodes | {"switch": nodes["switch"] | of_switch}


def test_several_entries_of_a_list_are_dropped_as_they_stand_in_the_plan() -> None:
    steps = [{"at": at, "stop": "gen"} for at in range(12)]
    made = plan({"name": "less", "drop": ["timeline[{2,10,11,0}]"]}, timeline=steps)
    kept = [step.at for step in mutated(made, made.mutant[0]).timeline]
    assert kept == [1, 3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("mutant", "said"),
    [
        ({"set": {"nodes.swich.buffer": "1KB"}}, "unknown key 'swich'; did you mean switch"),
        ({"set": {"nodes.switch.bufer": "1KB"}}, "unknown key 'bufer'; did you mean buffer"),
        ({"set": {"nodes.switch.buffer": "1"}}, "nodes.switch.buffer: '1' is not accepted"),
        ({"drop": ["nodes.switch.pause"]}, "drop nodes.switch.pause: unknown key 'pause'"),
        ({"drop": ["expect[0]"]}, "unknown key 'expect'"),
        ({"drop": ["nodes.sink"]}, "links.down.ends"),
    ],
)
def test_what_leads_nowhere_is_bad_input_that_names_the_mutant(
    mutant: dict[str, Any], said: str
) -> None:
    made = plan({"name": "odd-one", **mutant})
    with pytest.raises(BadInput) as error:
        mutated(made, made.mutant[0])
    assert "mutant odd-one" in str(error.value)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("mutants", "said"),
    [
        ([{"name": "nothing"}], "mutant[0]: "),
        ([SMALLER, SMALLER], "2 mutants are called 'smaller'"),
        (
            [SMALLER | {"expected_misses": ["settled"], "equivalent": "why"}],
            "'equivalent' says that it misses nothing",
        ),
        (
            [SMALLER | {"expected_misses": ["queue_bytes.mean"]}],
            "it fits 2 expectations; one of 'queue_byt",
        ),
        (
            [SMALLER | {"expected_misses": ["queue_bytes.maen"]}],
            "known: queue_bytes.mean of switch.sink",
        ),
        ([SMALLER | {"expected_misses": ["setled"]}], "did you mean settled"),
        ([SMALLER | {"mises": []}], "did you mean expected_misses"),
        ([{"name": "a b", "drop": ["seed"]}], "mutant[0].name"),
        ([{"name": "all", "set": {"nodes": {"nic": {}}}}], "a dotted key in quotes is expected"),
    ],
)
def test_mistakes_are_told_with_the_plan(mutants: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(BadInput) as error:
        plan(*mutants)
    assert said in str(error.value)


def test_a_plan_that_expects_nothing_has_no_mutants() -> None:
    with pytest.raises(BadInput, match=r"needs \[\[expect\]\]"):
        plan(SMALLER, expect=[])


def test_two_expectations_have_no_name_in_common() -> None:
    with pytest.raises(BadInput, match="2 expectations are called 'settled'"):
        plan(expect=[EXPECT[1], EXPECT[2] | {"name": "settled"}])


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("settled", [1]),
        ("queue_bytes.mean of switch.sink in late", [1]),
        ("queue_bytes.mean in early", [0]),
        ("queue_bytes.mean of switch.sink", [0, 1]),
        ("utilization", [2]),
        ("utilization in early", []),
        ("late", []),
    ],
)
def test_how_expectations_are_named(text: str, places: list[int]) -> None:
    assert matching_expectations(plan(), text) == places


def test_a_ratio_is_named_by_both_or_by_the_first() -> None:
    ratio = {"metric": "throughput_bps", "of": "gen", "relative_to": "traffic", "min": 0.5}
    made = plan(expect=[ratio])
    assert matching_expectations(made, "throughput_bps of gen / traffic in run") == [0]
    assert matching_expectations(made, "throughput_bps of gen") == [0]
    assert matching_expectations(made, "throughput_bps of traffic") == []


BELOW = """
name = "below"
duration = "2ms"
lists.end = ["a", "b"]
[nodes."nic-{end}"]
kind = "nic"
[nodes.switch]
kind = "switch"
[nodes.sink]
kind = "sink"
[links."up-{end}"]
ends = ["nic-{end}", "switch"]
rate = "1Gb/s"
[links.down]
ends = ["switch", "sink"]
rate = "1Gb/s"
[traffic."gen-{end}"]
plugin = "cbr"
from = "nic-{end}"
to = "sink"
rate = "100Mb/s"
[[expect]]
metric = "utilization"
of = "switch.sink"
min = 0.1
[templates.broken]
set = { "nodes.switch.buffer" = "9KB" }
[[mutant]]
like = "broken"
name = "small"
[[mutant]]
name = "slow-{end}"
set = { "links.up-{end}.rate" = "10Mb/s" }
expected_misses = ["utilization of switch.sink"]
[[mutant]]
name = "slow"
set = { "links.up-{end}.rate" = "10Mb/s" }
"""


def test_mutants_have_templates_lists_bases_and_scales(tmp_path: Path) -> None:
    (tmp_path / "below.toml").write_text(BELOW)
    above = tmp_path / "above.toml"
    above.write_text(
        'base = "below"\nname = "above"\nscale = 10\n'
        '[[mutant]]\nname = "small"\nset = { "nodes.switch.buffer" = "8KB" }\n'
        '[[mutant]]\nname = "more"\ndrop = ["links.up-a.overhead"]\n'
    )
    made = Plan.load(above, Registry.load())
    found = {mutant.name: mutant for mutant in made.mutant}
    assert list(found) == ["small", "slow-a", "slow-b", "slow", "more"]
    assert found["small"].set == {"nodes.switch.buffer": "8KB"}
    assert found["slow-b"].set == {"links.up-b.rate": "100Mb/s"}
    assert found["slow"].set == {"links.up-a.rate": "100Mb/s", "links.up-b.rate": "100Mb/s"}
    (tmp_path / "none.toml").write_text('base = "below"\nname = "none"\nwithout = ["mutant"]\n')
    assert Plan.load(tmp_path / "none.toml", Registry.load()).mutant == []


def test_a_run_keeps_none_of_them() -> None:
    assert plan(SMALLER).to_table() == plan().to_table()
    resolved = plan(SMALLER).check(Registry.load()).plan
    assert resolved == plan().check(Registry.load()).plan
    assert "mutant" not in resolved.to_toml()


def test_settings_on_top_keep_them() -> None:
    made = plan(SMALLER).with_settings(["links.{up,down}.delay=1us"])
    assert [link.delay for link in made.links.values()] == [10**6] * 2
    assert made.mutant == plan(SMALLER).mutant


@pytest.mark.parametrize(
    ("key", "old", "new"),
    [
        ("metric", 'metric = "queue_bytes.mean"', 'metric = "queue_byte.mean"'),
        ("min", 'min = "28KB"', 'min = "28 apples"'),
    ],
)
def test_a_mistake_of_an_expectation_is_not_told_again_for_each_mutant_that_names_it(
    key: str, old: str, new: str
) -> None:
    text = Registry.load().plans()["quickstart"].read_text(encoding="utf-8")
    if key == "metric":
        text = text.replace('misses = ["queue_bytes.mean"]', 'misses = ["queue_byte.mean"]')
        assert text.count("queue_byte.mean") == 3
    wrong = text.replace(old, new)
    assert wrong != text
    with pytest.raises(BadInput) as error:
        Plan.load(wrong, Registry.load())
    assert [problem.where for problem in error.value.problems] == ["expect[0]." + key]
    astray = wrong.replace('misses = ["recovery_s"]', 'misses = ["recover_s"]')
    with pytest.raises(BadInput) as error:
        Plan.load(astray, Registry.load())
    places = {problem.where.split("[")[0] for problem in error.value.problems}
    assert places == {"expect", "mutant"}
