"""Latency histograms of frames at the boundaries of phases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class LatencyTable:
    """Cumulative histograms: `history[entry]` int64[marks, bins], bins between `edges_ps`."""

    marks_ps: np.ndarray
    edges_ps: np.ndarray
    history: dict[str, np.ndarray]

    def within(self, entry: str, span: tuple[int, int], first: int) -> np.ndarray:
        """Frames by bin of one phase; `first` is the instant at which the run began."""
        begin, end = (int(row) for row in np.searchsorted(self.marks_ps, span))
        last = len(self.marks_ps) - 1
        counts: np.ndarray = self.history[entry][min(end, last)].copy()
        if span[0] > first:
            counts -= self.history[entry][min(begin, last)]
        return counts
