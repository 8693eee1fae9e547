"""Poisson flow arrivals at a load, with sizes of a distribution.

Every NIC that the entry names in `from` starts messages as a Poisson process whose mean is `load`
times the rate of its link. What counts is the octets of frames, as in `utilization`: each message
with the headers of all its frames, S + 70 ceil(S / (frame - 70)) for one of S octets, but without
room for stamps and without a link's overhead. Each goes to one of the NIC's destinations, all of
them equally likely, over any of the connections to it or the next one in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import cycle, pairwise
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from tailback.plugin import (
    Algorithm,
    ApplicationMessages,
    Connections,
    Params,
    Ratio,
    Sender,
    Size,
    messages,
)

# Published flow size distributions, as cumulative shares with linear interpolation.
#
# Each is the table that simulators of the field share; the measurement is that of the paper named.

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
github.com/HKUST-SING/TrafficGenerator, the same as traffic_gen/WebSearch_distribution.txt of
github.com/alibaba-edu/High-Precision-Congestion-Control."""

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

FB_HADOOP: Cdf = (
    (0, 0.0),
    (100, 0.01),
    (200, 0.02),
    (300, 0.05),
    (350, 0.15),
    (400, 0.20),
    (500, 0.30),
    (600, 0.40),
    (700, 0.50),
    (1_000, 0.60),
    (2_000, 0.67),
    (7_000, 0.70),
    (30_000, 0.72),
    (50_000, 0.82),
    (80_000, 0.87),
    (120_000, 0.90),
    (300_000, 0.95),
    (1_000_000, 0.975),
    (2_000_000, 0.99),
    (10_000_000, 1.0),
)
"""Hadoop cluster of Facebook, FB_Hadoop of HPCC; points as in
traffic_gen/FbHdp_distribution.txt of github.com/alibaba-edu/High-Precision-Congestion-Control."""

ALI_STORAGE: Cdf = (
    (0, 0.0),
    (4_000, 0.2293),
    (8_000, 0.6921),
    (16_000, 0.8061),
    (32_000, 0.9047),
    (64_000, 0.9353),
    (128_000, 0.9677),
    (256_000, 0.9753),
    (2_000_000, 1.0),
)
"""Distributed storage of Alibaba in 2019; points as in traffic_gen/AliStorage2019.txt of
github.com/alibaba-edu/High-Precision-Congestion-Control."""

PUBLISHED: dict[str, Cdf] = {
    "web-search": WEB_SEARCH,
    "data-mining": DATA_MINING,
    "fb-hadoop": FB_HADOOP,
    "ali-storage": ALI_STORAGE,
}
"""Value of `sizes` -> its distribution."""


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


PS = 10**12


class Poisson(Params):
    """Parameters of Poisson arrivals."""

    former: ClassVar[dict[str, str]] = {"turns": "round_robin", "stream": "random_stream"}

    load: Ratio = Field(
        Fraction(1, 2), gt=0, le=2, description="share of each sending link's rate, on average"
    )
    sizes: Literal["web-search", "data-mining", "fixed", "cdf", "fb-hadoop", "ali-storage"] = Field(
        "web-search", description="distribution of sizes; cdf: that of the traffic entry"
    )
    size: Size = Field(100_000, ge=1, le=10**12, description="of every message, where fixed")
    round_robin: bool = Field(
        False, description="round robin over the connections of a pair; else at random"
    )
    random_stream: int = Field(
        0, ge=0, lt=1 << 31, description="entries with the same number draw the same; 0: its own"
    )

    def frames_offered(self, sender: Sender) -> int | None:
        """As many octets as `load` says, in the shortest frames that messages are cut to."""
        share = self.load * sender.link_rate
        if self.sizes != "fixed":
            return None if self.load >= 1 else sender._replace(frame=80).frames_at(share)
        octets = self.size + sender.headers * (count := sender.frames_of(self.size))
        return int(share * sender.span // (8 * PS * octets) + 1) * count


def distribution(params: Poisson, ends: Connections) -> Cdf:
    """The distribution that sizes are drawn from. Raises ValueError when the plan gives none."""
    if params.sizes == "cdf":
        if not ends.cdf:
            raise ValueError("with sizes = \"cdf\" the table 'cdf' of the traffic is expected")
        return ends.cdf
    return PUBLISHED.get(params.sizes, ((params.size, 1.0),))


def arrivals(params: Poisson, ends: Connections) -> ApplicationMessages:
    """The schedule of `poisson`."""
    cdf = distribution(params, ends)
    random = ends.random(params.random_stream)
    bits = mean_of_frames(cdf, ends.frame, ends.plain_headers) * 8
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    sources = np.array([source for source, _ in ends.pairs])
    for source in dict.fromkeys(sources.tolist()):
        mine = np.flatnonzero(sources == source)
        gap = bits / (float(params.load) * float(ends.line_rates[mine[0]])) * PS
        times = poisson_times(random, gap, ends.start, ends.stop)
        chosen = mine[(random.random(len(times)) * len(mine)).astype(np.int64)]
        if params.round_robin:
            chosen = round_robin_connections(chosen, ends.pairs)
        parts.append((chosen, times, draw(cdf, random.random(len(times)))))
    connection, start, size = (np.concatenate(column) for column in zip(*parts, strict=True))
    return ApplicationMessages(connection, start, size)


def round_robin_connections(chosen: np.ndarray, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """For each connection that was drawn the one of the same pair whose turn it is, int64[n]."""
    alike: dict[tuple[str, str], list[int]] = {}
    for connection, pair in enumerate(pairs):
        alike.setdefault(pair, []).append(connection)
    turns = {pair: cycle(mine) for pair, mine in alike.items()}
    return np.array([next(turns[pairs[one]]) for one in chosen.tolist()], np.int64)


def poisson_times(random: np.random.Generator, gap: float, start: int, stop: int) -> np.ndarray:
    """Times of a Poisson process of mean distance `gap` (ps) in [start, stop), int64[n]."""
    found: list[np.ndarray] = []
    last = float(start)
    while last < stop:
        count = int((stop - last) / gap * 1.1) + 16
        if count > 10_000_000:
            raise ValueError("more than 10000000 messages; shorten the run or lower 'load'")
        times = last + np.cumsum(-np.log1p(-random.random(count)) * gap)
        found.append(times)
        last = float(times[-1])
    every = np.concatenate(found) if found else np.zeros(0)
    return every[every < stop].astype(np.int64)


POISSON: Algorithm = messages("poisson", "flows at random times, at a load", Poisson, arrivals)
