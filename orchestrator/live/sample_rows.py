"""Sample rows that can be read while a run goes on: from a world's memory or a stream."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from orchestrator.engine.node.world_arrays import World


class Rows(Protocol):
    """Rows 0 to before `count()`; they never change once they are counted."""

    def count(self) -> int:
        """Number of rows so far."""

    def read(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """(times_ps int64[n], values int64[n, columns]) of the rows from `first` to before
        `last`."""


class NoRows:
    """No rows: of a run that has not begun, or of a target without readable samples."""

    def count(self) -> int:
        """None."""
        return 0

    def read(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Nothing."""
        return np.zeros(0, np.int64), np.zeros((0, 0), np.int64)


class WorldRows:
    """Samples of a world, read from another thread: a counted row is complete."""

    def __init__(self, world: World) -> None:
        self._world = world

    def count(self) -> int:
        """The loop counts a row after it wrote it."""
        return int(self._world.clock[0].row)

    def read(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Copies, so that nothing holds the world's memory."""
        return self._world.row_times[first:last].copy(), self._world.rows[first:last].copy()


class AccumulatedRows:
    """Rows that are received from another process, held until the run is over.

    `rows` is how many there can be at most; memory is taken as they come.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self._times = np.empty(rows, np.int64)
        self._values = np.empty((rows, columns), np.int64)
        self._count = 0

    def add(self, times: np.ndarray, values: np.ndarray) -> None:
        """The next rows."""
        end = min(self._count + len(times), len(self._times))
        fits = end - self._count
        self._times[self._count : end] = times[:fits]
        self._values[self._count : end] = values[:fits]
        self._count = end

    def count(self) -> int:
        """Number of rows received."""
        return self._count

    def read(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Copies."""
        return self._times[first:last].copy(), self._values[first:last].copy()
