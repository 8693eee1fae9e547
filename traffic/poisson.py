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
from itertools import cycle
from typing import Literal

import numpy as np
from pydantic import Field

from orchestrator.algorithm import Algorithm, messages
from orchestrator.engine.workload import HEADERS, ApplicationMessages, Connections
from orchestrator.plan.params import Params, Ratio, Sender, Size
from traffic.distributions import DATA_MINING, WEB_SEARCH, Cdf, draw, mean_of_frames

PS = 10**12


class Poisson(Params):
    """Parameters of Poisson arrivals."""

    load: Ratio = Field(
        Fraction(1, 2), gt=0, le=2, description="share of each sending link's rate, on average"
    )
    sizes: Literal["web-search", "data-mining", "fixed", "cdf"] = Field(
        "web-search", description="distribution of sizes; cdf: that of the traffic entry"
    )
    size: Size = Field(100_000, ge=1, le=10**12, description="of every message, where fixed")
    turns: bool = Field(
        False, description="round robin over the connections of a pair; else at random"
    )
    stream: int = Field(
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
    named: dict[str, Cdf] = {"web-search": WEB_SEARCH, "data-mining": DATA_MINING}
    return named.get(params.sizes, ((params.size, 1.0),))


def arrivals(params: Poisson, ends: Connections) -> ApplicationMessages:
    """The schedule of `poisson`."""
    cdf = distribution(params, ends)
    random = ends.random(params.stream)
    bits = mean_of_frames(cdf, ends.frame, HEADERS) * 8
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    sources = np.array([source for source, _ in ends.pairs])
    for source in dict.fromkeys(sources.tolist()):
        mine = np.flatnonzero(sources == source)
        gap = bits / (float(params.load) * float(ends.line_rates[mine[0]])) * PS
        times = _times(random, gap, ends.start, ends.stop)
        chosen = mine[(random.random(len(times)) * len(mine)).astype(np.int64)]
        if params.turns:
            chosen = in_turn(chosen, ends.pairs)
        parts.append((chosen, times, draw(cdf, random.random(len(times)))))
    connection, start, size = (np.concatenate(column) for column in zip(*parts, strict=True))
    return ApplicationMessages(connection, start, size)


def in_turn(chosen: np.ndarray, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """For each connection that was drawn the one of the same pair whose turn it is, int64[n]."""
    alike: dict[tuple[str, str], list[int]] = {}
    for connection, pair in enumerate(pairs):
        alike.setdefault(pair, []).append(connection)
    turns = {pair: cycle(mine) for pair, mine in alike.items()}
    return np.array([next(turns[pairs[one]]) for one in chosen.tolist()], np.int64)


def _times(random: np.random.Generator, gap: float, start: int, stop: int) -> np.ndarray:
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
