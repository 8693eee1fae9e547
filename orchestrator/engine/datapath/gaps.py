"""Jitter probe: a thread that reads the clock without pause and records the gaps."""

from __future__ import annotations

from orchestrator.engine.datapath.libc import monotonic_ns
from orchestrator.engine.jit import compiled


@compiled
def watch(until_ns, floor_ns, gaps, least, stamp):  # type: ignore[no-untyped-def]
    """Spin until a time of CLOCK_MONOTONIC; how many gaps above `floor_ns` there were.

    `gaps` int64[n, 2] takes the beginning and length of the first n of them (ns), `least` int64[1]
    the least step above 0 between two readings; `stamp` is scratch of the clock.
    """
    found = 0
    last = monotonic_ns(stamp)
    while last < until_ns:
        now = monotonic_ns(stamp)
        gap = now - last
        if gap > floor_ns:
            if found < gaps.shape[0]:
                gaps[found, 0] = last
                gaps[found, 1] = gap
            found += 1
        elif gap > 0 and gap < least[0]:
            least[0] = gap
        last = now
    return found
