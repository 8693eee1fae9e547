"""Probe of this machine: lateness of timer wake-ups, and gaps in a busy loop.

Both bound the precision of a real-time target: a data path that sleeps is late by the lateness of
its wake-ups; one that busy-polls, by the longest gap.
"""

from __future__ import annotations

import time

SLEEP_NS = 500_000
GAP_FLOOR_NS = 10_000
"""A busy loop reads the clock every 0.1 µs or so; in a longer gap it did not have the core."""


def percentile(ordered: list[int], share: float) -> int:
    """The smallest of the ordered values that at least `share` of them do not exceed."""
    return ordered[max(0, int(share * len(ordered) + 0.999999) - 1)]


def sleep_lateness(duration_s: float) -> dict[str, float]:
    """Sleep for 0.5 ms repeatedly for `duration_s`; lateness of the wake-ups, in seconds."""
    late: list[int] = []
    end = time.monotonic_ns() + int(duration_s * 1e9)
    while (begun := time.monotonic_ns()) < end or not late:
        time.sleep(SLEEP_NS / 1e9)
        late.append(time.monotonic_ns() - begun - SLEEP_NS)
    late.sort()
    return {
        "p50_s": percentile(late, 0.5) / 1e9,
        "p99_s": percentile(late, 0.99) / 1e9,
        "max_s": late[-1] / 1e9,
    }


def spin_gaps(duration_s: float) -> dict[str, float]:
    """Read the clock without pause for `duration_s`; the gaps above 10 µs, in seconds."""
    clock = time.monotonic_ns
    longest = lost = 0
    last = begun = clock()
    end = begun + int(duration_s * 1e9)
    while last < end:
        now = clock()
        gap = now - last
        if gap > GAP_FLOOR_NS:
            lost += gap
            longest = max(longest, gap)
        last = now
    return {"max_gap_s": longest / 1e9, "lost_share": lost / (last - begun)}
