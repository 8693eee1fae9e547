"""Time bins for sums over a span of unknown length: bins widen as the capture goes on."""

from __future__ import annotations

import numpy as np

FINEST = 10
"""Width of a new bin as a power of 2 of nanoseconds: about a microsecond."""
CELLS = 1 << 20
"""Bins of all rows together at most."""
MOST_BINS, FEWEST_BINS = 1024, 16


class TimeBins:
    """`values` are int64[layers, rows, bins]; bin b of a row holds the times t with
    `(t >> shift) - first == b`. Widths are powers of two of nanoseconds, so that two bins become
    one without a remainder.

    In memory a bin of all rows lies together (`room` int64[layers, bins, rows]): what comes close
    in time is close there, whatever row it is of.
    """

    def __init__(self, layers: int, rows: int) -> None:
        self.shift = FINEST
        self.first = 0
        self._span: tuple[int, int] | None = None
        self.room = np.zeros((layers, MOST_BINS, rows), np.int64)

    @property
    def values(self) -> np.ndarray:
        """Values of the bins, int64[layers, rows, bins]: a view of `room`."""
        return self.room.swapaxes(1, 2)

    @property
    def begun(self) -> bool:
        """True if there are bins for any time."""
        return self._span is not None

    @property
    def width_ns(self) -> int:
        """Width of a bin."""
        return 1 << self.shift

    def cover(self, low_ns: int, high_ns: int, rows: int) -> None:
        """Extend the bins to times from `low_ns` to `high_ns`, those before included.

        Only the first `rows` rows are in use so far.
        """
        if self._span is None:
            while (high_ns >> self.shift) - (low_ns >> self.shift) >= self.values.shape[2]:
                self.shift += 1
            self.first = low_ns >> self.shift
        else:
            low_ns, high_ns = min(low_ns, self._span[0]), max(high_ns, self._span[1])
        if (low_ns, high_ns) == self._span:
            return
        self._span = low_ns, high_ns
        while (high_ns >> self.shift) - (low_ns >> self.shift) >= self.values.shape[2]:
            self._halve(rows)
        late = self.first - (low_ns >> self.shift)
        early = (high_ns >> self.shift) - (self.first + self.values.shape[2] - 1)
        step = late if late > 0 else -early if early > 0 else 0
        if step:  # rolls only empty bins over the border, because the whole span has place
            self.values[:, :rows] = np.roll(self.values[:, :rows], step, axis=2)
            self.first -= step

    def _halve(self, rows: int) -> None:
        """Make bins twice as wide."""
        layers, _, bins = self.values.shape
        pairs = np.zeros((layers, rows, bins + 2), np.int64)
        odd = self.first & 1
        pairs[:, :, odd : odd + bins] = self.values[:, :rows]
        self.values[:, :rows] = 0
        self.values[:, :rows, : bins // 2 + 1] = pairs[:, :, ::2] + pairs[:, :, 1::2]
        self.first >>= 1
        self.shift += 1

    def grow(self, rows: int) -> None:
        """More rows, and fewer bins if they would take too much memory."""
        layers, old, bins = self.values.shape
        while bins * rows > CELLS and bins > FEWEST_BINS:
            self._halve(old)
            bins //= 2
            begin = 0 if self._span is None else (self._span[0] >> self.shift) - self.first
            if self._span is not None:
                low, high = self._span
                while (high >> self.shift) - (low >> self.shift) >= bins:
                    self._halve(old)
                begin = (low >> self.shift) - self.first
            self.room = np.roll(self.room, -begin, axis=1)[:, :bins].copy()
            self.first += begin
        wider = np.zeros((layers, bins, rows), np.int64)
        wider[:, :, :old] = self.room
        self.room = wider

    def used(self) -> tuple[np.ndarray, np.ndarray]:
        """Beginnings of the bins that times fell into, int64[n], and values[:, :, n]."""
        if self._span is None:
            return np.zeros(0, np.int64), self.values[:, :, :0]
        low = (self._span[0] >> self.shift) - self.first
        high = (self._span[1] >> self.shift) - self.first + 1
        starts = (np.arange(low, high) + self.first) << self.shift
        return starts, self.values[:, :, low:high]
