"""Control frames come a few at a time; they are handled many at a time, which costs less."""

from __future__ import annotations

import numpy as np

ENOUGH = 1 << 13
"""Rows that are worth a call."""


class Waiting:
    """Rows of control frames, put by until there are enough of them to be worth a call."""

    def __init__(self) -> None:
        self.rows = 0
        self._columns: list[np.ndarray] = []

    def add(self, found: np.ndarray, *columns: np.ndarray) -> None:
        """Detail records of a batch, and columns of the whole batch that belong to them."""
        if not len(found):
            return
        rows, end = found["row"], self.rows + len(found)
        parts = [found, *(column[rows] for column in columns)]
        if not self._columns or end > len(self._columns[0]):
            wider = [np.empty(2 * end + ENOUGH, part.dtype) for part in parts]
            for old, new in zip(self._columns, wider, strict=False):
                new[: self.rows] = old[: self.rows]
            self._columns = wider
        for column, part in zip(self._columns, parts, strict=True):
            column[self.rows : end] = part
        self.rows = end

    def take(self) -> list[np.ndarray]:
        """Everything so far; valid until the next `add`."""
        count, self.rows = self.rows, 0
        return [column[:count] for column in self._columns]


def distinct(columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Different rows of several int64 columns, int64[k, m], and each row's index among them.

    In order of first appearance. As np.unique does it for rows, but by one number per row, which
    sorts many times faster.
    """
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    _, first, member = np.unique(mixed, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows = np.stack([column[first[order]] for column in columns], axis=1)
    return rows.astype(np.int64), np.argsort(order)[member.reshape(-1)]
