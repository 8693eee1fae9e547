"""Batching of control frames: records are collected and handled many at a time."""

from __future__ import annotations

import numpy as np

ENOUGH = 1 << 13
"""Rows that are worth a call."""


class ControlBatch:
    """Control-frame records, buffered until there are enough of them to be worth a call."""

    def __init__(self, kind: np.dtype) -> None:
        self.count = 0
        self._records = np.empty(2 * ENOUGH, kind)

    def add(self, found: np.ndarray) -> None:
        """Records of a batch."""
        end = self.count + len(found)
        if end > len(self._records):
            wider = np.empty(2 * end, self._records.dtype)
            wider[: self.count] = self._records[: self.count]
            self._records = wider
        # as words, because numpy copies records field by field
        words, new = self._records.view(np.int64), found.view(np.int64)
        width = len(words) // len(self._records)
        words[self.count * width : end * width] = new
        self.count = end

    def take(self) -> np.ndarray:
        """All buffered records; valid until the next `add`."""
        count, self.count = self.count, 0
        return self._records[:count]


def distinct_rows(columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
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
