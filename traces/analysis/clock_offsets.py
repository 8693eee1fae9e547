"""Clocks of several captures: comparison by the frames that two of them hold.

A frame that both captures hold says t_b - t_a: the clocks' offset, plus the latency if the frame
went from a to b, minus it if it went from b to a. Frames of both directions between the same two
hosts (requests and answers) therefore bound the offset: it is less than the least difference of
one direction and more than the greatest of the other, and with equal least latencies it is their
mean, as in NTP (RFC 5905, section 8). If 0 is outside of these bounds, the clocks certainly differ.

Of frames in one direction alone, neither the direction nor the offset is known, unless routers took
from their TTL.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from traces.analysis.control_batch import distinct_rows

NS = 10**9
ABSURD_NS = NS
"""No frame is under way for a second between two points of a data centre."""
CHUNKS, MOST_SAMPLES, MOST_GROUPS = 16, 1024, 4096
"""Samples made of the frames that are matched together, samples and host pairs that are kept."""
LEAST_SAMPLES, LEAST_DRIFT_NS = 4, 100
MOST_DRIFT = 1e-3
"""Beyond, a slope is no drift of an oscillator."""
FIELDS = ("before", "after", "passed", "time")


@dataclass(frozen=True)
class ClockPair:
    """What the frames of two files say about their clocks; `first` and `second` are files."""

    first: int
    second: int
    frames: int
    verdict: str
    """"agree": no frame contradicts it; "differ": the offset is estimated; "contradict" and
    "absurd": the clocks differ, and frames of one direction do not say by how much; "unverified":
    nothing contradicts it, but frames went one way only."""
    offset_ns: float | None = None
    """The second clock is this much ahead, at `at_ns` of the second clock."""
    uncertainty_ns: float | None = None
    drift: float = 0.0
    at_ns: int = 0
    least_ns: float | None = None
    """Where the offset is unknown: the clocks differ at least by this, or latency is at least."""


@dataclass(frozen=True)
class Correction:
    """What is subtracted from the times of a file: offset + drift * (time - at)."""

    offset_ns: float
    drift: float
    at_ns: int

    def apply(self, times: np.ndarray) -> np.ndarray:
        """Corrected times, int64[n]."""
        wrong = self.offset_ns + self.drift * (times - self.at_ns)
        return times - np.rint(wrong).astype(np.int64)


class ClockComparison:
    """Differences of times of frames that two files hold: samples over time, in bounded memory."""

    def __init__(self) -> None:
        self._samples: dict[tuple[int, int, int, int], list[tuple[int, int, int, int]]] = {}
        """By files, hosts and direction: the time of the least difference and the least difference,
        the same of the greatest. Times are by the second file's clock."""
        self._hops: dict[tuple[int, int, int, int], int] = defaultdict(int)
        """The same: frames whose TTL was less at the second file, minus those at the first."""
        self._frames: dict[tuple[int, int], int] = defaultdict(int)

    def add(
        self, links: np.ndarray, keys: np.ndarray, flows: np.ndarray, files: np.ndarray
    ) -> None:
        """Take matched frames, int64[n, 4] (rows of flows before and after, ns passed, time).

        `keys` and `flows` are those of the table, `files` int64[points] the clock of each point.
        """
        before, after = links[:, 0], links[:, 1]
        clocks = files[flows["point"][before]], files[flows["point"][after]]
        apart = clocks[0] != clocks[1]
        if not apart.any():
            return
        before, after, passed, times = (links[apart, column] for column in range(4))
        one, other = clocks[0][apart], clocks[1][apart]
        forward = one < other
        first, second = np.minimum(one, other), np.maximum(one, other)
        difference = np.where(forward, passed, -passed)
        times = np.where(forward, times, times - passed)
        hops = np.sign(flows["ttl"][before] - flows["ttl"][after]) * np.where(forward, 1, -1)
        ends = keys[before]
        has_ip = (ends[:, 6] >> 40) & 0x3FF != 0
        source = np.where(has_ip, ends[:, 2] * 31 + ends[:, 3], ends[:, 0])
        target = np.where(has_ip, ends[:, 4] * 31 + ends[:, 5], ends[:, 1])
        direction = (source > target).astype(np.int64)
        hosts = np.minimum(source, target) * 0x9E3779B1 + np.maximum(source, target)
        found, member = distinct_rows([first, second, hosts, direction])
        for index, group in enumerate(found.tolist()):
            mine = member == index
            key = (group[0], group[1], group[2], group[3])
            self._frames[key[:2]] += int(mine.sum())
            if key not in self._samples and len(self._samples) >= MOST_GROUPS:
                continue
            self._hops[key] += int(hops[mine].sum())
            samples = self._samples.setdefault(key, [])
            for values, when in zip(
                np.array_split(difference[mine], CHUNKS),
                np.array_split(times[mine], CHUNKS),
                strict=True,
            ):
                if len(values):
                    low, high = int(values.argmin()), int(values.argmax())
                    samples.append(
                        (int(when[low]), int(values[low]), int(when[high]), int(values[high]))
                    )
            while len(samples) > MOST_SAMPLES:
                samples[:] = [
                    (
                        *min(early[:2], late[:2], key=lambda one: one[1]),
                        *max(early[2:], late[2:], key=lambda one: one[1]),
                    )
                    for early, late in zip(samples[::2], samples[1::2], strict=False)
                ]

    def pairs(self) -> list[ClockPair]:
        """What is known of every two files that hold the same frames."""
        return [self._pair(*files) for files in sorted(self._frames)]

    def _pair(self, first: int, second: int) -> ClockPair:
        frames = self._frames[first, second]
        groups = {key[2:]: np.array(rows, np.int64) for key, rows in self._samples.items()
                  if key[:2] == (first, second)}  # fmt: skip
        there, back = [], []
        for hosts, direction in groups:
            if direction == 0 and (hosts, 1) in groups:
                ways = [groups[hosts, 0], groups[hosts, 1]]
                ways.sort(key=lambda rows: float(np.median(rows[:, [1, 3]])))
                back.append(ways[0])
                there.append(ways[1])
        if there:
            return bidirectional_pair(
                first, second, frames, np.concatenate(there), np.concatenate(back)
            )
        return self._unidirectional_pair(first, second, frames, groups)

    def _unidirectional_pair(
        self, first: int, second: int, frames: int, groups: dict[tuple[int, int], np.ndarray]
    ) -> ClockPair:
        verdict, least = "unverified", None
        for (hosts, direction), rows in groups.items():
            low, high = int(rows[:, 1].min()), int(rows[:, 3].max())
            hops = self._hops[first, second, hosts, direction]
            wrong = (hops > 0 and low < 0) or (hops < 0 and high > 0)
            near = 0 if low <= 0 <= high else min(abs(low), abs(high))
            if wrong:
                least = max(least or 0, -low if hops > 0 else high)
                verdict = "contradict"
            elif near >= ABSURD_NS and verdict != "contradict":
                verdict, least = "absurd", max(least or 0, near)
        return ClockPair(first, second, frames, verdict, least_ns=least)


