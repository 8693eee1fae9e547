"""Transient metrics of a queue: amplitude, frequency, overshoot, settling time."""

from __future__ import annotations

import numpy as np

from traces.metrics.sample_table import PS, Window

TRAILING_PS = 20 * 10**9
"""Throughput is taken over the 20 ms that end at a sample."""
FULL = 0.95
"""Share of the service rate at which a port counts as recovered."""


def recovery_s(window: Window, entity: str) -> float | None:
    """Seconds from the window's start until throughput first reaches 95 % of the service rate.

    0 when it is there at the start; None when it never is within the window. The trailing 20 ms
    may begin before the window, never before the run.
    """
    table = window.table
    if window.last <= window.first:
        return None
    rows = slice(window.first, window.last + 1)
    times = table.times_ps
    ends = times[rows]
    sent = table.column(entity, "bytes_out")
    if not sent[window.last]:  # nothing ever left it
        return None
    earlier = np.interp(ends - TRAILING_PS, times, sent)
    bits = (sent[rows] - earlier) * 8
    rate = table.column(entity, "service_rate")[rows].astype(float)
    rate[0] = rate[:2].max()  # a sample on the boundary may be from before a step up
    reached = np.flatnonzero((bits >= FULL * rate * (TRAILING_PS / PS)) & (rate > 0))
    return int(ends[reached[0]] - times[window.first]) / PS if len(reached) else None


TAIL = 10
"""The rate that it stays at: the mean over the last tenth of the phase."""
RATE_TOLERANCE = 0.10
"""It is reached when the rate first lies within 10 % of that."""


def settling_s(window: Window, entity: str) -> float | None:
    """Seconds from the phase's start until the limiter's rate is first near its final one.

    A limiter that is not active has no rate. None when the phase is too short for a tenth, or when
    the limiter is not active at its end.
    """
    rows = window.grid
    tail = len(rows) // TAIL
    if not tail:
        return None
    rate = window.gauge(entity, "current_rate").astype(float)
    rate[window.gauge(entity, "active") == 0] = np.nan
    final = rate[-tail:].mean()
    reached = np.flatnonzero(np.abs(rate - final) <= RATE_TOLERANCE * final)
    if np.isnan(final) or not len(reached):
        return None
    times = window.table.times_ps
    return int(times[rows[reached[0]]] - times[window.first]) / PS


OUTER = (0.05, 0.95)
"""Between these shares of the samples a swing goes; single peaks beyond them are none."""
FEWEST = 40
"""Fewest samples for a result."""
WINDOWS_PER_PHASE = 20
"""A trailing mean is over so small a part of the phase."""
NEAR = 0.10
FEWEST_CYCLES = 2


def amplitude(queue: np.ndarray) -> float | None:
    """Half of what lies between the 5th and the 95th percentile (nearest rank)."""
    if not len(queue):
        return None
    ranks = [int(np.ceil(share * len(queue))) - 1 for share in OUTER]
    low, high = np.partition(queue, ranks)[ranks]  # both at once: half of the time
    return float(high - low) / 2


def is_still(queue: np.ndarray) -> bool:
    """True if all samples, of which there are some, are equal."""
    return bool(len(queue)) and int(queue.min()) == int(queue.max())


def no_swing(level: float, count: int) -> dict[str, float | None]:
    """The metrics of a queue that is still."""
    known = 0.0 if count >= FEWEST and level > 0 else None
    return {
        "queue_bytes.amplitude": 0.0,
        "queue.frequency_hz": None,
        "queue.overshoot": known,
        "queue.settling_s": known,
    }


def swings(window: Window, queue: np.ndarray) -> dict[str, float | None]:
    """The metrics of the queue's swing in one window; `queue` are its equally spaced samples."""
    wide = amplitude(queue)
    found: dict[str, float | None] = {
        "queue_bytes.amplitude": wide,
        "queue.frequency_hz": None,
        "queue.overshoot": None,
        "queue.settling_s": None,
    }
    if wide is None or len(queue) < FEWEST:
        return found
    times = window.times_ps
    later = queue[len(queue) // 2 :]
    final = float(later.mean())
    found["queue.frequency_hz"] = _frequency_hz(times, queue, wide)
    if final > 0:
        found["queue.overshoot"] = max((float(queue.max()) - final) / final, 0.0)
        found["queue.settling_s"] = _settling_s(times, queue, final)
    return found


def _frequency_hz(times: np.ndarray, queue: np.ndarray, wide: float) -> float | None:
    """Cycles per second: a cycle goes from below the mean to above it, by half an amplitude each.

    What swings less counts for nothing, so that noise upon a swing makes no cycles.
    """
    mean = queue.mean()
    above = queue > mean + wide / 2
    beyond = np.flatnonzero(above | (queue < mean - wide / 2))
    high = above[beyond]
    rises = beyond[1:][high[1:] & ~high[:-1]]
    if len(rises) <= FEWEST_CYCLES:
        return None
    return (len(rises) - 1) / (int(times[rises[-1]] - times[rises[0]]) / PS)


def _settling_s(times: np.ndarray, queue: np.ndarray, final: float) -> float | None:
    """Seconds until the trailing mean is near the final one and stays there.

    Near is within a tenth of it, or within the amplitude that the queue keeps for good.
    """
    size = len(queue) // WINDOWS_PER_PHASE
    sums = np.concatenate(([0.0], np.cumsum(queue, dtype=float)))
    trailing = (sums[size:] - sums[:-size]) / size
    off = np.abs(trailing - final)
    if float(off.max()) <= NEAR * final:
        return 0.0
    wide = amplitude(queue[len(queue) // 2 :]) or 0.0
    outside = np.flatnonzero(off > max(NEAR * final, wide))
    if not len(outside):
        return 0.0
    last = int(outside[-1]) + 1
    return int(times[last + size - 1] - times[0]) / PS if last < len(trailing) else None
