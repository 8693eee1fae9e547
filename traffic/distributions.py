"""Published flow size distributions, as cumulative shares with linear interpolation.

Each is the table that simulators of the field share; the measurement is that of the paper named.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

Cdf = Sequence[tuple[int, float]]
"""(octets, share of flows that are not larger), rising, the last share 1."""

WEB_SEARCH: Cdf = (
    (0, 0.0),
    (10_000, 0.15),
    (20_000, 0.20),
    (30_000, 0.30),
    (50_000, 0.40),
    (80_000, 0.53),
    (200_000, 0.60),
    (1_000_000, 0.70),
    (2_000_000, 0.80),
    (5_000_000, 0.90),
    (10_000_000, 0.97),
    (30_000_000, 1.0),
)
"""Web search cluster: DCTCP, figure 4; points as in DCTCP_CDF.txt of
github.com/HKUST-SING/TrafficGenerator (the same in the HPCC simulator)."""

DATA_MINING: Cdf = (
    (0, 0.0),
    (180, 0.1),
    (216, 0.2),
    (560, 0.3),
    (900, 0.4),
    (1_100, 0.5),
    (1_870, 0.6),
    (3_160, 0.7),
    (10_000, 0.8),
    (400_000, 0.9),
    (3_160_000, 0.95),
    (100_000_000, 0.98),
    (1_000_000_000, 1.0),
)
"""Data mining cluster: VL2, figure 2; points as in VL2_CDF.txt of
github.com/HKUST-SING/TrafficGenerator."""


def mean(cdf: Cdf) -> float:
    """Mean size in octets."""
    sizes, shares = _columns(cdf)
    return float(np.dot(np.diff(shares), (sizes[1:] + sizes[:-1]) / 2))


def mean_of_frames(cdf: Cdf, frame: int, headers: int) -> float:
    """Mean octets of all the frames of a message: S + headers ceil(S / (frame - headers)), averaged
    over the sizes S that `draw` gives (whole octets, at least 1).

    `frame` is the length of a full frame, `headers` what of each is no part of the message.
    """
    sizes, shares = _columns(cdf)
    segment = frame - headers
    total = 0.0
    pieces = pairwise(sizes.astype(int).tolist())
    for (low, high), share in zip(pieces, np.diff(shares), strict=True):
        # between two points every whole size from `low` to `high` - 1 is as likely
        count = max(high - low, 1)
        octets = (low + max(high - 1, low)) * count // 2
        frames = _frames_to(low + count - 1, segment) - _frames_to(low - 1, segment)
        if low == 0:
            octets, frames = octets + 1, frames + 1  # a message of 0 octets has 1
        total += float(share) * (octets + headers * frames) / count
    return total


def _frames_to(size: int, segment: int) -> int:
    """Frames of messages of 1, 2, ... `size` octets, one of each."""
    full, rest = divmod(max(size, 0), segment)
    return segment * full * (full + 1) // 2 + rest * (full + 1)


def draw(cdf: Cdf, uniform: np.ndarray) -> np.ndarray:
    """Sizes int64[n], at least 1, for numbers in [0, 1)."""
    sizes, shares = _columns(cdf)
    return np.maximum(np.interp(uniform, shares, sizes), 1).astype(np.int64)


def _columns(cdf: Cdf) -> tuple[np.ndarray, np.ndarray]:
    """Sizes and shares, from share 0 on: what lies below the first point has its size."""
    points = list(cdf) if cdf[0][1] == 0 else [(cdf[0][0], 0.0), *cdf]
    table = np.array(points, float)
    return table[:, 0], table[:, 1]
