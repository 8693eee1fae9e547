"""The trial of stalls: what counts as told, as another's, as missed and as false."""

from __future__ import annotations

from typing import Any

import pytest

from tests.trials.stall_table import CORE, STOP, WITHIN, Planted, buried, false, match, page
from tests.trials.stall_table import unplanted as others_of

ONE = Planted(STOP, 0.01, 1.0, 1.01)


def told(at_s: float, time_s: float, cause: str = "stopped", threads: int = 2) -> dict[str, Any]:
    return {"at_s": at_s, "time_s": time_s, "cause": cause, "threads": threads, "gone_s": 3e-5}


@pytest.mark.parametrize(
    ("stalls", "told_as", "found"),
    [
        ([told(0.999, 0.0112)], "stopped", True),
        ([], "missed", False),
        ([told(1.02, 0.01)], "missed", False),
        ([told(0.996, 0.008)], "missed", False),
        ([told(1.0, 0.01, "hypervisor")], "hypervisor", False),
        ([told(1.0, 0.01, "processes"), told(1.001, 0.006)], "stopped", True),
        ([told(0.99, 0.03, "processes")], WITHIN, False),
        ([told(0.99, 0.03)], "stopped", True),
    ],
)
def test_a_planted_stall_is_told_when_most_of_it_lies_in_one_of_its_cause(stalls, told_as, found):
    (row,) = match([ONE], stalls)
    assert (row["told_as"], row["found"]) == (told_as, found)


def test_the_other_kind_has_the_other_cause_and_fewer_threads():
    taken = Planted(CORE, 0.01, 1.0, 1.01)
    (row,) = match([taken], [told(1.0, 0.01, "processes", threads=1)])
    assert (row["found"], row["whole"]) == (True, True)
    (row,) = match([ONE], [told(1.0, 0.01, threads=1)])
    assert (row["found"], row["whole"]) == (True, False)


def test_what_nobody_planted_is_the_machines_own_or_false():
    stalls = [told(1.0, 0.01), told(2.0, 0.01), told(3.0, 0.01, "processes")]
    assert others_of([ONE], stalls) == {"stopped": 1, "processes": 1}
    assert false({"stopped": 1, "processes": 1}) == 1
    assert others_of([], []) == {}


def test_lengths_that_are_lost_in_longer_stalls_say_nothing():
    rows = match([ONE, ONE, ONE], [told(0.99, 0.03, "processes")])
    assert buried(rows) == ["stop of 10 ms: only 0 of 3 stand for themselves"]
    assert buried(match([ONE], [told(1.0, 0.01)])) == buried(match([ONE], [])) == []


def test_the_page_has_a_row_for_each_kind_and_length():
    rows = match([ONE, Planted(CORE, 0.05, 2.0, 2.05)], [told(1.0, 0.0102)])
    lines = page(rows, {"hypervisor": 2}, 3).splitlines()
    assert "| stop | 10 ms | 1 | 1 | - | 1 | 200 us |" in lines
    assert "| core | 50 ms | 1 | 0 | missed | 0 | - |" in lines
    assert lines[-1] == "3 runs; told and not planted: 2 hypervisor."
