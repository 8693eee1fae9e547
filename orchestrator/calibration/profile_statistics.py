"""Statistics that turn observed times into profile fields; nothing is measured here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orchestrator.engine.histogram import percentile_ps
from orchestrator.engine.node.transmitter import BIT_PS
from orchestrator.profile.profile_model import Times, Window

PPM = 10**6
WINDOWS_NS = (10**6, 10**7, 10**8, 10**9)
"""1 ms to 1 s."""
LEAST_WINDOWS = 2
"""Less than these, end to end, say nothing about windows of that length."""


def times_of(values: np.ndarray) -> Times:
    """A spread of times in ns, of which there is at least one."""
    shares = (0.5, 0.9, 0.99, 0.999, 1.0)
    p50, p90, p99, p999, most = (round(v) for v in np.quantile(values.astype(float), shares))
    return Times(count=len(values), p50_ns=p50, p90_ns=p90, p99_ns=p99, p999_ns=p999, max_ns=most)


def some_times_of(values: np.ndarray) -> Times | None:
    """The same; None of none."""
    return times_of(values) if len(values) else None


def times_of_histogram(histogram: np.ndarray) -> Times:
    """The same of a histogram of `orchestrator.engine.histogram`, its last word the longest."""
    p50, p90, p99, p999, most = (
        percentile_ps(histogram, share) // 1000 for share in (0.5, 0.9, 0.99, 0.999, 1.0)
    )
    count = int(histogram[:-1].sum())
    return Times(count=count, p50_ns=p50, p90_ns=p90, p99_ns=p99, p999_ns=p999, max_ns=most)


def gap_ns(frame: int, rate: int) -> float:
    """From one frame to the next of a source at a rate (bit/s)."""
    return frame * BIT_PS / rate / 1000


def mean_error_ppm(times_ns: np.ndarray, gap: float) -> float:
    """By how much frames at these times are faster than one each `gap` ns, on the mean."""
    span = float(times_ns[-1] - times_ns[0])
    return ((len(times_ns) - 1) * gap / span - 1) * PPM if span > 0 else 0.0


def window_errors(
    times_ns: np.ndarray, gap: float, lengths: Sequence[int] = WINDOWS_NS
) -> list[Window]:
    """By how much the rate within windows is off; they slide from frame to frame.

    A window is as many whole frames as fit its length, at least one: what is compared is the time
    they took and the time that they should have, so that no fraction of a frame is in it.
    """
    found = []
    for length in lengths:
        frames = max(round(length / gap), 1)
        if len(times_ns) < LEAST_WINDOWS * frames + 1:
            continue
        took = (times_ns[frames:] - times_ns[:-frames]).astype(float)
        due = frames * gap
        error = np.abs(took / due - 1) * PPM
        p50, p99, most = (float(v) for v in np.quantile(error, (0.5, 0.99, 1.0)))
        found.append(
            Window(
                window_ns=length,
                windows=len(took),
                p50_error_ppm=round(p50, 3),
                p99_error_ppm=round(p99, 3),
                max_error_ppm=round(most, 3),
            )
        )
    return found


def wire_ps(frame: int, rate: int) -> int:
    """ps that a frame takes on a wire, rounded up."""
    return -(-frame * BIT_PS // rate)


def order_of(sequence: np.ndarray) -> tuple[int, int]:
    """Frames that are missing between the first and the last, and those behind a later one."""
    if not len(sequence):
        return 0, 0
    highest = np.maximum.accumulate(sequence)
    late = int(np.count_nonzero(sequence < highest))
    lost = int(sequence.max() - sequence.min()) + 1 - len(np.unique(sequence))
    return lost, late


def matched(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places of the numbers that are in both, each once."""
    _, mine, theirs = np.intersect1d(left, right, return_indices=True)
    return mine, theirs


def last_before(times: np.ndarray, instants: np.ndarray) -> np.ndarray:
    """The place of the last of the times, in rising order, not after each instant; -1: none."""
    return np.searchsorted(times, instants, side="right") - 1


def overlapping(gaps: Sequence[np.ndarray]) -> np.ndarray:
    """Times at which all of several threads were stalled, int64[n, 2]: start, duration.

    `gaps`: of each thread int64[n, 2] in order of time.
    """
    common = gaps[0]
    for other in gaps[1:]:
        found: list[tuple[int, int]] = []
        place = 0
        for begin, length in common.tolist():
            end = begin + length
            while place < len(other) and other[place, 0] + other[place, 1] <= begin:
                place += 1
            at = place
            while at < len(other) and other[at, 0] < end:
                first = max(begin, int(other[at, 0]))
                last = min(end, int(other[at, 0] + other[at, 1]))
                if last > first:
                    found.append((first, last - first))
                at += 1
        common = np.array(found, np.int64).reshape(-1, 2)
    return common


def as_plain_data(model: Any) -> dict[str, Any]:
    """A section as plain data, as it travels from the worker."""
    data: dict[str, Any] = model.model_dump(mode="json")
    return data
