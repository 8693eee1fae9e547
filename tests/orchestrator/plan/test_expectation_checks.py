"""Expectations that no run could be judged by: each mistake at its key, with what is accepted."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.expectation_checks import phase_problems, unit_of
from orchestrator.plan.metric import BYTES, RATIO

ROW = '[[expect]]\nmetric = "utilization"\nof = "switch.sink"\nmin = 0.99\n'


def problems(text: str, catalog: Any) -> list[tuple[str, str]]:
    with pytest.raises(BadInput) as caught:
        Plan.load(text).check(catalog)
    return [(one.where, str(one)) for one in caught.value.problems]


@pytest.mark.parametrize(
    ("row", "where", "words"),
    [
        ('metric = "utilization"\nof = "switch.snk"\nmin = 0.9', "of", "did you mean switch.sink"),
        ('metric = "rate.mean"\nof = "switch.sink"\nmin = "1b/s"', "metric", ""),
        ('metric = "utilisation"\nof = "switch.sink"\nmin = 0.9', "metric", "utilization"),
        (
            'metric = "utilization"\nof = "nic1"\nmin = 0.9',
            "metric",
            "nic1 has no such metric; what has it: known: ",
        ),
        (
            'metric = "utilization"\nof = "switch.sink"\nrelative_to = "switch.sink"\nmin = 0.9',
            "relative_to",
            "another entity is expected: the ratio of a metric to itself is always 1",
        ),
        (
            'metric = "utilization"\nof = "switch.sink"\nrelative_to = "nic1"\nmin = 0.9',
            "relative_to",
            "unknown entity 'nic1'",
        ),
        ('metric = "utilization"\nof = "switch.sink"\nmin = "1KB"', "min", "1KB"),
        ('metric = "queue_bytes.mean"\nof = "switch.sink"\nmax = "1s"', "max", "1s"),
        (
            'metric = "utilization"\nof = "switch.sink"\nmin = 0.9\nmax = 0.8',
            "",
            "'min' 0.9 is above 'max' 0.8",
        ),
        (
            'metric = "utilization"\nof = "switch.sink"\nphase = "hihg"\nmin = 0.9',
            "phase",
            "unknown phase 'hihg'; did you mean high?",
        ),
    ],
)
def test_a_mistake_is_named_at_its_key(
    full: str, catalog: Any, row: str, where: str, words: str
) -> None:
    text = full.replace(ROW, f"[[expect]]\n{row}\n")
    assert text != full
    ((at, told),) = problems(text, catalog)
    assert at == ("expect[1]" + (f".{where}" if where else ""))
    assert words in told


def test_bounds_may_be_equal_and_phases_are_those_of_the_plan_and_the_run(
    full: str, catalog: Any
) -> None:
    text = full.replace("min = 0.99\n", 'min = 0.9\nmax = 0.9\nphase = "run"\n')
    assert text != full
    Plan.load(text).check(catalog)
    found = list(phase_problems({0: "high", 4: "low", 7: "run"}, ["high"]))
    assert [problem.where for problem in found] == ["expect[4].phase"]
    assert list(phase_problems({}, [])) == []


def test_a_ratio_of_two_has_no_unit() -> None:
    assert unit_of("queue_bytes.mean") == BYTES
    assert unit_of("queue_bytes.mean", "switch.nic1") == RATIO == unit_of("utilization")
