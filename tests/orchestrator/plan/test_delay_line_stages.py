"""A link's delay line as a list of stages: what plans may write, and what they keep."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.targets.software.emulate_machine import emulate_machine
from tests.orchestrator.worlds import line_of_three

LOSS = {"plugin": "lossy-delay", "loss_rate": "0.1"}
JITTER = {"plugin": "jittered-delay", "jitter": "2us"}
TEXT = """
name = "staged"
duration = "2ms"
[nodes]
nic = { kind = "nic" }
switch = { kind = "switch" }
sink = { kind = "sink" }
[links.up]
ends = ["nic", "switch"]
rate = "1Gb/s"
LINE
[links.down]
ends = ["switch", "sink"]
rate = "1Gb/s"
[traffic.gen]
plugin = "cbr"
from = "nic"
to = "sink"
rate = "1Gb/s"
"""
INLINE = 'delay_line = [{ plugin = "lossy-delay", loss_rate = "0.1" }, { plugin = "bit-errors" }]'
TABLES = """
[[links.up.delay_line]]
plugin = "lossy-delay"
loss_rate = "0.1"
[[links.up.delay_line]]
plugin = "bit-errors"
"""


def staged(*stages: Any, **changes: Any) -> Plan:
    table = line_of_three(**changes)
    table["links"]["up"]["delay_line"] = list(stages)
    return Plan(**table)


def problems(plan: Plan) -> list[str]:
    with pytest.raises(BadInput) as caught:
        plan.check(Registry.load())
    return [f"{one.where}: {one.accepted}" for one in caught.value.problems]


@pytest.mark.parametrize("line", [INLINE, TABLES])
def test_inline_or_as_tables_the_list_keeps_its_order(line: str) -> None:
    resolved = Plan.load(TEXT.replace("LINE", line)).check(Registry.load())
    assert [use.algorithm.name for use in resolved.stages("up")] == ["lossy-delay", "bit-errors"]
    assert [use.algorithm.name for use in resolved.stages("down")] == ["fixed-delay"]
    assert (resolved.is_staged("up"), resolved.is_staged("down")) == (True, False)
    assert (resolved.is_fixed("up"), resolved.is_fixed("down")) == (False, True)
    written = resolved.plan.to_toml()
    again = Plan.load(written).check(Registry.load())
    assert again.plan.to_toml() == written
    kept = again.plan.to_table()["links"]["up"]["delay_line"]
    assert [stage["plugin"] for stage in kept] == ["lossy-delay", "bit-errors"]
    assert kept[1]["bit_error_rate"] == "0.000000001"


def test_one_table_stays_one_table() -> None:
    table = line_of_three()
    table["links"]["up"]["delay_line"] = LOSS
    resolved = Plan(**table).check(Registry.load())
    assert resolved.plan.to_table()["links"]["up"]["delay_line"]["plugin"] == "lossy-delay"
    assert not resolved.is_staged("up")
    assert not any("stage" in name for name in resolved.plan.to_toml().split())


def test_a_line_that_alters_frames_is_a_stage_by_itself() -> None:
    table = line_of_three()
    table["links"]["up"]["delay_line"] = {"plugin": "bit-errors"}
    assert Plan(**table).check(Registry.load()).is_staged("up")


@pytest.mark.parametrize(
    ("line", "where", "text"),
    [
        ("delay_line = 3", "links.up.delay_line", "a table, or a list of tables in their order"),
        ("delay_line = []", "links.up.delay_line", "1 to 16 tables are expected"),
        ('delay_line = ["x"]', "links.up.delay_line[0]", "a table is expected"),
        ("delay_line = [{}]", "links.up.delay_line[0].plugin", "this key is required"),
        (
            'delay_line = [{ plugin = "lossy-delay", loss_rate = [1] }]',
            "links.up.delay_line[0].loss_rate",
            "a text, a number, true or false is expected",
        ),
    ],
)
def test_what_is_no_list_of_tables_is_refused(line: str, where: str, text: str) -> None:
    with pytest.raises(BadInput) as caught:
        Plan.load(TEXT.replace("LINE", line))
    (problem,) = caught.value.problems
    assert problem.where == where
    assert text in problem.accepted


def test_seventeen_stages_are_too_many() -> None:
    assert Plan(**line_of_three()).name
    staged(*[LOSS] * 16).check(Registry.load())
    with pytest.raises(BadInput, match="1 to 16 tables"):
        staged(*[LOSS] * 17)


def test_mistakes_of_a_stage_name_it() -> None:
    (unknown,) = problems(staged(LOSS, {"plugin": "lossy-dela"}))
    assert unknown.startswith("links.up.delay_line[1].plugin: ")
    (rate,) = problems(staged(LOSS, LOSS | {"loss_rate": "2"}))
    assert rate.startswith("links.up.delay_line[1].loss_rate: at most 1")
    (key,) = problems(staged({"plugin": "lossy-delay", "los_rate": "1"}))
    assert key == "links.up.delay_line[0].los_rate: did you mean loss_rate?"


def test_settings_reach_one_stage() -> None:
    plan = Plan.load(TEXT.replace("LINE", TABLES))
    changed = plan.with_settings(["links.up.delay_line[1].bit_error_rate=1/1000"])
    kept = changed.check(Registry.load()).plan.to_table()["links"]["up"]["delay_line"]
    assert (kept[0]["loss_rate"], kept[1]["bit_error_rate"]) == ("0.1", "0.001")
    for key in ("links.up.delay_line[2].loss_rate", "links.up.delay_line.loss_rate"):
        with pytest.raises(BadInput, match="unknown index"):
            plan.with_settings([f"{key}=1"])


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("links.up.delay_line.loss_rate", "delay_line[0]"),
        ("links.up.delay_line[2].loss_rate", "delay_line[0]"),
        ("links.down.delay_line[0].loss_rate", "delay_line"),
    ],
)
def test_a_timeline_names_the_stage(key: str, known: str) -> None:
    with pytest.raises(BadInput) as caught:
        staged(LOSS, JITTER, timeline=[{"at": 0, "set": key, "to": "1"}])
    (problem,) = caught.value.problems
    assert problem.where == "timeline[0].set"
    assert known in problem.accepted


def test_stages_are_entities_with_their_metrics() -> None:
    expect = [
        {"metric": "frames.lost", "of": "nic>switch/stage1", "max": 10**9},
        {"metric": "gilbert-elliott.bursts", "of": "nic>switch/stage2", "max": 10**9},
        {"metric": "frames.fcs_errors", "of": "nic>switch", "max": 0},
    ]
    staged(LOSS, {"plugin": "gilbert-elliott"}, expect=expect).check(Registry.load())
    for index, of in ((0, "nic>switch/stage3"), (1, "nic>switch/stage1"), (1, "nic>switch")):
        with pytest.raises(BadInput):
            plan = staged(LOSS, {"plugin": "gilbert-elliott"}, expect=[expect[index] | {"of": of}])
            plan.check(Registry.load())


def test_copies_of_datagrams_of_messages_are_refused() -> None:
    table = line_of_three()
    table["traffic"]["gen"] = {"plugin": "messages", "from": "nic", "to": "sink", "size": 10**5}
    table["links"]["up"]["delay_line"] = [LOSS, {"plugin": "duplication"}]
    (text,) = problems(Plan(**table))
    assert "does not notice a duplicate" in text
    table["nodes"]["sink"] = {"kind": "nic"}
    table["traffic"]["gen"]["transport"] = {"plugin": "selective"}
    Plan(**table).check(Registry.load())


def test_a_machine_is_emulated_on_links_without_stages_alone(tmp_path: Any) -> None:
    plan = staged({"plugin": "fixed-delay"}, LOSS)
    with pytest.raises(BadInput, match="fixed-delay, lossy-delay"):
        emulate_machine(plan, None, tmp_path)  # type: ignore[arg-type]
