"""Trials of small made-up plans: every way that a mutant may come out, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.batch.batch_executor import MeasuredPoint, run_points
from orchestrator.batch.mutation_trial import MutationTrial
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from tests.orchestrator.batch.made import FULL
from tests.orchestrator.worlds import line_of_three

SHORT = {"metric": "queue_bytes.max", "of": "switch.sink", "max": "3KB"}
SLOWER = {"name": "slower", "set": {"nodes.switch.service_rate": "500Mb/s"}}
"""The queue grows; it stays busy all the same."""
LESS = {"name": "less", "set": {"traffic.gen.rate": "500Mb/s"}}
"""The queue stays empty, and the link as well for half of the time."""
LARGER = {"name": "larger", "set": {"nodes.switch.buffer": "200KB"}}
"""Nothing ever comes near that."""


def line(*mutants: dict[str, Any], **changes: Any) -> Plan:
    return Plan(**line_of_three(expect=[FULL, SHORT], mutant=list(mutants)) | changes)


def tried(plan: Plan, *seeds: int) -> dict[str, Any]:
    trial = MutationTrial.of(plan, seeds or [1])
    return trial.judge(run_points(trial.points(), jobs=1))


@pytest.mark.parametrize(
    ("mutant", "outcome", "by"),
    [
        (SLOWER, "caught", ["queue_bytes.max of switch.sink in run"]),
        (LESS, "caught", ["utilization of switch.sink in run"]),
        (LARGER, "survived", []),
        (
            SLOWER | {"expected_misses": ["queue_bytes.max"]},
            "caught",
            ["queue_bytes.max of switch.sink in run"],
        ),
        (
            SLOWER | {"expected_misses": ["utilization"]},
            "caught by others",
            ["queue_bytes.max of switch.sink in run"],
        ),
        (LARGER | {"expected_misses": ["utilization"]}, "survived", []),
        (LARGER | {"equivalent": "never full"}, "same", []),
        (LARGER | {"survives": "never full"}, "survived as said", []),
        (
            SLOWER | {"survives": "never full"},
            "caught",
            ["queue_bytes.max of switch.sink in run"],
        ),
        (
            SLOWER | {"equivalent": "never full"},
            "not the same",
            ["queue_bytes.max of switch.sink in run"],
        ),
    ],
)
def test_how_a_mutant_comes_out(mutant: dict[str, Any], outcome: str, by: list[str]) -> None:
    result = tried(line(mutant))
    (found,) = result["mutants"]
    assert found["outcome"] == outcome
    assert [row["called"] for row in found["caught_by"]] == by
    assert result["ok"] is (outcome in ("caught", "same", "survived as said"))
    assert result["verdict"] == "met"
    assert (result["counted"], result["caught"]) == (
        0 if "equivalent" in mutant else 1,
        int(outcome == "caught"),
    )


def test_a_plan_that_is_not_met_judges_nothing_by_what_it_misses_itself() -> None:
    too_short = [FULL, SHORT | {"max": "1B"}]
    result = tried(line(SLOWER, LESS, expect=too_short))
    assert result["verdict"] == "missed"
    assert [one["outcome"] for one in result["mutants"]] == ["survived", "caught"]
    assert result["ok"] is False
    caught = tried(line(LESS, expect=too_short))
    assert (caught["mutants"][0]["outcome"], caught["ok"]) == ("caught", False)
    too_short[1]["known_miss"] = "one frame is always there"
    known = tried(line(LESS, expect=too_short))
    assert (known["verdict"], known["ok"]) == ("missed", True)


def test_what_is_not_there_any_more_catches_nothing() -> None:
    point = {"plugin": "qcn-rp", "preset": "netfpga"}
    nodes = line_of_three()["nodes"] | {"nic": {"kind": "nic", "reaction_point": point}}
    expect = [{"metric": "active.share", "of": "nic.rp0", "max": 0.5}]
    mutant = {"name": "no-scheme", "drop": ["nodes.nic.reaction_point"]}
    (found,) = tried(line(mutant, nodes=nodes, expect=expect))["mutants"]
    assert found["outcome"] == "survived"
    assert found["without_its_entity"] == ["active.share of nic.rp0 in run"]


@pytest.mark.parametrize(
    ("values", "outcome"),
    [((0.1, 1, 1), "survived"), ((0.1, None, 1), "caught"), ((0.1, 1), "survived")],
)
def test_more_than_half_of_the_seeds_have_to_miss(
    values: tuple[float | None, ...], outcome: str
) -> None:
    trial = MutationTrial.of(line(LARGER), range(1, len(values) + 1))
    found = [
        MeasuredPoint(point, measured(value), False)
        for point, value in zip(trial.points(), [1.0] * len(values) + [*values], strict=True)
    ]
    assert trial.judge(found)["mutants"][0]["outcome"] == outcome


@pytest.mark.parametrize(
    ("given", "plan", "mutant", "others", "outcome"),
    [
        ([1], [1, 1, 1], [1, 0.1, 0.1], [0.1], "caught"),
        ([1], [1, 1, 1], [0.1, 1, 1], [0.1], "survived"),
        ([1], [1, 0.1, 0.1], [0.1, 0.1, 0.1], [0.1], "survived"),
        ([3, 1], [1, 1, 1], [1, 0.1, 0.1], [0.1, 0.1], "caught"),
        ([1, 2, 3, 4], [1, 1, 1, 1], [1, 1, 0.1, 0.1], [0.1] * 4, "survived"),
    ],
)
def test_a_mutant_says_how_many_seeds_tell_it(
    given: list[int], plan: list[float], mutant: list[float], others: list[float], outcome: str
) -> None:
    trial = MutationTrial.of(line(LARGER | {"seeds": 3}, LESS), given)
    points, values = trial.points(), [*plan, *mutant, *others]
    seeds = [*given, *{1, 2, 3}.difference(given)]
    assert [point.seed for point in points] == [*seeds, *seeds, *given]
    found = [
        MeasuredPoint(point, measured(value), False)
        for point, value in zip(points, values, strict=True)
    ]
    result = trial.judge(found)
    assert [one["outcome"] for one in result["mutants"]] == [outcome, "caught"]
    assert [one["seeds"] for one in result["mutants"]] == [seeds, given]


def measured(utilization: float | None) -> dict[str, Any]:
    values = {"utilization": utilization, "queue_bytes.max": 0}
    fidelity = {"verdict": "valid", "reasons": []}
    return {"metrics": {"run": {"switch.sink": values}}, "fidelity": fidelity, "notes": []}


def test_what_asks_several_seeds_judges_them_and_not_one() -> None:
    asked = [FULL | {"of_seeds": "median"}, SHORT]
    one = tried(line(LESS, expect=asked))
    assert (one["mutants"][0]["outcome"], one["verdict"]) == ("survived", "met")
    several = tried(line(LESS, expect=asked), 1, 2, 3)
    assert several["mutants"][0]["outcome"] == "caught"
    assert several["ok"] is True


def test_a_mutant_that_changes_nothing_is_bad_input() -> None:
    nothing = {"name": "nothing", "set": {"nodes.switch.buffer": "150KB"}}
    with pytest.raises(BadInput, match=r"mutant nothing.*\n.*what the plan says already"):
        MutationTrial.of(line(nothing), [1])


def test_a_parameter_that_is_not_there_is_bad_input() -> None:
    unknown = {"name": "unknown", "set": {"traffic.gen.rat": "1Gb/s"}}
    with pytest.raises(BadInput, match=r"mutant unknown.*\n.*did you mean .*rate"):
        MutationTrial.of(line(unknown), [1])


def test_a_plan_without_mutants_is_bad_input() -> None:
    with pytest.raises(BadInput, match=r"no \[\[mutant\]\]"):
        MutationTrial.of(line(), [1])


def test_a_plan_whose_scheme_lacks_a_part_is_not_sound() -> None:
    trial = MutationTrial.of(line(SLOWER), [1])
    points = run_points(trial.points(), jobs=1)
    assert trial.judge(points)["verdict"] == "met"
    points[0].row["incomplete"] = ["its scheme lacks a part"]
    judged = trial.judge(points)
    assert (judged["verdict"], judged["ok"]) == ("missed", False)
