"""The trial of distorted and quiet runs is red when fidelity sees less than it does."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Any

import pytest

from orchestrator.run.fidelity_thresholds import ORDER
from orchestrator.targets.software.namespace_probe import probe
from tests.planting import exchanged
from tests.trials import integrity, plans, rules
from tests.trials.blinded import BLIND
from tests.trials.distortions import KINDS
from tests.trials.integrity_table import FAILED, page, red
from tests.trials.planted import environment

ROOT = Path(__file__).parents[4]
TAKES_S = 600
SLOW = 0.3
"""Seconds of the run per second: what is judged is what is counted, on a busy machine as well."""
LEFT_ALONE: dict[str, Any] = {
    "run": 3,
    "kind": "lost",
    "strength": 1,
    "link": "up",
    "plan": "loop",
    "distorted": False,
    "verdict": "valid",
    "named": None,
    "reasons": [],
    "took_s": 3.0,
}


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({}, ""),
        ({"verdict": "degraded"}, ""),
        ({"verdict": "invalid"}, "left alone, and invalid"),
        ({"verdict": FAILED}, "left alone, and failed"),
        ({"distorted": True, "named": False}, "distorted, and valid"),
        ({"distorted": True, "named": True}, "distorted, and valid"),
        ({"distorted": True, "verdict": "invalid", "named": True}, ""),
        ({"distorted": True, "verdict": "degraded", "named": True}, ""),
        ({"distorted": True, "verdict": FAILED, "named": True}, ""),
        (
            {"distorted": True, "verdict": "invalid", "named": False},
            "found for another reason alone",
        ),
    ],
)
def test_which_runs_are_not_judged_as_they_should_be(row: dict[str, Any], why: str) -> None:
    assert red(LEFT_ALONE | row) == why


def test_the_table_counts_both_halves_and_names_what_is_wrong() -> None:
    found = {"distorted": True, "verdict": "invalid", "named": True, "reasons": ["invalid: 1 lost"]}
    rows = [LEFT_ALONE, LEFT_ALONE | {"verdict": "invalid"}, LEFT_ALONE | found]
    text = page(rows, [*ORDER, FAILED], "seed 1")
    assert "| 1 distorted | 0 | 0 | 1 | 0 | 0 |" in text
    assert "| 2 quiet | 1 | 0 | 1 | 0 | 1 |" in text
    assert "| lost | 1 frames | 0 | 0 | 1 | 0 | 1 of 1 |" in text
    assert text.count("left alone, and invalid") == 1
    assert "All are judged" in page(rows[::2], [*ORDER, FAILED], "seed 1")


def test_every_strength_of_every_kind_is_tried_and_every_plan_and_link() -> None:
    tried = [integrity.chosen(number, list(KINDS)) for number in range(integrity.ALL)]
    assert len({(one["kind"], one["strength"]) for one in tried}) == integrity.ALL >= 60
    assert len({(one["kind"], one["link"]) for one in tried}) == 2 * len(KINDS)
    assert len({(one["kind"], one["plan"]) for one in tried}) == 3 * len(KINDS)


@pytest.mark.parametrize("make", [rules.lost, rules.doubled, rules.swapped, rules.exchanged])
@pytest.mark.parametrize("count", [1, 20, 100])
def test_a_rule_hits_as_many_frames_as_it_says(make: Any, count: int) -> None:
    rule = make(count)
    sent = [number.to_bytes(2, "big") for number in range(1200)]
    came = [made for number, frame in enumerate(sent) for _, made in rule(number, frame)]
    more = {rules.lost: -count, rules.doubled: count}.get(make, 0)
    assert len(came) == len(sent) + more
    late = sum(one < before for before, one in itertools.pairwise(came))
    assert late == (count if make is rules.swapped else 0)
    assert len(sent) - len(set(came)) == (count if make in (rules.lost, rules.exchanged) else 0)


@pytest.mark.parametrize("name", BLIND)
def test_the_check_that_is_switched_off_is_there(name: str) -> None:
    for module, old, new in BLIND[name].changes:
        source = ROOT / (module.replace(".", "/") + ".py")
        exchanged(old, new)(source.read_text(encoding="utf-8"))


@functools.cache
def prepared() -> None:
    refused = probe()
    if refused is not None:
        pytest.skip(str(refused))
    plans.compile_once()


def run_of(kind: str) -> dict[str, Any]:
    return {"run": 0, "kind": kind, "strength": KINDS[kind].strengths[1]} | {
        "link": "up",
        "plan": "steady",
    }


@pytest.mark.software
@pytest.mark.trials
@pytest.mark.timeout(TAKES_S)
@pytest.mark.parametrize("name", BLIND)
def test_a_check_that_is_switched_off_turns_the_table_red(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared()
    what = run_of(BLIND[name].kind)
    sees = integrity.one(what, True, 1, SLOW)
    assert red(sees) == "", sees
    for key, value in environment(BLIND[name].changes, tmp_path).items():
        monkeypatch.setenv(key, value)
    blind = integrity.one(what, True, 1, SLOW)
    assert red(blind), blind
