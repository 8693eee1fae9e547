"""A named tuple that is handed on by reference has the same fields, and the same arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orchestrator.engine.datapath.named_tuple_pointer import by_reference
from orchestrator.engine.jit import compiled


class Inner(NamedTuple):
    words: np.ndarray
    octets: np.ndarray


class Outer(NamedTuple):
    first: np.ndarray
    inner: Inner
    table: np.ndarray


def outer() -> Outer:
    return Outer(
        np.array([1], np.int64),
        Inner(np.array([10, 20], np.int64), np.arange(6, dtype=np.uint8).reshape(2, 3)),
        np.arange(8, dtype=np.int64).reshape(2, 4),
    )


@compiled
def total(held):
    """A word of every array, at places that tell them and their axes apart."""
    inner = held.inner
    found = held.first[0] + 1000 * inner.words[1] + 10**6 * np.int64(inner.octets[1, 2])
    return found + 10**8 * held.table[1, 0] + 10**10 * (held.table.shape[1] * 10 + held.first.size)


@compiled
def by_value(held):
    return total(held)


@compiled
def referred(held):
    return total(by_reference(held))


@compiled
def twice(held):
    return total(by_reference(by_reference(held)))


@compiled
def change(held):
    """Write through a reference, and through what is referred to within it."""
    held.table[0, 3] = 77
    inner = held.inner
    inner.words[0] += 5


@compiled
def changed(held):
    change(by_reference(held))


def test_every_field_is_found_where_it_is_by_value():
    expected = 1 + 20 * 1000 + 5 * 10**6 + 4 * 10**8 + 41 * 10**10
    assert by_value(outer()) == expected
    assert referred(outer()) == expected
    assert twice(outer()) == expected


def test_what_is_written_lies_in_the_arrays_themselves():
    held = outer()
    changed(held)
    assert held.table.tolist() == [[0, 1, 2, 77], [4, 5, 6, 7]]
    assert held.inner.words.tolist() == [15, 20]


def test_two_tuples_of_a_kind_are_not_mixed_up():
    one, other = outer(), outer()
    other.first[0] = 2
    answers: list[Any] = [referred(one), referred(other), referred(one)]
    assert answers[1] - answers[0] == 1
    assert answers[2] == answers[0]
