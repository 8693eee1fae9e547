"""Workers get points of the subject that they have laid out, as far as one looks ahead."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.batch.experiment import Experiment, Point
from orchestrator.batch.process_pool import ProcessPool


def numbered(subjects: str) -> list[tuple[int, Point]]:
    """A point for each letter, which is its subject."""
    made = {name: Experiment(name, "simulated", {}, name) for name in subjects}
    return [(at, Point(made[name], at)) for at, name in enumerate(subjects)]


def given(subjects: str, workers: Sequence[str], asker: int, look_ahead: int) -> tuple[Any, int]:
    """What the worker `asker` of those with these subjects gets, and how many were taken."""
    crew = ProcessPool(len(workers), lambda text: None, look_ahead)
    crew._workers += [SimpleNamespace(subject=name) for name in workers]  # type: ignore[misc]
    waiting, looked_at = iter(numbered(subjects)), list[tuple[int, Point]]()
    worker = crew._workers[asker] if asker >= 0 else None
    got = crew._best(worker, looked_at, waiting)
    taken = len(subjects) - len(list(waiting))
    assert len(looked_at) == taken - (got is not None), "nothing is lost"
    return None if got is None else got[0], taken


@pytest.mark.parametrize(
    ("subjects", "workers", "asker", "look_ahead", "at", "taken"),
    [
        ("aabb", "ab", 0, 64, 0, 1),
        ("aabb", "ab", 1, 64, 2, 3),  # its own, beyond those of the other
        ("aabb", "ab", 1, 2, 0, 2),  # not so far ahead
        ("aabb", "ab", 1, 1, 0, 1),
        ("aacc", "ab", 1, 64, 2, 3),  # what nobody has
        ("aaaa", "ab", 1, 64, 0, 4),  # nothing else is left: it helps
        ("aabb", "a", -1, 64, 2, 3),  # a new one
        ("aabb", "", -1, 64, 0, 1),
        ("", "ab", 0, 64, None, 0),
    ],
)
def test_which_point_is_given(
    subjects: str, workers: str, asker: int, look_ahead: int, at: int | None, taken: int
) -> None:
    assert given(subjects, workers, asker, look_ahead) == (at, taken)


@pytest.mark.parametrize("look_ahead", [1, 3, 64])
def test_each_point_is_given_once(look_ahead: int) -> None:
    crew = ProcessPool(2, lambda text: None, look_ahead)
    workers = [SimpleNamespace(subject=""), SimpleNamespace(subject="")]
    crew._workers += workers  # type: ignore[arg-type]
    every = numbered("aaabbbcccabc")
    waiting, looked_at, found = iter(every), list[tuple[int, Point]](), []
    for turn in range(len(every)):
        worker = workers[turn % 2]
        work = crew._best(worker, looked_at, waiting)  # type: ignore[arg-type]
        assert work is not None
        worker.subject = work[1].subject.digest
        found.append(work[0])
    assert sorted(found) == list(range(len(every)))
    assert crew._best(workers[0], looked_at, waiting) is None  # type: ignore[arg-type]
    assert not list(islice(waiting, 1))
