"""What a hunt does with what its checks say: none of them can be left out unnoticed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engine.node import event_loop
from orchestrator.errors import RunFailed
from orchestrator.fuzz import cross_target, fuzz_loop, invariant_check
from orchestrator.fuzz.fuzz_loop import Options, hunt
from orchestrator.fuzz.invariant_check import STEPS, Finding, check_table
from orchestrator.fuzz.plan_corpus import as_text, keep
from orchestrator.fuzz.python_kernel_worker import digest
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run import frame_audit, world_invariants
from orchestrator.run.verdict import INVALID
from orchestrator.targets.parallel.parallel_run import ParallelRun
from orchestrator.targets.simulated import Simulated
from tests.orchestrator.worlds import US, line_of_three, recorded

WRONG = Finding("wrong: it", "planted")


def test_a_run_is_looked_through_between_all_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong for a while only is seen as well."""
    seen: dict[str, list[int]] = {"audit": [], "invariants": []}

    def noting(of: str, as_before: Any) -> Any:
        def look_through(world: Any, *more: Any) -> Any:
            seen[of].append(int(world.clock[0].now))
            return as_before(world, *more)

        return look_through

    monkeypatch.setattr(frame_audit, "audit", noting("audit", frame_audit.audit))
    broken_in = noting("invariants", world_invariants.broken_in_world)
    monkeypatch.setattr(world_invariants, "broken_in_world", broken_in)
    table = line_of_three()
    assert check_table(table).finding is None
    for times in seen.values():
        steps = [table["duration"] * step // STEPS for step in range(1, STEPS + 1)]
        assert len(times) == STEPS >= 8
        assert all(abs(at - step) < 50 * US for at, step in zip(times, steps, strict=True))


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (RunFailed("no way on"), "failed: RunFailed"),
        (ZeroDivisionError("by 0"), "crash: ZeroDivisionError in fail"),
        (AssertionError("so"), "audit: raise error"),
    ],
)
def test_a_run_that_does_not_come_to_its_end_is_a_finding(
    error: Exception, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> int:
        raise error

    monkeypatch.setattr(event_loop, "simulate", fail)
    finding = check_table(line_of_three()).finding
    assert finding is not None
    assert finding.what == what
    assert str(error) in finding.text


def test_a_plan_with_too_many_events_is_left_at_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invariant_check, "MOST_EVENTS", 20)
    looked = check_table(line_of_three(), (lambda *_: WRONG,))
    assert (looked.finding, looked.recording) == (None, None)
    assert looked.frames > 0


def test_checks_are_asked_one_by_one_until_one_finds_something() -> None:
    asked: list[str] = []

    def check(name: str, says: Finding | None) -> invariant_check.Check:
        def ask(*_: Any) -> Finding | None:
            asked.append(name)
            return says

        return ask

    checks = (check("a", None), check("b", WRONG), check("c", None))
    assert check_table(line_of_three(), checks).finding == WRONG
    assert asked == ["a", "b"]


def counted(value: int) -> Recording:
    """A recording of a plan that counts so many of everything at its end."""
    table = line_of_three()
    table["nodes"]["switch"] |= {"congestion_point": {"plugin": "codel", "ecn": True}}
    recording = recorded(table)
    for column in recording.columns:
        if column.quantity in cross_target.COUNTED:
            recording.column(column.entity, column.quantity)[-1] = value
    return recording


@pytest.mark.parametrize("quantity", cross_target.COUNTED)
@pytest.mark.parametrize(
    ("there", "told"), [(81, True), (82, False), (100, False), (128, False), (129, True)]
)
def test_a_count_may_be_off_by_what_seeds_are_a_share_and_some_frames(
    quantity: str, there: int, told: bool
) -> None:
    """Seeds have 100 to 110: by (110 - 100) + 5 % of 110 + 3 beyond them."""
    seeds = [counted(100), counted(110), counted(104)]
    recording = counted(104)
    column = next(c for c in recording.columns if c.quantity == quantity)
    recording.column(column.entity, quantity)[-1] = there
    finding = cross_target.beyond_seeds("there", recording, seeds)
    assert (finding is not None) == told
    if finding is not None:
        assert f"{column.entity} {quantity} is {there}" in finding.text


