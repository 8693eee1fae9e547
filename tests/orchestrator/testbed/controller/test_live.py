"""Rows of several machines: whole ones, in order, and nothing that does not belong."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.testbed.agent.protocol import Rows
from orchestrator.testbed.controller.live import AcrossRows


def sent(first: int, values: list[list[int]], owned: list[int]) -> tuple[Rows, bytes]:
    """What an agent sends of rows `first` and following; times are 10 per row."""
    count = len(values)
    times = [10 * (first + n) for n in range(count)]
    words = np.array([*times, *(v for row in values for v in row)], "<i8")
    columns = len(values[0])
    return Rows(first=first, count=count, columns=columns, owned=[owned]), words.tobytes()


def test_a_row_is_there_when_every_machine_has_sent_its_part():
    rows = AcrossRows(4, 3, ["a", "b"])
    rows.add("a", *sent(0, [[1, 0, 0], [2, 0, 0]], [0]))
    assert rows.count() == 0
    rows.add("b", *sent(0, [[0, 5, 6]], [1, 2]))
    assert rows.count() == 1
    times, values = rows.read(0, 1)
    assert times.tolist() == [0]
    assert values.tolist() == [[1, 5, 6]]
    rows.add("b", *sent(1, [[0, 7, 8]], [1, 2]))
    assert rows.read(1, 2)[1].tolist() == [[2, 7, 8]]


@pytest.mark.parametrize(
    ("first", "owned", "cut"),
    [(-1, [0], 0), (4, [0], 0), (0, [3], 0), (0, [-1], 0), (0, [0], 8), (0, [0], 7)],
)
def test_what_does_not_fit_the_plan_is_left_out(first: int, owned: list[int], cut: int):
    rows = AcrossRows(4, 3, ["a"])
    told, octets = sent(max(first, 0), [[1, 2, 3]], owned)
    told = told.model_copy(update={"first": first})
    rows.add("a", told, octets[: len(octets) - cut])
    assert rows.count() == 0
    assert not rows.read(0, 4)[1].any()