def slope(times: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Least-squares slope of values over times, and the standard deviation of what remains."""
    if len(times) < LEAST_SAMPLES or times.max() == times.min():
        return 0.0, 0.0
    x, y = times - times.mean(), values - values.mean()
    found = float(x @ y / (x @ x))
    return found, float(np.std(y - found * x))


def bidirectional_pair(
    first: int, second: int, frames: int, there: np.ndarray, back: np.ndarray
) -> ClockPair:
    """Estimate of offset and drift; `there` and `back` int64[n, 4] are samples of frames from the
    first file to the second, and of those the other way, as `ClockComparison` keeps them."""
    start = int(min(there[:, 0].min(), back[:, 2].min()))
    at_there, at_back = (there[:, 0] - start).astype(float), (back[:, 2] - start).astype(float)
    least, most = there[:, 1].astype(float), back[:, 3].astype(float)
    rises, noise = zip(slope(at_there, least), slope(at_back, most), strict=True)
    # queues that grow raise the latency of one direction; a drift shows in both alike
    drift = min(rises, key=abs) if rises[0] * rises[1] > 0 else 0.0
    span = max(at_there.max(), at_back.max())
    if abs(drift) > MOST_DRIFT or abs(drift) * span < max(LEAST_DRIFT_NS, 2 * max(noise)):
        drift = 0.0
    low = float((least - drift * at_there).min())
    high = float((most - drift * at_back).max())
    agree = least.min() >= 0 >= most.max()
    return ClockPair(
        first,
        second,
        frames,
        "agree" if agree else "differ",
        offset_ns=(low + high) / 2,
        uncertainty_ns=abs(low - high) / 2,
        drift=drift,
        at_ns=start,
    )


def corrections(pairs: list[ClockPair]) -> dict[int, Correction]:
    """Corrections of files to the clock of the first file that they are compared with.

    Empty where no estimate contradicts the clocks as they are.
    """
    known = [one for one in pairs if one.offset_ns is not None]
    if all(one.verdict == "agree" for one in known):
        return {}
    found: dict[int, Correction] = {}
    for root in sorted({one.first for one in known}):
        if root in found:
            continue
        found[root] = Correction(0.0, 0.0, 0)
        reached = [root]
        for file in reached:
            base = found[file]
            for one in known:
                if file not in (one.first, one.second):
                    continue
                other = one.second if file == one.first else one.first
                if other in found:
                    continue
                sign = 1 if file == one.first else -1
                right = one.verdict == "agree"
                found[other] = Correction(
                    base.offset_ns + (0.0 if right else sign * (one.offset_ns or 0.0)),
                    base.drift + (0.0 if right else sign * one.drift),
                    base.at_ns or one.at_ns,
                )
                reached.append(other)
    return {file: one for file, one in found.items() if one.offset_ns or one.drift}
