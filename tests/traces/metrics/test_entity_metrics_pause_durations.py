"""The longest time held: a run of samples in a row over which the counter grew."""

from __future__ import annotations

import pytest

from tests.traces.metrics.made import ENTITY, MS, table_of
from traces.metrics.entity_metrics import longest_pause_s


def longest(grown: list[int], begin: int, end: int) -> float:
    """`grown`: by how many ps the counter of time held grew from each sample to the next."""
    held = [100]
    for step in grown:
        held.append(held[-1] + step)
    return longest_pause_s(table_of(paused_ps=held).window(begin * MS, end * MS), ENTITY)


@pytest.mark.parametrize(
    ("grown", "most"),
    [
        ([0, 0, 0, 0], 0),
        ([0, 5, 0, 0], 5),
        ([0, 5, 3, 0], 8),
        ([4, 0, 0, 3], 4),
        ([3, 0, 0, 4], 4),
        ([3, 0, 2, 2], 4),
        ([1, 0, 1, 0], 1),
        ([9, 9, 9, 9], 36),
    ],
)
def test_the_longest_run_of_samples(grown: list[int], most: int) -> None:
    assert longest(grown, 0, 4) == most / 10**12


def test_a_phase_has_its_own_part_of_a_pause() -> None:
    grown = [2, 2, 2, 0, 1, 0, 7, 7]
    assert longest(grown, 1, 6) == 4e-12
    assert longest(grown, 3, 6) == 1e-12
    assert longest(grown, 3, 4) == 0
