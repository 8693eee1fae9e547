"""Sample table by entity and quantity, and its windows by phase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orchestrator.recording import KNOWN, Column, MissingColumn

RUN_PHASE = "run"
"""The phase that every run has, from its first sample to its last."""
PS = 10**12


class Table:
    """The sampled columns, found by entity and quantity.

    `times_ps` int64[n], `values` int64[n, m]. Rows lie on a grid (every multiple of the sampling
    interval) and, in between, on phase boundaries; `on_grid` bool[n] tells which is which.
    """

    def __init__(
        self,
        times_ps: np.ndarray,
        columns: Sequence[Column],
        values: np.ndarray,
        boundaries_ps: Sequence[int] = (),
        changes: Mapping[str, Mapping[str, Sequence[tuple[int, int]]]] | None = None,
    ) -> None:
        self.times_ps, self.values = times_ps, values
        self._index: dict[str, dict[str, int]] = {}
        self._columns: dict[int, np.ndarray] = {}
        self._entities: dict[tuple[str, ...], list[str]] = {}
        for position, column in enumerate(columns):
            self._index.setdefault(column.entity, {})[column.quantity] = position
        self._known = {(one.entity, one.quantity): one.known for one in columns if one.known}
        self.brought = {(one.entity, one.metric): one for one in columns if one.metric}
        """State columns of algorithms, by entity and name of the metrics."""
        self.on_grid = grid_rows(times_ps, boundaries_ps)
        self.changes = changes or {}
        """Entity -> gauge -> (ps, new value): what a timeline set, and when."""
        self._moved: dict[tuple[int, int], list[int]] = {}

    def entities(self, *quantities: str) -> Iterator[str]:
        """Entities that have all of `quantities`, in the order of the columns."""
        found = self._entities.get(quantities)
        if found is None:  # every phase asks again
            wanted = set(quantities)
            found = [entity for entity, of in self._index.items() if wanted <= of.keys()]
            self._entities[quantities] = found
        return iter(found)

    def has(self, entity: str, quantity: str) -> bool:
        """Was this quantity sampled?"""
        return quantity in self._index.get(entity, {})

    def column(self, entity: str, quantity: str) -> np.ndarray:
        """All samples of one quantity, int64[n]. Raises MissingColumn when it was not sampled."""
        index = self._column_index(entity, quantity)
        found = self._columns.get(index)
        if found is None:  # one walk over a table of rows, instead of one for every phase
            found = self._columns[index] = np.ascontiguousarray(self.values[:, index])
        return found

    def validity(self, entity: str, quantity: str) -> np.ndarray | None:
        """Mask of the samples of a gauge that have a value, bool[n]; None: all of them have."""
        by = self._known.get((entity, quantity), "") or KNOWN.get(quantity, "")
        return self.column(entity, by) != 0 if by and self.has(entity, by) else None

    def drawn(self, entity: str, quantity: str, values: np.ndarray) -> np.ndarray:
        """Samples of a gauge, float64[n], with NaN where it has no value: a gap in a curve."""
        known = self.validity(entity, quantity)
        return values if known is None else np.where(known, values, np.nan)

    def between(self, entity: str, quantity: str, first: int, last: int) -> int:
        """Increment of a counter between two rows."""
        return self._between(first, last)[self._column_index(entity, quantity)]

    def _column_index(self, entity: str, quantity: str) -> int:
        try:
            return self._index[entity][quantity]
        except KeyError:
            raise MissingColumn(entity, quantity) from None

    def _between(self, first: int, last: int) -> list[int]:
        """Increments of all columns at once: a phase needs hundreds."""
        found = self._moved.get((first, last))
        if found is None:
            found = self._moved[first, last] = (self.values[last] - self.values[first]).tolist()
        return found

    def window(self, from_ps: int, to_ps: int) -> Window:
        """The rows of the half-open phase [from_ps, to_ps)."""
        times = self.times_ps
        first, last = (int(row) for row in np.searchsorted(times, [from_ps, to_ps]))
        rows = np.arange(first, last)
        return Window(
            table=self,
            first=min(first, len(times) - 1),
            last=min(last, len(times) - 1),
            grid=rows[self.on_grid[first:last]],
        )


@dataclass(frozen=True)
class Window:
    """One phase of a table.

    Counters are differenced between the rows `first` and `last` (the first at or after either
    boundary); gauges are read at the rows `grid`, which are equally spaced.
    """

    table: Table
    first: int
    last: int
    grid: np.ndarray

    @property
    def seconds(self) -> float:
        """The time between the rows that counters are differenced over."""
        times = self.table.times_ps
        return int(times[self.last] - times[self.first]) / PS

    def count(self, entity: str, quantity: str) -> int:
        """Increment of a counter."""
        return self.table.between(entity, quantity, self.first, self.last)

    def gauge(self, entity: str, quantity: str) -> np.ndarray:
        """The equally spaced samples of a gauge; not to be written to."""
        return self.table.column(entity, quantity)[self._rows]

    def valid_values(self, entity: str, quantity: str) -> np.ndarray:
        """Those samples of a gauge that have a value: none before it is known."""
        known, values = self.table.validity(entity, quantity), self.gauge(entity, quantity)
        return values if known is None else values[known[self._rows]]

    @cached_property
    def _rows(self) -> slice | np.ndarray:
        """The rows of `grid`; where none is left out a slice, which copies nothing."""
        grid = self.grid
        if len(grid) and int(grid[-1]) - int(grid[0]) == len(grid) - 1:
            return slice(int(grid[0]), int(grid[-1]) + 1)
        return grid

    @cached_property
    def times_ps(self) -> np.ndarray:
        """Times of the samples of `gauge`; not to be written to."""
        return self.table.times_ps[self._rows]

    @cached_property
    def apart_s(self) -> np.ndarray:
        """float64: seconds from each of these to the next."""
        return np.diff(self.times_ps) / PS

    def bits(self, entity: str, quantity: str) -> float:
        """The integral over time of a rate in bit/s; a sample holds until the next one, or until
        the timeline sets another rate."""
        rate = self.table.column(entity, quantity)[self.first : self.last]
        steps = self.steps
        changes = self.table.changes.get(entity, {}).get(quantity)
        if changes:
            times = self.table.times_ps[self.first : self.last + 1]
            at, to = np.array([one for one in changes if times[0] <= one[0] < times[-1]]).reshape(
                -1, 2
            ).T  # fmt: skip
            rows = np.searchsorted(times[:-1], at, side="right")
            rate = np.insert(rate, rows, to)
            steps = np.diff(np.append(np.insert(times[:-1], rows, at), times[-1])).astype(float)
        return float(np.dot(rate.astype(float), steps)) / PS

    @cached_property
    def steps(self) -> np.ndarray:
        """float64[last - first]: the time from each row to the next, in ps."""
        return np.diff(self.table.times_ps[self.first : self.last + 1]).astype(float)


def grid_rows(times_ps: np.ndarray, boundaries_ps: Sequence[int] = ()) -> np.ndarray:
    """Mask of the rows on the sampling grid, bool[n].

    A row that stands on a phase boundary counts only when that boundary is also a multiple of the
    sampling interval, which is the median distance of rows.
    """
    keep = np.ones(len(times_ps), bool)
    if len(times_ps) > 2:
        interval = max(int(np.median(np.diff(times_ps))), 1)
        extra = [time for time in boundaries_ps if (time - int(times_ps[0])) % interval]
        keep = ~np.isin(times_ps, np.array(extra, np.int64))
    return keep
