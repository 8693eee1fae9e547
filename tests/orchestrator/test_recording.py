"""Columns of a recording, and completion times of its messages."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.recording import (
    KNOWN,
    Column,
    Event,
    MessageTable,
    MissingColumn,
    Recording,
)


def recording(columns: list[Column], values: list[list[int]]) -> Recording:
    none = np.zeros(0, np.int64)
    return Recording(
        "simulated",
        np.arange(len(values), dtype=np.int64),
        columns,
        np.array(values, np.int64),
        {},
        none,
        none,
        [],
        [],
        0,
        0,
        0.0,
        0.0,
    )


def test_a_column_is_found_by_its_entity_and_its_quantity() -> None:
    columns = [
        Column("s", "s.a", "queue", "B", "gauge"),
        Column("s", "s.b", "queue", "B", "gauge"),
        Column("s", "s.b", "sent", "1", "counter"),
    ]
    seen = recording(columns, [[1, 2, 3], [4, 5, 6]])
    assert seen.column("s.a", "queue").tolist() == [1, 4]
    assert seen.column("s.b", "queue").tolist() == [2, 5]
    assert seen.column("s.b", "sent").tolist() == [3, 6]


@pytest.mark.parametrize(("entity", "quantity"), [("s.a", "sent"), ("s.c", "queue"), ("", "")])
def test_a_column_that_was_not_sampled_is_named(entity: str, quantity: str) -> None:
    seen = recording([Column("s", "s.a", "queue", "B", "gauge")], [[1]])
    with pytest.raises(MissingColumn) as caught:
        seen.column(entity, quantity)
    assert (caught.value.entity, caught.value.quantity) == (entity, quantity)
    assert caught.value.args == (f"{entity} has no sampled {quantity}",)
    assert isinstance(caught.value, KeyError)


def messages(start: list[int], done: list[int], ideal: list[int]) -> MessageTable:
    rows = len(start)
    return MessageTable(
        [("gen.0", "gen")],
        np.zeros(rows, np.int64),
        np.array(start, np.int64),
        np.full(rows, 1000, np.int64),
        np.array(done, np.int64),
        np.array(ideal, np.int64),
    )


def test_completion_times_are_in_seconds_and_those_of_completed_messages_alone() -> None:
    """A message may complete at the instant 0 of the run; -1 says that it did not."""
    table = messages(
        [0, 10**12, 5 * 10**11, 0], [0, 3 * 10**12, -1, 250_000_000], [10**12, 10**12, 7, 10**6]
    )
    found = table.fct_s()
    assert found[[0, 1, 3]].tolist() == [0.0, 2.0, 0.00025]
    assert np.isnan(found).tolist() == [False, False, True, False]
    slower = table.slowdown()
    assert slower[[0, 1, 3]].tolist() == pytest.approx([0.0, 2.0, 250.0])
    assert np.isnan(slower).tolist() == [False, False, True, False]


def test_a_recording_without_a_machine_has_no_fidelity_and_nothing_lost() -> None:
    seen = recording([], [])
    assert (seen.vanished, seen.apart_ps) == (0, 0)
    assert (seen.fidelity, seen.offloads, seen.datapath, seen.messages) == (None,) * 4
    assert (seen.programs, seen.on, seen.changes, seen.facing, seen.marking) == ([], {}, {}, {}, {})
    assert seen.cards is None


def test_gauges_of_limiters_have_a_value_while_their_flow_is_active() -> None:
    assert KNOWN["current_rate"] == KNOWN["target_rate"] == "active"
    assert (KNOWN["window_bytes"], KNOWN["rtt_ps"]) == ("window_bytes", "rtt_ps")
    assert Column("n", "e", "q", "B", "gauge").known == ""
    assert Event(3, "stopped", "run").detail == {}
