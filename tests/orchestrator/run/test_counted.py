"""Notes of counters that should stay at 0: one for each entity that has counted any."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orchestrator.run.counted import counted_notes, plugin_notes


def observed(name: str, note: str) -> Any:
    return SimpleNamespace(metric=lambda plugin: f"{plugin}.{name}", note=note)


def notes(values: list[list[int]]) -> list[str]:
    algorithm = SimpleNamespace(
        name="cp", columns=(observed("lost", "messages were lost"), observed("seen", ""))
    )
    plain = SimpleNamespace(name="other")
    uses = {
        "congestion_point": {"s.a": SimpleNamespace(algorithm=algorithm)},
        "traffic": {"gen": SimpleNamespace(algorithm=plain)},
    }
    columns = [
        SimpleNamespace(metric=metric, entity=entity)
        for metric, entity in (
            ("cp.lost", "s.a"),
            ("cp.seen", "s.a"),
            ("cp.lost", "s.b"),
            ("", "s.a"),
        )
    ]
    resolved: Any = SimpleNamespace(uses=uses)
    recording: Any = SimpleNamespace(
        times_ps=np.arange(len(values)), columns=columns, values=np.array(values)
    )
    return list(counted_notes(resolved, recording))


def test_the_last_sample_counts() -> None:
    assert notes([[0, 0, 0, 0], [3, 5, 0, 7]]) == ["s.a: 3 messages were lost"]
    assert notes([[9, 0, 9, 0], [1, 5, 2, 7]]) == [
        "s.a: 1 messages were lost",
        "s.b: 2 messages were lost",
    ]


def test_counters_at_0_and_runs_without_samples_have_no_note() -> None:
    assert notes([[4, 4, 4, 4], [0, 5, 0, 7]]) == []
    assert notes([]) == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (["one", "two"], ["one", "two"]),
        ([], []),
        ("abc", ["its notes() failed: TypeError: 'abc' is no list of texts"]),
        ([3], ["its notes() failed: TypeError: [3] is no list of texts"]),
        (None, ["its notes() failed: TypeError: 'NoneType' object is not iterable"]),
        (ValueError("odd"), ["its notes() failed: ValueError: odd"]),
    ],
)
def test_algorithms_of_all_kinds_have_notes_each_once(answer: Any, expected: list[str]) -> None:
    def given() -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    use = SimpleNamespace(algorithm=SimpleNamespace(name="cp"), params=SimpleNamespace(notes=given))
    uses = {"congestion_point": {"s.a": use, "s.b": use}, "traffic": {"gen": use}}
    resolved: Any = SimpleNamespace(uses=uses)
    assert plugin_notes(resolved) == [
        f"{one}: {text}" for one in ("cp", "gen") for text in expected
    ]
