"""CNM statistics per congestion point: sums over all, and the first million messages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traces.analysis.control_batch import distinct_rows

MAX_STORED = 1 << 20
"""Messages that are kept one by one, for figures and tables."""
MOST_POINTS = 1 << 12
"""Congestion points with a row of their own; messages of others are counted together."""
LEVELS = 64
"""Values of quantised feedback."""

MESSAGE = np.dtype(
    [
        (name, np.int64)
        for name in (
            "time_ns",
            "congestion_point",  # index into CongestionMessages.points
            "reaction_point",  # MAC address that it was sent to
            "feedback",
            "offset_bytes",
            "delta_bytes",
            "priority",
            "flow",
            "sequence",
        )
    ]
)


@dataclass(frozen=True)
class CongestionPoint:
    """Congestion point by the fields of its messages, and its capture point."""

    point: int
    cpid: int
    source: int


OTHERS = CongestionPoint(-1, -1, -1)


class CongestionMessages:
    """All messages so far. `feedback` int64[points, LEVELS]; `offset` and `delta` float64[points,
    3]: sum, least, greatest."""

    def __init__(self) -> None:
        self.points: list[CongestionPoint] = []
        self.feedback = np.zeros((0, LEVELS), np.int64)
        self.offset = np.zeros((0, 3))
        self.delta = np.zeros((0, 3))
        self._index: dict[CongestionPoint, int] = {}
        self._kept: list[np.ndarray] = []
        self._room = MAX_STORED

    def add(self, cnms: np.ndarray) -> None:
        """Take CNM_RECORD[n] whose interfaces are points."""
        found, member = distinct_rows([cnms["interface"], cnms["cpid"], cnms["source"]])
        where = np.array([self._point(CongestionPoint(*row)) for row in found.tolist()])[member]
        levels = np.bincount(where * LEVELS + cnms["feedback"], minlength=self.feedback.size)
        self.feedback += levels.reshape(self.feedback.shape)
        order = np.argsort(where, kind="stable")
        index, begins = np.unique(where[order], return_index=True)
        for sums, name in ((self.offset, "offset_bytes"), (self.delta, "delta_bytes")):
            values = cnms[name][order]
            sums[index, 0] += np.add.reduceat(values, begins)
            sums[index, 1] = np.minimum(sums[index, 1], np.minimum.reduceat(values, begins))
            sums[index, 2] = np.maximum(sums[index, 2], np.maximum.reduceat(values, begins))
        keep = min(self._room, len(cnms))
        if keep:
            rows = np.zeros(keep, MESSAGE)
            rows["congestion_point"] = where[:keep]
            rows["reaction_point"] = cnms["sent_to"][:keep]
            for name in MESSAGE.names or ():
                if name in (cnms.dtype.names or ()):
                    rows[name] = cnms[name][:keep]
            self._kept.append(rows)
            self._room -= keep

    def _point(self, point: CongestionPoint) -> int:
        if point not in self._index and len(self.points) >= MOST_POINTS:
            point = OTHERS
        if point not in self._index:
            self._index[point] = len(self.points)
            self.points.append(point)
            self.feedback = np.concatenate([self.feedback, np.zeros((1, LEVELS), np.int64)])
            extremes = np.array([[0.0, np.inf, -np.inf]])
            self.offset = np.concatenate([self.offset, extremes])
            self.delta = np.concatenate([self.delta, extremes])
        return self._index[point]

    @property
    def others(self) -> int:
        """Messages of congestion points without a row of their own."""
        index = self._index.get(OTHERS)
        return 0 if index is None else int(self.feedback[index].sum())

    @property
    def undrawn(self) -> int:
        """Messages that are not kept one by one."""
        return int(self.feedback.sum()) - sum(len(rows) for rows in self._kept)

    def stored_messages(self) -> np.ndarray:
        """The first messages, MESSAGE[n], in the order in which they were read."""
        return np.concatenate([np.zeros(0, MESSAGE), *self._kept])
