"""Statistics of messages at the edges: of phases, of size classes, of what is not completed."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.recording import MessageTable
from traces.metrics.completion_times import completions

S = 10**12


def table(sizes: list[int], start: list[int], took: list[int | None]) -> MessageTable:
    """Messages of one entry; times in seconds, ideal ones a second. None: not completed."""
    begun = np.array(start) * S
    done = [-1 if t is None else int(b) + t * S for b, t in zip(begun, took, strict=True)]
    return MessageTable(
        flows=[("m", "m")],
        flow=np.zeros(len(sizes), np.int64),
        start_ps=begun,
        size=np.array(sizes),
        done_ps=np.array(done),
        ideal_ps=np.full(len(sizes), S),
    )


def test_size_classes_have_their_largest_message() -> None:
    sizes = [100_000, 100_001, 10_000_000, 10_000_001]
    found = completions(table(sizes, [0] * 4, [1, 3, 5, 7]), (0, S))["m"]
    assert found["fct_s.small.mean"] == 1
    assert found["fct_s.medium.mean"] == 4
    assert found["fct_s.large.mean"] == 7
    assert found["slowdown.mean"] == 4


def test_entries_are_told_apart_and_together() -> None:
    messages = table([1] * 3, [0] * 3, [1, 2, 6])
    messages.flows.append(("n", "n"))
    messages.flow[2] = 1
    found = completions(messages, (0, S))
    counted = {name: (one["messages.started"], one["fct_s.mean"]) for name, one in found.items()}
    assert counted == {"m": (2, 1.5), "n": (1, 6), "traffic": (3, 3)}


def test_a_phase_has_what_begins_at_its_first_instant_and_not_at_its_last() -> None:
    found = completions(table([1] * 4, [0, 1, 2, 3], [1, 2, 3, 4]), (1 * S, 3 * S))["m"]
    assert (found["messages.started"], found["fct_s.mean"]) == (2, 2.5)


def test_what_is_not_completed_has_no_time() -> None:
    messages = table([1, 1], [0, 0], [2, None])
    found = completions(messages, (0, S))["m"]
    assert (found["messages.started"], found["messages.completed"]) == (2, 1)
    assert found["fct_s.mean"] == 2
    none = completions(table([1], [0], [None]), (0, S))["m"]
    assert none["fct_s.mean"] is None
    assert none["fct_s.p99"] is None
    assert "fct_s.small.mean" not in none


def test_a_message_that_is_done_when_time_begins_is_done() -> None:
    assert completions(table([1], [0], [0]), (0, S))["m"]["messages.completed"] == 1


@pytest.mark.parametrize(("name", "value"), [("p50", 50), ("p95", 95), ("p99", 99)])
def test_percentiles(name: str, value: int) -> None:
    took = list(range(1, 101))
    found = completions(table([1] * 100, [0] * 100, took), (0, S))["m"]  # type: ignore[arg-type]
    assert found[f"fct_s.{name}"] == value
    assert found[f"slowdown.small.{name}"] == value
