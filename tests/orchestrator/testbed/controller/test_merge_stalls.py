"""What parts of a run tell of their stalls: by one clock, with their machine, and no less."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orchestrator.engine.datapath import stall_detection as at
from orchestrator.engine.records import NEVER
from orchestrator.errors import RunFailed
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.registry import Registry
from orchestrator.targets.software.stall_log import stall_words
from orchestrator.testbed.controller.clock_correction import ClockCorrection
from orchestrator.testbed.controller.merge_stalls import FAR, OLDER, OTHER, merged_stalls
from tests.orchestrator.targets.software import short_plans

US, MS, S = 1000, 1_000_000, 10**9
"""In ns."""
START_NS = 77 * S


@dataclass
class Part:
    """What one agent hands in of it."""

    machine: str
    nodes: list[str]
    arrays: dict[str, np.ndarray]
    words: dict[str, Any]
    clock: ClockCorrection = field(default_factory=ClockCorrection)


def thread(*stalls: tuple[int, int], nodes: list[str], count: int = 0, rate_ppb: int = 0) -> Any:
    """A thread of the data path that logged these, (at, length) in ns of a clock that nobody
    holds: (at, at + length) since time 0 as it had it."""
    words = at.words(0)
    words[[at.COUNT, at.BUSY_NS, at.BUSY_WORK]] = count or len(stalls), 900, 3
    if count:
        words[[at.MOST_NS, at.MOST_PS]] = 70 * US, 60 * US * 1000
    rows = np.zeros((len(stalls) if count else 8, at.COLUMNS), np.int64)
    for row, (begun, length) in zip(rows, stalls, strict=False):
        row[[at.FROM_NS, at.TO_NS]] = START_NS + begun, START_NS + begun + length
        row[[at.FROM_PS, at.TO_PS]] = 1000 * begun, 1000 * (begun + length)
        row[[at.SPAN_NS, at.SPAN_WAITED_NS]] = length, length
    start, rate = np.array([START_NS]), np.array([rate_ppb])
    rig = SimpleNamespace(stalled=words, stalls=rows, start_ns=start, rate_ppb=rate)
    return SimpleNamespace(nodes=nodes, rig=rig)


def part(machine: str, *threads: Any, one_clock: bool = False, **clock: Any) -> Part:
    rows, words = stall_words(threads, one_clock)
    nodes = [node for one in threads for node in one.nodes]
    told = json.loads(json.dumps({"stalls": words}))
    return Part(machine, nodes, {"stalls": rows}, told, ClockCorrection(**clock))


def left(*stalls: tuple[int, int], **how: Any) -> Part:
    return part("left", thread(*stalls, nodes=["nic"]), **how)


def right(*stalls: tuple[int, int], **how: Any) -> Part:
    return part("right", thread(*stalls, nodes=["switch", "sink"]), **how)


@pytest.fixture(scope="module")
def plan() -> ResolvedPlan:
    """A QCN loop over both machines, which reacts in 378 us."""
    return Plan.load(short_plans.QCN).check(Registry.load())


def test_rows_of_all_machines_are_one_table(plan: ResolvedPlan) -> None:
    told = merged_stalls(plan, [left((5 * MS, MS)), right((7 * MS, 2 * MS))], 1.0)
    assert (told["count"], told["felt"], told["controlled"]) == (2, 2, 1)
    assert [row["machine"] for row in told["longest"]] == ["right", "left"]
    assert [row["at_s"] for row in told["longest"]] == [7e-3, 5e-3]
    assert {name: row["count"] for name, row in told["machines"].items()} == {"left": 1, "right": 1}
    assert told["machines"]["left"]["causes"].keys() == {"processes"}
    json.dumps(told)


def test_the_threads_of_a_part_keep_their_own_rows(plan: ResolvedPlan) -> None:
    both = part(
        "one",
        thread((MS, 300 * US), (9 * MS, 100 * US), nodes=["nic"]),
        thread((5 * MS, 200 * US), nodes=["switch", "sink"], count=8),
        one_clock=True,
    )
    assert [one["rows"] for one in both.words["stalls"]["threads"]] == [2, 1]
    told = merged_stalls(plan, [both], 1.0)
    assert [row["at_s"] for row in told["longest"]] == [1e-3, 5e-3, 9e-3]
    assert (told["count"], told["not_logged"]) == (3, 7)
    assert told["loops"]["switch.sink"]["longest_s"] == pytest.approx(300e-6)


def test_stalls_of_two_machines_that_come_together_are_felt_together(plan: ResolvedPlan) -> None:
    here, there = (5 * MS, 250 * US), (5 * MS + 100 * US, 250 * US)
    assert merged_stalls(plan, [left(here), right(there)], 1.0)["felt"] == 2
    assert merged_stalls(plan, [left(here), right((50 * MS, 250 * US))], 1.0)["felt"] == 0
    held = [left(here, one_clock=True), right(there, one_clock=True)]
    assert merged_stalls(plan, held, 1.0)["felt"] == 0
    one = [left(here, one_clock=True), right(there, one_clock=False)]
    assert merged_stalls(plan, one, 1.0)["felt"] == merged_stalls(plan, one[::-1], 1.0)["felt"] == 2


def test_times_are_by_the_controllers_clock(plan: ResolvedPlan) -> None:
    """Of the machine on the right it is known afterwards that it started 40 ms late: what it has at
    10 ms was at 50, together with what the other has there."""
    late = {"shift_ps": 40 * MS * 1000, "error_ns": 3 * US, "rate": 1e-4}
    told = merged_stalls(plan, [left((50 * MS, 250 * US)), right((10 * MS, 200 * US), **late)], 1.0)
    assert told["felt"] == 2
    (row,) = [row for row in told["longest"] if row["machine"] == "right"]
    assert row["at_s"] == row["run_s"] == pytest.approx(50.001e-3, rel=1e-9)
    assert row["time_s"] == pytest.approx(200e-6, rel=1e-3)


def test_in_a_slow_run_real_time_is_real(plan: ResolvedPlan) -> None:
    """At a pace of 0.1 the 4 ms of the run that it was late by are 40 ms of the machine's."""
    late = {"shift_ps": 4 * MS * 1000, "error_ns": 300}
    told = merged_stalls(plan, [right((10 * MS, 200 * US), **late)], 0.1)
    assert told["longest"][0]["at_s"] == pytest.approx(50e-3)
    assert told["longest"][0]["run_s"] == pytest.approx(14e-3)


