"""Drawn edits of captures are found and named by the rule that a reader names."""

from __future__ import annotations

import pytest

from tests.traces.oracle.drawn_edits import OPERATORS
from tests.trials.oracle_edits import Judged, judged

SEEDS = tuple(range(700_018, 700_036))
"""One for each scheme."""
MANY = 100


@pytest.mark.parametrize("seed", SEEDS)
def test_a_drawn_edit_is_found_and_named(seed: int) -> None:
    row = judged(seed)
    assert row.is_found, row
    assert row.is_named, row


@pytest.mark.trials
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [101, 102])
def test_a_hundred_drawn_edits(seed: int) -> None:
    rows: list[Judged] = [judged(seed * 10_000 + number) for number in range(MANY)]
    assert sum(row.is_found for row in rows) >= 0.98 * MANY
    assert sum(row.is_named for row in rows) >= 0.9 * MANY
    drawn = {row.operator for row in rows}
    assert drawn == set(OPERATORS)
