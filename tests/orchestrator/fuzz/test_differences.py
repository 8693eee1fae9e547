"""A target that does one thing otherwise is found out, by a plan of a few frames."""

from __future__ import annotations

import pytest

from orchestrator.fuzz.cross_target import OtherTarget
from orchestrator.fuzz.fuzz_loop import Options, hunt
from orchestrator.fuzz.invariant_check import InvalidPlan, Table, check_table
from orchestrator.fuzz.plan_minimizer import minimized
from orchestrator.registry import Registry
from tests.orchestrator.fuzz.differing import DIFFERENCES, Differing
from tests.orchestrator.worlds import ALIGNED

MOST_FRAMES = 20
CHECKS = (OtherTarget("differing"),)


def plant(monkeypatch: pytest.MonkeyPatch, difference: str) -> None:
    targets = [*Registry.load().targets, Differing(DIFFERENCES[difference])]
    monkeypatch.setattr(Registry.load(), "targets", targets)


def frames(table: Table) -> int | None:
    """Of a plan that shows a difference."""
    try:
        looked = check_table(table, CHECKS)
    except InvalidPlan:
        return None
    return None if looked.finding is None else looked.frames


@pytest.mark.parametrize(
    ("link", "rate", "frame", "begins"),
    [(10**10, 10**9, 9216, 10), (10**9, 6 * 10**8, 1500, 32), (10**9, 6 * 10**8, 70, 644)],
    ids=["few at first", "a link that is full", "short frames"],
)
def test_what_hides_behind_a_full_link_shrinks_too(
    link: int, rate: int, frame: int, begins: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two flows of an entry; a smaller plan with a full link once took 42 frames for 10."""
    plant(monkeypatch, "flows_not_doubled")
    ends = {"l0": ("h1", "s1"), "l1": ("s1", "d")}
    table: Table = {
        "name": "hunted",
        "duration": 300 * 10**6,
        "sample_interval": 20 * 10**6,
        "nodes": {"h1": {"kind": "nic"}, "s1": {"kind": "switch"}, "d": {"kind": "sink"}},
        "links": {name: {"ends": list(pair), "rate": link} for name, pair in ends.items()},
        "traffic": {
            "t0": {
                "from": "h1", "to": "d", "plugin": "cbr", "flows": 2, "rate": rate, "frame": frame
            }
        },
    } | ALIGNED  # fmt: skip
    assert frames(table) == begins
    small = minimized(table, frames, algorithms=tuple(Registry.load().algorithms))
    few = frames(small)
    assert few is not None
    assert few <= MOST_FRAMES, small
    assert set(small["nodes"]) == {"h1", "d"}


@pytest.mark.trials
@pytest.mark.timeout(900)
@pytest.mark.parametrize("difference", sorted(DIFFERENCES))
def test_a_planted_difference_is_found_and_made_small(
    difference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, difference)
    done = hunt(Options(plans=1000, seed=1, most=1), CHECKS)
    (found,) = done.found
    print(f"{difference}: {done.plans} plans, {done.seconds:.0f} s, {found.frames} frames")
    assert found.finding.what == "differs: differing"
    assert found.frames <= MOST_FRAMES, found.text


@pytest.mark.trials
@pytest.mark.timeout(900)
def test_a_target_that_does_the_same_is_not_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    same = Differing(lambda plan: plan.update(title="the same by another name"))
    monkeypatch.setattr(Registry.load(), "targets", [*Registry.load().targets, same])
    assert hunt(Options(plans=200, seed=2), CHECKS).found == []
