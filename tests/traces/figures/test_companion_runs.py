"""Runs of other plans that a figure needs: the newest, on the same target if there is one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.errors import BadInput, Problem
from traces.figures import companion_runs
from traces.figures.companion_runs import CompanionRuns


def run(plan: str, target: str, folder: Path | None = None) -> Any:
    return SimpleNamespace(result=SimpleNamespace(plan=plan, target=target), folder=folder)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Makes the runs of other plans; a text in place of a target is a damaged folder."""
    kept: dict[Path, Any] = {}

    def load(folder: Path) -> Any:
        found = kept[folder]
        if isinstance(found, BadInput):
            raise found
        return found

    def make(plan: str, *targets: str | BadInput) -> list[Any]:
        for number, target in enumerate(targets):
            folder = tmp_path / plan / f"{number}"
            kept[folder] = target if isinstance(target, BadInput) else run(plan, target, folder)
        return [kept[tmp_path / plan / f"{n}"] for n in range(len(targets))]

    monkeypatch.setattr(companion_runs, "load", load)
    monkeypatch.setattr(
        companion_runs, "runs_in", lambda at: sorted(one for one in kept if one.parent == at)
    )
    return make


@pytest.fixture
def mine(tmp_path: Path) -> Any:
    return run("mine", "simulated", tmp_path / "mine" / "0")


def test_the_newest_run_on_the_same_target_is_taken(runs: Any, mine: Any) -> None:
    _, same, _ = runs("other", "simulated", "simulated", "software")
    beside = CompanionRuns(mine)
    assert beside.of("other") is same
    assert beside.of("mine") is mine
    assert (beside.missing, beside.foreign) == ([], [])


def test_without_one_the_newest_of_any_target_is_taken_and_named(runs: Any, mine: Any) -> None:
    _, newest = runs("other", "gateware", "software")
    beside = CompanionRuns(mine)
    assert beside.of("other") is newest
    assert beside.foreign == ["other was run on software, this plan on simulated."]
    assert beside.missing == []


def test_a_name_may_be_of_another_plan(runs: Any, mine: Any) -> None:
    (other,) = runs("other", "simulated")
    beside = CompanionRuns(mine)
    assert beside.split("switch.sink") == (mine, "switch.sink")
    assert beside.split("switch.sink of other") == (other, "switch.sink")
    assert beside.split("switch.sink of gone") == (None, "switch.sink")


def test_plans_without_a_run_are_named_with_the_commands(runs: Any, mine: Any) -> None:
    beside = CompanionRuns(mine)
    assert beside.of("a") is None
    assert beside.missing == [
        "Not drawn: a, of which there is no run in this folder; `tailback run a`, and then "
        "`tailback report` of this run, draws it."
    ]
    for plan in ("b", "c"):
        beside.of(plan)
    assert beside.missing[0].startswith(
        "Not drawn: a, b and c, of which there is no run in this folder; `tailback run a`, "
        "`tailback run b` and `tailback run c`, and then"
    )
    hard = CompanionRuns(run("mine", "soft ware", mine.folder))
    hard.of("a")
    assert "`tailback run a --target 'soft ware'`" in hard.missing[0]
    nowhere = CompanionRuns(run("mine", "simulated"))
    assert nowhere.of("a") is None


def test_damaged_runs_are_passed_over_and_named_where_there_is_no_other(
    runs: Any, mine: Any
) -> None:
    damaged = BadInput("folder", [Problem("x", 1, "no")])
    good, _ = runs("other", "simulated", damaged)
    beside = CompanionRuns(mine)
    assert beside.of("other") is good
    assert beside.missing == []
    runs("bad", BadInput("folder", "is damaged"))
    assert beside.of("bad") is None
    assert beside.missing == ["A run of bad cannot be read: folder: is damaged."]
    runs("worse", damaged)
    beside.of("worse")
    assert beside.missing[1] == "A run of worse cannot be read: x: 1 is not accepted; no."
    beside.of("gone")
    assert beside.missing[2].startswith("Not drawn: bad, worse and gone, ")
    assert "`tailback run gone`, and then" in beside.missing[2]
    assert "`tailback run bad`" not in beside.missing[2]