def test_two_cores_that_count_something_else_are_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    as_before = ParallelRun.run

    def run(self: ParallelRun, report: Any) -> None:
        as_before(self, report)
        world = self.assemblies[1].world
        world.rows[int(world.clock[0].row) - 1] += 1

    table = line_of_three()
    table["links"]["up"]["delay"] = 10**6
    assert check_table(table, (cross_target.CoreComparison(),)).finding is None
    monkeypatch.setattr(ParallelRun, "run", run)
    finding = check_table(table, (cross_target.CoreComparison(),)).finding
    assert finding is not None
    assert finding.what == "differs: two cores"


def test_more_samples_or_fewer_differ() -> None:
    one = recorded(line_of_three())
    other = replace(one, values=one.values[:-1], times_ps=one.times_ps[:-1])
    finding = cross_target.unequal("two cores", one, other)
    assert finding is not None
    assert "samples" in finding.text


def test_a_digest_is_of_every_value_and_every_time() -> None:
    found = set()
    for spoiled in ("nothing", "value", "time"):
        recording = recorded(line_of_three())
        if spoiled == "value":
            recording.values[0, 0] += 1
        if spoiled == "time":
            recording.times_ps[-1] += 1
        found.add(digest(recording))
    assert len(found) == 3


class Halved(Simulated):
    """A target that counts half, on a machine that distorts its runs or not."""

    name = "halved"

    def __init__(self, verdict: str) -> None:
        super().__init__()
        self._verdict = verdict

    def run(self, resolved: Any, progress: Any, session: Any = None) -> Recording:
        """As `simulated`, and then something else."""
        recording = super().run(resolved, progress)
        recording.values //= 2
        recording.fidelity = {"verdict": self._verdict}
        return recording


@pytest.mark.parametrize("why", ["not understood", "frames not understood", "overrun"])
def test_frames_that_a_target_does_not_understand_are_no_fault_of_its_machine(
    why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Deaf(Halved):
        def run(self, resolved: Any, progress: Any, session: Any = None) -> Recording:
            recording = super().run(resolved, progress)
            recording.fidelity = {"verdict": INVALID, "lost_outside_queues": {"unsent": 0, why: 7}}
            return recording

    targets = [*Registry.load().targets, Deaf(INVALID)]
    monkeypatch.setattr(Registry.load(), "targets", targets)
    finding = check_table(line_of_three(), (cross_target.OtherTarget("halved"),)).finding
    assert (finding is not None) == (why != "overrun")
    if finding is not None:
        assert finding.what == "not understood: halved"
        assert "7 frames" in finding.text


@pytest.mark.parametrize(("verdict", "told"), [("valid", True), (INVALID, False)])
def test_a_run_that_its_machine_distorted_says_nothing(
    verdict: str, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = [*Registry.load().targets, Halved(verdict)]
    monkeypatch.setattr(Registry.load(), "targets", targets)
    there = cross_target.OtherTarget("halved")
    finding = check_table(line_of_three(), (there,)).finding
    assert (finding is not None) == told
    assert (there.compared, there.distorted, there.refused) == (int(told), int(not told), 0)
    if finding is not None:
        assert finding.what == "differs: halved"


def test_a_fault_is_told_once_and_others_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans of the corpus as well; `most` ends it."""
    monkeypatch.setattr(fuzz_loop, "minimized", lambda table, *_, **__: table)
    monkeypatch.setattr(fuzz_loop, "SHRINKING_S", 0.0)
    for name in ("one", "two"):
        keep(tmp_path, name, as_text(line_of_three(name=name)))
    rounds = iter(range(10**6))

    def check(resolved: Any, recording: Any) -> Finding | None:
        return WRONG if next(rounds) < 60 else Finding("wrong: more", "planted")

    done = hunt(Options(plans=10**6, seed=1, most=2, corpus=tmp_path), (check,))
    assert [one.finding.what for one in done.found] == ["wrong: it", "wrong: more"]
    assert done.replayed == 2
    assert done.found[0].path is not None
    assert done.found[0].path.parent == tmp_path
