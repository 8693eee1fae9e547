"""FECN probe and echo statistics per flow: sums over all, and the first million."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traces.analysis.control_batch import distinct_rows

MAX_STORED = 1 << 20
"""Probes that are kept one by one, for figures and tables."""
MOST_PROBED = 1 << 12
"""Flows with a row of their own; probes of further flows are only counted."""

PROBE = np.dtype(
    [
        (name, np.int64)
        for name in ("time_ns", "probed", "rate_bps", "sequence", "created_ps")  # of Probes.probed
    ]
)
SUMS = np.dtype(
    [
        ("count", np.int64),
        ("low", np.int64),  # sequence numbers
        ("high", np.int64),
        ("reordered", np.int64),
        ("rate_sum", np.float64),
        ("rate_low", np.int64),
        ("rate_high", np.int64),
        ("rate_last", np.int64),
    ]
)
LARGEST = np.iinfo(np.int64)


@dataclass(frozen=True)
class ProbedFlow:
    """A flow whose probes were seen at a point: forward, or back as echoes."""

    point: int
    echo: int
    source: int
    destination: int
    flow: int


class ProbeStatistics:
    """All probes so far; `sums` SUMS[flows]."""

    def __init__(self) -> None:
        self.probed: list[ProbedFlow] = []
        self.sums = np.zeros(0, SUMS)
        self.others = 0
        """Probes of flows without a row of their own."""
        self._index: dict[ProbedFlow, int] = {}
        self._kept: list[np.ndarray] = []
        self._room = MAX_STORED

    def add(self, probes: np.ndarray) -> None:
        """Take PROBE_RECORD[n] whose interfaces are points."""
        names = ("interface", "echo", "source", "sent_to", "flow")
        found, member = distinct_rows([probes[name] for name in names])
        known = np.array([self._row(ProbedFlow(*row)) for row in found.tolist()], np.int64)
        where = known[member]
        self.others += int((where < 0).sum())
        probes, where = probes[where >= 0], where[where >= 0]
        order = np.argsort(where, kind="stable")
        rows, begins = np.unique(where[order], return_index=True)
        if not len(rows):
            return
        ends = np.append(begins[1:], len(order))
        numbers, rates = probes["sequence"][order], probes["rate_bps"][order]
        sums = self.sums
        for row, begin, end in zip(rows.tolist(), begins.tolist(), ends.tolist(), strict=True):
            before = np.maximum.accumulate(np.append(sums["high"][row], numbers[begin:end]))
            sums["reordered"][row] += int((numbers[begin:end] < before[:-1]).sum())
        sums["count"][rows] += ends - begins
        sums["low"][rows] = np.minimum(sums["low"][rows], np.minimum.reduceat(numbers, begins))
        sums["high"][rows] = np.maximum(sums["high"][rows], np.maximum.reduceat(numbers, begins))
        sums["rate_sum"][rows] += np.add.reduceat(rates.astype(float), begins)
        least, most = np.minimum.reduceat(rates, begins), np.maximum.reduceat(rates, begins)
        sums["rate_low"][rows] = np.minimum(sums["rate_low"][rows], least)
        sums["rate_high"][rows] = np.maximum(sums["rate_high"][rows], most)
        sums["rate_last"][rows] = rates[ends - 1]
        self._keep(probes, where)

    def _keep(self, probes: np.ndarray, where: np.ndarray) -> None:
        count = min(self._room, len(probes))
        if count:
            kept = np.zeros(count, PROBE)
            kept["probed"] = where[:count]
            for name in ("time_ns", "rate_bps", "sequence", "created_ps"):
                kept[name] = probes[name][:count]
            self._kept.append(kept)
            self._room -= count

    def _row(self, probed: ProbedFlow) -> int:
        """Row of a flow; -1 where there are too many."""
        if probed not in self._index:
            if len(self.probed) >= MOST_PROBED:
                return -1
            self._index[probed] = len(self.probed)
            self.probed.append(probed)
            more = np.zeros(1, SUMS)
            more["low"] = more["rate_low"] = LARGEST.max
            more["high"] = more["rate_high"] = LARGEST.min
            self.sums = np.concatenate([self.sums, more])
        return self._index[probed]

    @property
    def undrawn(self) -> int:
        """Probes of flows with a row of their own that are not stored one by one."""
        return int(self.sums["count"].sum()) - sum(len(rows) for rows in self._kept)

    def stored_probes(self) -> np.ndarray:
        """The first probes, PROBE[n], in the order in which they were read."""
        return np.concatenate([np.zeros(0, PROBE), *self._kept])