@pytest.mark.parametrize(("error_us", "felt"), [(20, 0), (100, 2)])
def test_what_clocks_may_be_apart_is_allowed_for(plan, error_us, felt) -> None:
    """160 us lie between the two, and the round trip of the loop is 100."""
    here, there = (5 * MS, 250 * US), (5 * MS + 410 * US, 250 * US)
    off = {"error_ns": error_us * US // 2}
    assert merged_stalls(plan, [left(here, **off), right(there, **off)], 1.0)["felt"] == felt


def test_a_machine_whose_clock_runs_fast_counts_by_the_runs(plan: ResolvedPlan) -> None:
    """100 ppm, as the order to start had it."""
    fast = part("left", thread((10 * S, 10 * MS), nodes=["nic"], rate_ppb=-100_000))
    (row,) = merged_stalls(plan, [fast], 1.0)["longest"]
    assert row["at_s"] == pytest.approx(9.999, abs=1e-9)


def test_a_turn_that_began_before_the_run_is_of_it_from_time_0_on(plan: ResolvedPlan) -> None:
    """A thread has read no time when it begins its first turn."""
    early = thread((-50 * MS, 51 * MS), nodes=["nic"])
    early.rig.stalls[0, at.FROM_PS] = -NEVER
    (row,) = merged_stalls(plan, [part("left", early)], 1.0)["longest"]
    assert (row["at_s"], row["run_s"]) == (pytest.approx(-0.05), 0)
    assert (row["time_s"], row["gone_s"]) == (pytest.approx(0.051), pytest.approx(1e-3))


def test_a_part_of_an_older_version_is_said_to_tell_none(plan: ResolvedPlan) -> None:
    older = Part("right", ["switch", "sink"], {}, {})
    told = merged_stalls(plan, [left((5 * MS, MS)), older], 1.0)
    assert told["machines"]["right"] == {"untold": OLDER}
    assert told["machines"]["left"]["count"] == told["count"] == 1
    assert told["loops"]["switch.sink"]["untold"] == ["right"]
    assert merged_stalls(plan, [older], 1.0)["machines"] == {"right": {"untold": OLDER}}


def test_a_part_of_a_newer_version_is_said_to_tell_them_otherwise(plan: ResolvedPlan) -> None:
    newer = right()
    newer.words["stalls"] = {"v": 2, "heaps": []}
    told = merged_stalls(plan, [left((5 * MS, MS)), newer], 1.0)
    assert told["machines"]["right"] == {"untold": OTHER}


def set_word(key: str, value: object) -> Callable[[Part], None]:
    def spoil(one: Part) -> None:
        one.words["stalls"][key] = value

    return spoil


def set_thread(key: str, value: object) -> Callable[[Part], None]:
    def spoil(one: Part) -> None:
        one.words["stalls"]["threads"][0][key] = value

    return spoil


def set_row(column: int, value: int) -> Callable[[Part], None]:
    def spoil(one: Part) -> None:
        one.arrays["stalls"][0, column] = value

    return spoil


def set_array(array: Any) -> Callable[[Part], None]:
    def spoil(one: Part) -> None:
        one.arrays["stalls"] = np.array(array)

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        lambda one: one.words.update(stalls=7),
        lambda one: one.words.update(stalls=[]),
        lambda one: one.arrays.clear(),
        *(set_word("v", "1"), set_word("v", True), set_word("v", None)),
        *(set_word("one_clock", 1), set_word("more", 1), set_word("threads", [])),
        *(set_word("threads", [{}]), set_word("threads", [{}] * 65), set_word("threads", 7)),
        *(set_thread("nodes", ["nic"]), set_thread("nodes", []), set_thread("nodes", ["switch\n"])),
        *(set_thread("rows", 2), set_thread("rows", 0), set_thread("rows", -1)),
        *(set_thread("count", 0), set_thread("count", FAR), set_thread("count", 1.0)),
        *(set_thread("cost_ns", -1.0), set_thread("cost_ns", float("nan")), set_thread("x", 1)),
        *(
            set_thread("cost_ns", float("inf")),
            set_thread("most_ps", -1),
            set_thread("floor_ns", ""),
        ),
        *(set_row(at.FROM_NS, FAR), set_row(at.WORK, -FAR), set_row(at.TO_NS, 0)),
        set_row(at.TO_PS, 0),
        *(set_array([0]), set_array([[0] * 9]), set_array(np.zeros((1, at.COLUMNS), np.uint8))),
        set_array(np.zeros((1, at.COLUMNS + 1), np.int64)),
    ],
)
def test_what_is_none_is_refused(plan: ResolvedPlan, spoil: Callable[[Part], None]) -> None:
    spoilt = right((5 * MS, MS))
    merged_stalls(plan, [left(), spoilt], 1.0)
    before = repr((spoilt.words, spoilt.arrays))
    spoil(spoilt)
    assert repr((spoilt.words, spoilt.arrays)) != before
    with pytest.raises(RunFailed, match="agent right: what it tells of its stalls is none"):
        merged_stalls(plan, [left(), spoilt], 1.0)


def test_as_much_as_a_part_ever_logs_is_taken(plan: ResolvedPlan) -> None:
    """And no more: the log of a thread has so many rows."""
    one = right((5 * MS, MS))
    rows = np.repeat(one.arrays["stalls"], at.ROWS + 1, axis=0)
    rows[:, [at.FROM_NS, at.TO_NS]] += 2 * MS * np.arange(at.ROWS + 1)[:, None]
    rows[:, [at.FROM_PS, at.TO_PS]] += 2 * MS * 1000 * np.arange(at.ROWS + 1)[:, None]
    words = one.words["stalls"]["threads"][0]
    words |= {"rows": at.ROWS, "count": at.ROWS}
    one.arrays["stalls"] = rows[:-1]
    assert merged_stalls(plan, [one], 1.0)["count"] == at.ROWS
    words |= {"rows": at.ROWS + 1, "count": at.ROWS + 1}
    one.arrays["stalls"] = rows
    with pytest.raises(RunFailed, match="agent right"):
        merged_stalls(plan, [one], 1.0)
