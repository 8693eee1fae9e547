"""Latency matching of frames captured at two points, by flow and sequence number.

Frames wait in a table of fixed size for their second sighting; the oldest of a set is evicted, so
memory does not depend on the capture's length. What was never matched is only not counted.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.jit import compiled, inlined
from traces.analysis.flow_records import WORDS
from traces.dissect.header_parser import MAC

SETS, ASSOCIATIVITY = 1 << 16, 4
"""Frames that wait: SETS x WAYS, of 32 octets each."""
FINE = 32
"""Histogram bins per doubling: a bin is at most 1/32 wide of what is in it."""
BINS = 59 * FINE
"""Up to 2^63."""
MOST_ROWS = 2048
"""Flows (at their later point) whose histogram is kept; of others only count, mean and extremes."""
IDENTITY, SEQUENCE, ROW, TIME = range(4)

NO_LINKS = np.zeros((0, 4), np.int64)
HOP = np.dtype(
    [
        (name, np.int64)
        for name in ("before", "frames", "sum_ns", "low_ns", "high_ns", "other_paths")
    ]
)
"""Per flow at its later point: the flow's row at the point before, and what lies between."""


@inlined
def bin_of(value):
    """The histogram's bin of a number >= 0."""
    if value < FINE:
        return value
    exponent = 0
    while value >> exponent >= 2 * FINE:
        exponent += 1
    return (exponent + 1) * FINE + (value >> exponent) - FINE


def lower_edges() -> np.ndarray:
    """The least number of each bin, int64[BINS]."""
    bins = np.arange(BINS, dtype=np.int64)
    return np.where(bins < FINE, bins, (bins % FINE + FINE) << _exponents())


def largest() -> np.ndarray:
    """The largest number of each bin, int64[BINS]."""
    return lower_edges() + ((np.int64(1) << _exponents()) - 1)


def _exponents() -> np.ndarray:
    """Widths of the bins, as exponents of two."""
    return np.maximum(np.arange(BINS, dtype=np.int64) // FINE - 1, 0)


@inlined
def record_latency(hop, row, before, passed, histogram):
    """A frame of the flow `row` took `passed` ns from where its flow is the row `before`."""
    if hop["frames"] == 0:
        hop["before"] = before
        hop["low_ns"] = hop["high_ns"] = passed
    if hop["before"] != before:
        hop["other_paths"] += 1
        return
    hop["frames"] += 1
    hop["sum_ns"] += passed
    hop["low_ns"] = min(hop["low_ns"], passed)
    hop["high_ns"] = max(hop["high_ns"], passed)
    if row < histogram.shape[0]:
        histogram[row, bin_of(passed)] += 1


@compiled
def match(rows, identity, waiting, hops, histogram, links):
    """Match `rows` int64[n, 3] (time, flow's row, sequence), in time order.

    `identity` int64[flows] is the same for one flow at all points; `waiting` int64[SETS, WAYS, 4].
    `links` int64[n, 4] gets a row (row before, row after, ns passed, time) for each frame that was
    matched; returns their number. It may be empty.
    """
    linked = 0
    for index in range(rows.shape[0]):
        time, row, sequence = rows[index, 0], rows[index, 1], rows[index, 2]
        key = identity[row]
        mixed = key ^ (key >> 32) ^ ((sequence & 0x7FFFFFFF) * 0x1E3779B1)
        place = (mixed ^ (mixed >> 17)) & (waiting.shape[0] - 1)
        oldest = 0
        found = -1
        for way in range(waiting.shape[1]):
            entry = waiting[place, way]
            if entry[IDENTITY] == key and entry[SEQUENCE] == sequence and entry[ROW] > 0:
                found = way
                break
            if entry[TIME] < waiting[place, oldest, TIME]:
                oldest = way
        if found < 0:
            found = oldest
        elif waiting[place, found, ROW] != row:
            before, after = waiting[place, found, ROW], row
            passed = time - waiting[place, found, TIME]
            if passed < 0:  # the file is not in order of time
                before, after, passed = after, before, -passed
            record_latency(hops[after], after, before, passed, histogram)
            if links.shape[0]:
                links[linked, 0], links[linked, 1] = before, after
                links[linked, 2], links[linked, 3] = passed, time
                linked += 1
            if after != row:
                continue
        waiting[place, found, IDENTITY] = key
        waiting[place, found, SEQUENCE] = sequence
        waiting[place, found, ROW] = row
        waiting[place, found, TIME] = time
    return linked


class Matcher:
    """Takes sightings of several points, orders them, matches them."""

    def __init__(self) -> None:
        self.hops = np.zeros(0, HOP)
        self.histogram = np.zeros((MOST_ROWS, BINS), np.int32)
        self._waiting = np.zeros((SETS, ASSOCIATIVITY, 4), np.int64)
        self._identity = np.zeros(0, np.int64)
        self._late: list[np.ndarray] = []

    def add(self, rows: np.ndarray) -> None:
        """Sightings of one batch, int64[n, 3]: time, flow's row, sequence number."""
        if len(rows):
            self._late.append(rows.copy())

    def flush(
        self, until_ns: int, keys: np.ndarray, flows: int, linked: bool = False
    ) -> np.ndarray:
        """Match what is not later than `until_ns`; `keys` int64[>= flows, WORDS] of the table.

        Returns the `links` of `match`, int64[n, 4], none unless `linked`.
        """
        if not self._late:
            return NO_LINKS
        rows = np.concatenate(self._late)
        ready = rows[:, 0] <= until_ns
        self._late = [] if ready.all() else [rows[~ready]]
        rows = rows[ready]
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        known = len(self.hops)
        if known < flows:
            self.hops = np.concatenate([self.hops, np.zeros(flows - known, HOP)])
            self._identity = np.concatenate([self._identity, identities(keys[known:flows])])
        links = np.zeros((len(rows), 4), np.int64) if linked else NO_LINKS
        count = match(rows, self._identity, self._waiting, self.hops, self.histogram, links)
        return links[: int(count)]


def identities(keys: np.ndarray) -> np.ndarray:
    """A number per flow that does not depend on the point, int64[n]; `keys` int64[n, WORDS].

    Neither does it on tunnels and VLAN tags, which hops add, change and remove.
    """
    total = np.zeros(len(keys), np.uint64)
    has_ip = (keys[:, 6] >> 40) & 0x3FF != 0
    for word in range(WORDS):
        column = keys[:, word].copy()
        if word == 0:
            column &= MAC
        elif word == 1:
            column[has_ip] = 0  # the network of a tunnel
        elif word == 2:
            column[~has_ip] = 0
        elif word == WORDS - 2:
            column &= ~0x1FFF  # the VLAN
        elif word == WORDS - 1:
            column &= 0xFFFFFFFF  # above it is the point
        total = (total ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        total ^= total >> np.uint64(29)
    return total.astype(np.int64)
