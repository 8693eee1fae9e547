"""Detection of unannounced events: times at which counters of losses, pauses, feedback start."""

from __future__ import annotations

import numpy as np

from orchestrator.console.run_data import Moment, RunData

QUIET_PS = 50 * 10**9
"""A counter that stood still for so long begins anew when it moves."""
CHUNK = 65_536
"""Rows that are looked at together."""
MOST_EACH = 200
"""Moments that are kept of each counter: its first half of them, and its latest."""
WORDS = {
    "frames_dropped": ("loss", "frames are lost"),
    "pause_sent": ("PAUSE", "sends PAUSE"),
    "feedback_sent": ("CNM", "sends feedback"),
    "paused_ps": ("held", "is held by PAUSE"),
    "storms": ("storm", "its watchdog finds a storm of PAUSE"),
    "storms_over": ("storm over", "its watchdog lets PAUSE hold it again"),
}


class Finder:
    """Detector of the times at which counters of losses, pauses and feedback start after a quiet
    time.

    It looks at every row once, when it comes: what is thinned out later was seen before.
    """

    def __init__(self, data: RunData) -> None:
        self._columns = [n for n, c in enumerate(data.columns) if c.quantity in WORDS]
        self._names = [(WORDS[c.quantity], c.entity) for c in data.columns if c.quantity in WORDS]
        self._found: list[list[Moment]] = [[] for _ in self._columns]
        self._moved = np.full(len(self._columns), -1, np.int64)
        """When each counter moved last (ps); -1: never."""
        self._seen_ps = -1
        self._last: np.ndarray | None = None
        self._merged: tuple[list[Moment], list[Moment]] | None = None
        """What was announced, and that with what was found, in order of time."""

    def look(self, data: RunData) -> None:
        """Take in the rows that have come."""
        first = int(np.searchsorted(data.times, self._seen_ps, "right")) if self._columns else 0
        while self._columns and first < data.rows:
            rows = slice(first, min(first + CHUNK, data.rows))
            times, values = data.times[rows], data.values[rows, self._columns]
            before = values[:1] if self._last is None else self._last[None]
            moved = np.diff(values, axis=0, prepend=before) > 0
            for place in np.flatnonzero(moved.any(0)).tolist():
                self._add(place, times[moved[:, place]])
            self._last, self._seen_ps = values[-1].copy(), int(times[-1])
            first = rows.stop

    @property
    def moments(self) -> list[Moment]:
        """All that is found by now."""
        return [moment for mine in self._found for moment in mine]

    def with_announced(self, announced: list[Moment]) -> list[Moment]:
        """These and what is found, in order of time; sorted anew when something came."""
        if self._merged is None or self._merged[0] != announced:
            every = sorted([*announced, *self.moments], key=lambda moment: moment.time_ps)
            self._merged = list(announced), every
        return self._merged[1]

    def _add(self, place: int, at: np.ndarray) -> None:
        """A counter moved at these times."""
        last = int(self._moved[place])
        begins = np.diff(at, prepend=last) > QUIET_PS
        begins[0] |= last < 0
        (what, text), entity = self._names[place]
        mine = self._found[place]
        fresh = [Moment(t, what, entity, text, found=True) for t in at[begins].tolist()]
        mine += fresh
        if len(mine) > MOST_EACH:
            del mine[MOST_EACH // 2 : len(mine) - MOST_EACH // 2]
        self._moved[place] = at[-1]
        if fresh:
            self._merged = None


def finder_of(data: RunData) -> Finder:
    """The finder of a run, which has seen all of its samples."""
    if data.finder is None or data.finder[0] is not data.columns:
        data.finder = (data.columns, Finder(data))
    finder: Finder = data.finder[1]
    finder.look(data)
    return finder


def moments(data: RunData) -> list[Moment]:
    """Events detected in the samples of a run."""
    return finder_of(data).moments


def all_moments(data: RunData) -> list[Moment]:
    """Announced and found ones, in order of time."""
    return finder_of(data).with_announced(data.moments)


def plan_moments(data: RunData) -> list[Moment]:
    """The timeline and the phases of the plan."""
    if data.resolved is None:
        return []
    steps = [
        Moment(a.at, a.verb, a.key, f"to {a.to}" if a.to is not None else "")
        for a in data.resolved.actions
    ]
    phases = [Moment(p.from_, "phase", name) for name, p in data.plan.phases.items()]
    return sorted(steps + phases, key=lambda moment: moment.time_ps)
