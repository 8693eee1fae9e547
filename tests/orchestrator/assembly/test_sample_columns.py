"""Of two rows of one instant the later one stays, whether its table is copied or closed up."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.assembly.sample_columns import rows_at_distinct_times
from orchestrator.live.live_session import Session
from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.registry import Registry
from orchestrator.targets.simulated import Simulated

CASES = {
    "none twice": [0, 1, 2, 3],
    "the first": [0, 0, 1, 2],
    "the last": [0, 1, 2, 2],
    "thrice": [0, 1, 1, 1, 2],
    "several apart": [0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7],
    "all": [4, 4, 4],
    "one row": [7],
    "no row": [],
}


def table(times: list[int], columns: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Row r of column c has 100 r + c."""
    values = 100 * np.arange(len(times))[:, None] + np.arange(columns)[None, :]
    return np.array(times, np.int64), np.ascontiguousarray(values)


def expected(times: list[int]) -> list[int]:
    """Rows that stay, one by one."""
    return [row for row, at in enumerate(times) if times[row + 1 : row + 2] != [at]]


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_later_row_stays(name: str, in_place: bool) -> None:
    times, values = table(CASES[name])
    before = values.copy()
    at, left = rows_at_distinct_times(times, values, in_place=in_place)
    rows = expected(CASES[name])
    assert at.tolist() == [CASES[name][row] for row in rows]
    assert left.tolist() == before[rows].tolist()
    assert np.shares_memory(left, values) == (in_place and bool(rows))
    if not in_place:
        assert (values == before).all()


@pytest.mark.parametrize("how", ["read only", "columns first"])
def test_a_table_that_cannot_be_closed_up_is_copied(how: str) -> None:
    times, values = table(CASES["several apart"])
    before = values.copy()
    if how == "read only":
        values.flags.writeable = False
    else:
        values = np.asfortranarray(values)
    _, left = rows_at_distinct_times(times, values, in_place=True)
    assert left.tolist() == before[expected(CASES["several apart"])].tolist()
    assert not np.shares_memory(left, values)
    assert (values == before).all()


def test_a_run_that_nobody_watches_has_its_samples_once() -> None:
    registry = Registry.load()
    resolved = Plan.load(registry.plans()["quickstart"], registry).check(registry)
    session = Session(resolved, "simulated")
    watched = Simulated().run(resolved, silent, session)
    times, rows = session.rows.read(0, session.rows.count())
    assert np.count_nonzero(times[1:] == times[:-1]) >= 3  # phases begin on the grid
    later = np.append(times[1:] != times[:-1], True)
    assert (rows[later] == watched.values).all()
    alone = Simulated().run(resolved, silent)
    assert alone.times_ps.tolist() == watched.times_ps.tolist() == times[later].tolist()
    assert (alone.values == watched.values).all()
    of_world = alone.values.base
    assert of_world is not None
    assert len(of_world) >= len(rows)  # it lies where it was sampled
    assert watched.values.base is None
