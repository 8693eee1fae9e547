"""Which rows a phase has, and what counters and rates come to within it."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.recording import Column
from tests.traces.metrics.made import ENTITY, MS, table_of
from traces.metrics.sample_table import Table, grid_rows


def rows_of(times: list[int], *boundaries: int) -> list[bool]:
    kept: list[bool] = grid_rows(np.array(times), boundaries).tolist()
    return kept


def test_a_row_on_a_boundary_counts_only_where_the_grid_has_one() -> None:
    assert rows_of([0, 10, 13, 20, 30, 40], 13) == [True, True, False, True, True, True]
    assert rows_of([0, 10, 20, 30, 40], 20) == [True] * 5
    assert rows_of([3, 13, 18, 23, 33, 43], 18, 23) == [True, True, False, True, True, True]
    assert rows_of([0, 3, 10, 20, 30, 40, 50], 3) == [True, False, *[True] * 5]
    assert rows_of([0, 1, 2, 3], 1) == [True] * 4


def test_three_rows_have_a_grid_and_two_do_not() -> None:
    assert rows_of([0, 10, 13], 13) == [True, True, False]
    assert rows_of([0, 13], 13) == [True, True]


def test_rows_of_the_same_instant_are_no_interval() -> None:
    """Their distance is 0, and nothing lies between multiples of nothing."""
    assert rows_of([4, 4, 4], 5) == [True] * 3


def test_a_phase_ends_before_its_last_instant() -> None:
    table = table_of(count=[0, 3, 5, 11, 19])
    window = table.window(1 * MS, 3 * MS)
    assert (window.first, window.last, window.grid.tolist()) == (1, 3, [1, 2])
    assert window.gauge(ENTITY, "count").tolist() == [3, 5]
    assert window.count(ENTITY, "count") == 8
    assert window.seconds == 2e-3


def test_a_phase_between_rows_begins_with_the_next_one() -> None:
    window = table_of(count=[0, 3, 5, 11, 19]).window(MS // 2, 3 * MS + 1)
    assert (window.first, window.last, window.grid.tolist()) == (1, 4, [1, 2, 3])


def test_a_phase_beyond_the_end_has_the_last_row_and_no_samples() -> None:
    window = table_of(count=[0, 3, 5]).window(9 * MS, 12 * MS)
    assert (window.first, window.last, window.grid.tolist()) == (2, 2, [])
    assert (window.count(ENTITY, "count"), window.seconds) == (0, 0)
    assert window.gauge(ENTITY, "count").tolist() == []


def test_samples_that_boundaries_interrupt_leave_those_out() -> None:
    times = [0, MS, MS + 7, 2 * MS, 3 * MS]
    table = table_of([MS + 7], times, level=[1, 2, 99, 3, 4])
    assert table.window(0, 3 * MS).gauge(ENTITY, "level").tolist() == [1, 2, 3]
    assert table.window(0, MS + 8).gauge(ENTITY, "level").tolist() == [1, 2]
    assert table.window(2 * MS, 3 * MS).gauge(ENTITY, "level").tolist() == [3]


def test_samples_in_a_row_are_not_copied() -> None:
    times = [0, MS, MS + 7, 2 * MS, 3 * MS, 4 * MS]
    table = table_of([MS + 7], times, level=[1, 2, 99, 3, 4, 5])
    whole = table.column(ENTITY, "level")
    for window, shared in (
        (table.window(2 * MS, 4 * MS), True),
        (table.window(0, MS), True),
        (table.window(0, 3 * MS), False),
    ):
        assert np.shares_memory(window.gauge(ENTITY, "level"), whole) is shared


def test_a_rate_holds_until_the_next_row() -> None:
    """8 Gb/s for 1 ms and 2 Gb/s for 3 ms; the rate at the end is the next phase's."""
    table = table_of((), [0, 1 * MS, 4 * MS, 5 * MS], rate=[8 * 10**9, 2 * 10**9, 10**12, 1])
    assert table.window(0, 4 * MS).bits(ENTITY, "rate") == pytest.approx(14e6)
    assert table.window(1 * MS, 4 * MS).bits(ENTITY, "rate") == pytest.approx(6e6)


def test_entities_are_found_by_all_of_their_quantities_in_order() -> None:
    columns = [
        Column("n", "b", "in", "", "counter"),
        Column("n", "a", "in", "", "counter"),
        Column("n", "b", "out", "", "counter"),
        Column("n", "c", "depth", "", "gauge", "plugin.depth"),
    ]
    table = Table(np.arange(2) * MS, columns, np.array([[1, 2, 3, 4], [5, 7, 9, 11]]))
    assert list(table.entities("in")) == ["b", "a"]
    assert list(table.entities("in")) == ["b", "a"], "asked again"
    assert list(table.entities("in", "out")) == ["b"]
    assert (table.has("b", "out"), table.has("a", "out"), table.has("z", "in")) == (
        *(True, False, False),
    )
    assert table.column("b", "out").tolist() == [3, 9]
    assert table.between("a", "in", 0, 1) == 5
    assert list(table.brought) == [("c", "plugin.depth")]
    with pytest.raises(KeyError):
        table.column("a", "out")


def test_how_far_a_counter_moved_is_of_the_rows_that_are_asked_for() -> None:
    table = Table(
        np.array([0, 1, 2]),
        [Column("s", "s.p", "frames_in", "frames", "counter")],
        np.array([[1], [10], [100]]),
    )
    for _ in range(2):
        assert table.between("s.p", "frames_in", 1, 2) == 90
        assert table.between("s.p", "frames_in", 0, 2) == 99
        assert table.between("s.p", "frames_in", 0, 1) == 9
