"""Batch of captured frames, as arrays over the buffer with their octets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NO_TIME = -(2**63)
"""Time of a frame that has none: pcapng's simple packet blocks."""


@dataclass
class Batch:
    """Frames in file order. Valid until the next batch is requested, unless the stream has
    more rooms: the buffer is used again.

    `octets` uint8[size]; `offset` int64[n], where each frame's first octet lies in it; `captured`
    int64[n], octets that are there; `original` int64[n], octets on the wire; `time_ns` int64[n],
    since 1970 or NO_TIME; `interface` int64[n], index into the capture's `interfaces`;
    `direction` int8[n], 0 unknown, 1 in, 2 out. `number` is the first frame's place in the file,
    counted from 0, `origin` the place of `octets[0]` in the file, and `described` how many
    interfaces the capture had up to there.
    """

    octets: np.ndarray
    offset: np.ndarray
    captured: np.ndarray
    original: np.ndarray
    time_ns: np.ndarray
    interface: np.ndarray
    direction: np.ndarray
    number: int
    origin: int
    described: int

    def __len__(self) -> int:
        return len(self.offset)

    def frame(self, row: int) -> bytes:
        """The kept octets of one frame."""
        begin = int(self.offset[row])
        return self.octets[begin : begin + int(self.captured[row])].tobytes()
