"""Causes of a capsule's differing values: what was changed, and what is otherwise here."""

from __future__ import annotations

from typing import Any

import pytest

from traces.capsule.capsule_record import Record
from traces.capsule.difference_causes import (
    FILE,
    MACHINE,
    MOST,
    PARAMETER,
    RESULT,
    SEED,
    VERSION,
    CapsuleFacts,
    Cause,
    causes,
)

ENVIRONMENT: dict[str, Any] = {
    "tailback": "1.0",
    "python": "3.12",
    "libraries": {"numpy": "2.0"},
    "sources": "a" * 64,
    "git": {"commit": "b" * 40},
    "machine": {"processor": "p", "cores": 2, "kernel": "6", "hypervisor": None},
}
PLAN: dict[str, Any] = {"name": "mine", "seed": 1, "links": {"up": {"rate": "1Gb/s"}}}


def record(**changes: Any) -> Record:
    values: dict[str, Any] = {
        "tailback_capsule": 1,
        "kind": "run",
        "name": "mine",
        "target": "simulated",
        "seeds": [1],
        "plan": PLAN,
        "environment": ENVIRONMENT,
        "plugins": {},
    }
    return Record.model_validate(values | changes)


def found(
    packed: Record | None = None,
    here: dict[str, Any] | None = None,
    differs: bool = False,
    **facts: Any,
) -> list[Cause]:
    said: dict[str, Any] = {"plan": PLAN, "manifest": ENVIRONMENT, "seeds": {}, "wrong": {}}
    return causes(packed or record(), CapsuleFacts(**said | facts), here or ENVIRONMENT, differs)


def test_nothing_is_named_where_nothing_is_otherwise() -> None:
    assert found() == []


def test_a_difference_without_a_cause_is_in_the_results() -> None:
    ((only),) = found(differs=True)
    assert (only.kind, only.altered) == (RESULT, False)
    assert only.text.startswith("plan, seed and versions are as packed and as here: results were")


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        ({"links": {"up": {"rate": "2Gb/s"}}}, "links.up.rate is 2Gb/s in plan.toml, 1Gb/s when"),
        ({"links": {"up": {}}}, "links.up.rate is nothing in plan.toml, 1Gb/s when packed"),
        ({"more": "x" * 61}, f"more is {'x' * 57}... in plan.toml, nothing when packed"),
        ({"more": "c" * 40}, f"more is {'c' * 12} in plan.toml, nothing when packed"),
    ],
)
def test_a_changed_parameter_is_named(plan: dict[str, Any], text: str) -> None:
    (one,) = found(plan=PLAN | plan, differs=True)
    assert (one.kind, one.altered) == (PARAMETER, True)
    assert one.text.startswith(text)


def test_the_seed_of_a_plan_is_not_named_as_a_parameter_and_others_up_to_the_most() -> None:
    assert found(plan=PLAN | {"seed": 2}) == []
    assert len(found(plan=PLAN | {f"k{n}": n for n in range(MOST + 1)})) == MOST


@pytest.mark.parametrize(
    ("packed", "seeds", "pair"),
    [
        ([1], [2], ("2", "1")),
        ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6], ("1, 2, … 6", "1, 2, 3, 4, 5")),
    ],
)
def test_other_seeds_are_named_by_their_file(
    packed: list[int], seeds: list[int], pair: tuple[str, str]
) -> None:
    (one,) = found(record(seeds=packed), seeds={"seeds.json": seeds, "b": packed})
    assert (one.kind, one.altered) == (SEED, True)
    assert one.text == f"the seed is {pair[0]} in seeds.json, {pair[1]} when packed"


def test_versions_of_the_manifest_and_of_here_are_named() -> None:
    other = ENVIRONMENT | {"libraries": {"numpy": "1.9"}}
    (one,) = found(manifest=other)
    assert one == Cause(
        VERSION, "libraries.numpy is 1.9 in manifest.json, 2.0 when packed", altered=True
    )
    (one,) = found(here=other)
    assert one == Cause(VERSION, "libraries.numpy was 2.0 where it ran, and is 1.9 here")
    (one,) = found(here=ENVIRONMENT | {"libraries": {}})
    assert one.text == "libraries.numpy was 2.0 where it ran, and is nothing here"


def test_another_commit_with_the_same_sources_is_none() -> None:
    assert found(here=ENVIRONMENT | {"git": {"commit": "d" * 40}}) == []
    here = ENVIRONMENT | {"git": {"commit": "d" * 40}, "sources": "e" * 64}
    texts = [one.text for one in found(here=here)]
    assert texts == [
        f"the digest of engine, core and plugins was {'a' * 12} where it ran, and is "
        f"{'e' * 12} here",
        f"git.commit was {'b' * 12} where it ran, and is {'d' * 12} here",
    ]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("data/result.json", RESULT),
        ("data/points/part-0.parquet", RESULT),
        ("data/places.parquet", RESULT),
        ("data/plan.toml", FILE),
        ("data/report.html", FILE),
    ],
)
def test_files_that_are_not_as_packed_are_named(name: str, kind: str) -> None:
    (one,) = found(wrong={name: "has other octets"}, differs=True)
    assert one == Cause(kind, f"{name} has other octets", altered=True)
    assert len(found(wrong={f"{name}{n}": "x" for n in range(MOST + 1)})) == MOST


def test_another_machine_matters_to_runs_in_real_time_alone() -> None:
    machine = {"processor": "q", "cores": 4, "kernel": "6", "hypervisor": None}
    here = ENVIRONMENT | {"machine": machine}
    assert found(here=here) == []
    texts = [(one.kind, one.text) for one in found(record(target="software"), here=here)]
    assert texts == [
        (MACHINE, "processor was p where it ran, and is q here"),
        (MACHINE, "cores was 2 where it ran, and is 4 here"),
    ]
    kinds = [one.kind for one in found(record(target="software"), here=here, differs=True)]
    assert kinds == [MACHINE, MACHINE, RESULT]
