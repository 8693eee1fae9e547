"""State of one run for the views: plan, samples, events, progress. Independent of widgets.

Samples lie in memory that does not grow beyond a budget: when it is full, the older half keeps
every second row. Counters lose nothing by that; a peak of the past may.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orchestrator.live.feed_messages import LIVE, Judgement, RunState
from orchestrator.plan import ResolvedPlan
from orchestrator.recording import Column

BUDGET_OCTETS = 64 << 20
FIRST_ROWS = 1024
PS = 10**12


@dataclass(frozen=True)
class Moment:
    """An event: of the timeline, live, or found in the samples (`found`)."""

    time_ps: int
    what: str
    entity: str
    text: str = ""
    live: bool = False
    found: bool = False


@dataclass
class RunData:
    """See the module. `stale_s` is how long nothing has come of a live run."""

    name: str
    resolved: ResolvedPlan | None = None
    columns: Sequence[Column] = ()
    state: RunState | None = None
    judged: Judgement | None = None
    moments: list[Moment] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)
    """(level, text) of the log."""
    stale_s: float = 0.0
    dropped: int = 0
    folder: str | None = None
    version: int = 0
    """Grows with every change, so that views know when to draw."""
    rows: int = 0
    budget: int = BUDGET_OCTETS
    finder: Any = field(default=None, repr=False)
    """What `found` has seen of the samples so far."""
    _times: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    _values: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.int64), repr=False)

    # --- samples

    def describe(self, columns: Sequence[Column]) -> None:
        """Set the sampled columns; a changed set of columns begins a new table."""
        if list(columns) == list(self.columns):
            return
        self.columns = list(columns)
        self.__dict__.pop("index", None)
        self.rows = 0
        self._times = np.zeros(0, np.int64)
        self._values = np.zeros((0, len(columns)), np.int64)

    @functools.cached_property
    def index(self) -> dict[str, dict[str, int]]:
        """entity -> quantity -> column."""
        found: dict[str, dict[str, int]] = {}
        for position, column in enumerate(self.columns):
            found.setdefault(column.entity, {})[column.quantity] = position
        return found

    def add(self, times: np.ndarray, values: np.ndarray) -> None:
        """Further rows. Of two rows of one instant the later one stays."""
        if not len(times) or values.shape[1] != len(self.columns):
            return
        if self.rows and times[0] <= self._times[self.rows - 1]:
            self.rows = int(np.searchsorted(self._times[: self.rows], times[0]))
        keep = np.ones(len(times), bool)
        keep[:-1] = times[1:] != times[:-1]
        times, values = times[keep], values[keep]
        self._make_room(len(times))
        most = len(self._times) - self.rows
        times, values = times[-most:], values[-most:]
        end = self.rows + len(times)
        self._times[self.rows : end] = times
        self._values[self.rows : end] = values
        self.rows = end
        self.version += 1

    def _make_room(self, more: int) -> None:
        each = 8 * (len(self.columns) + 1)
        most = max(self.budget // each, 64)
        while self.rows > 3 and self.rows + more > most:
            self._thin()
        need = self.rows + more
        if need > len(self._times):
            grown = max(FIRST_ROWS, 2 * len(self._times), need)
            # memory that is not written to yet costs nothing, and growing costs a copy
            size = most if most * each <= BUDGET_OCTETS else min(grown, most)
            times = np.zeros(size, np.int64)
            values = np.zeros((size, len(self.columns)), np.int64)
            times[: self.rows] = self._times[: self.rows]
            values[: self.rows] = self._values[: self.rows]
            self._times, self._values = times, values

    def _thin(self) -> None:
        """Keep every second row of the older half, in place."""
        half = self.rows // 2
        thin = np.arange(0, half, 2)
        gone = half - len(thin)
        for array in (self._times, self._values):
            array[: len(thin)] = array[thin]
            for row in range(half, self.rows, gone):  # pieces that do not overlap need no copy
                end = min(row + gone, self.rows)
                array[row - gone : end - gone] = array[row:end]
        self.rows -= gone

    @property
    def times(self) -> np.ndarray:
        """ps of every row."""
        return self._times[: self.rows]

    @property
    def values(self) -> np.ndarray:
        """int64[rows, columns]."""
        return self._values[: self.rows]

    def has(self, entity: str, quantity: str) -> bool:
        """Was it sampled?"""
        return quantity in self.index.get(entity, {})

    def series(
        self, entity: str, quantity: str, from_ps: int, to_ps: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Times (ps) and values from `from_ps` to `to_ps`, with one row before where there is."""
        first, last = self.span(from_ps, to_ps)
        return self.times[first:last], self.values[first:last, self.index[entity][quantity]]

    def span(self, from_ps: int, to_ps: int) -> tuple[int, int]:
        """Rows [first, last) that show this time."""
        first = int(np.searchsorted(self.times, from_ps, "right")) - 1
        last = int(np.searchsorted(self.times, to_ps, "right"))
        return max(first, 0), last

    def value(self, entity: str, quantity: str, at_ps: int) -> int | None:
        """The last sample at or before an instant."""
        row = int(np.searchsorted(self.times, at_ps, "right")) - 1
        if row < 0 or not self.has(entity, quantity):
            return None
        return int(self._values[row, self.index[entity][quantity]])

    def rate(self, entity: str, quantity: str, at_ps: int, over_ps: int) -> float | None:
        """By how much a counter grows per second, over the time before an instant."""
        first, last = self.span(max(at_ps - over_ps, 0), at_ps)
        if last - first < 2 or not self.has(entity, quantity):
            return None
        column = self.index[entity][quantity]
        seconds = (self._times[last - 1] - self._times[first]) / PS
        grown = self._values[last - 1, column] - self._values[first, column]
        return float(grown / seconds) if seconds > 0 else None

    def entities(self, *quantities: str) -> list[str]:
        """Entities that have all of these sampled, in the order of the plan."""
        return [e for e, have in self.index.items() if all(q in have for q in quantities)]

    # --- the run

    @property
    def plan(self) -> Any:
        """The plan; None before it is known."""
        return self.resolved.plan if self.resolved else None

    @property
    def live(self) -> bool:
        """True while the run goes on, by the latest message."""
        return self.state is not None and self.state.stage in LIVE

    @property
    def now_ps(self) -> int:
        """Time that the run has reached (ps)."""
        last = int(self.times[-1]) if self.rows else 0
        return max(last, self.state.now_ps if self.state else 0)

    @property
    def duration_ps(self) -> int:
        """Duration of the run by its plan (ps)."""
        if self.plan is not None:
            return int(self.plan.duration)
        return self.state.duration_ps if self.state else max(self.now_ps, 1)

    def phase_at(self, at_ps: int) -> str:
        """Names of the phases at an instant."""
        phases = self.plan.phases if self.plan else {}
        return ", ".join(n for n, p in phases.items() if p.from_ <= at_ps < p.to)
