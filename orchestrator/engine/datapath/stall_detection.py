"""Stall detection: long iterations of the loop, their time of the run and their cause.

A turn is compared with the one before it by readings of the clock that it takes anyway. Where one
took longer than the floor, who had the core meanwhile is asked of the kernel, which takes some
microseconds, and kept in a row; the same is asked every now and then, so that a row tells of its
own turn and of little before it.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.datapath.libc import clock_gettime, getrusage, monotonic_ns, pread
from orchestrator.engine.datapath.rig import Rig
from orchestrator.engine.index_types import int64
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.world_arrays import World


@compiled
def watch_clock(
    until_ns: int, floor_ns: int, gaps: np.ndarray, least: np.ndarray, stamp: np.ndarray
) -> int:
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


(
    FLOOR_NS,  # a turn that takes no longer is none of these
    FILE,  # descriptor of this thread's /proc/thread-self/schedstat; -1: there is none
    COUNT,  # of turns above the floor, those that found no row too
    TIME_NS,  # that they took in all
    BEGAN_NS,  # of the turn that goes on: CLOCK_MONOTONIC,
    BEGAN_PS,  # the run's time,
    BEGAN_WORK,  # and the work done before it
    QUERY_NS,  # when the kernel is asked next
    QUERIED_NS,  # when it was asked last, and its answers then:
    CPU_NS,  # time on the core, which a hypervisor that tells what it steals does not count towards
    WAITED_NS,  # ready and without the core, which others had; NONE: it does not say
    SLEPT,  # how often the thread gave the core away
    FRAMES,  # taken in so far
    BUSY_NS,  # of turns up to the floor that did any work, what they took
    BUSY_WORK,  # and the work
    LEAST,  # what the floor is from the beginning of the loop on
    MOST_NS,  # of turns above the floor that found no row: the longest,
    MOST_PS,  # and the most of the run's time that went by in one
) = range(18)
"""Words of `Rig.stalled`. Work: events carried out and frames taken in, each of them one."""
WORDS = 18
(
    FROM_NS,  # beginning and end, by CLOCK_MONOTONIC
    TO_NS,
    FROM_PS,  # and in the run's time
    TO_PS,
    WORK,  # done in it
    AFTER,  # events that were due by its end and carried out at once
    SPAN_NS,  # of what the next three tell: from when the kernel was last asked until its end
    SPAN_CPU_NS,
    SPAN_WAITED_NS,
    SPAN_SLEPT,
) = range(10)
"""Columns of `Rig.stalls`."""
COLUMNS = 10
ROWS = 8192
LEAST_NS = 50_000
"""The least floor: interrupts and short turns of the kernel's own threads are shorter."""
RETRY_NS = 10_000_000
"""From one asking to the next: two microseconds of each ten milliseconds."""
TRIES = 4
"""To be answered without a stall in between; then the answers are taken as they are."""
FAR, NONE = 1 << 62, -1
USAGE_WORDS, GIVEN_AWAY = 18, 16
"""Words of `struct rusage`; the one that counts voluntary context switches."""
RUSAGE_THREAD, CLOCK_THREAD_CPUTIME = 1, 3
TEXT = 64
"""Octets of a schedstat: three numbers."""


def words(floor_ns: int) -> np.ndarray:
    """`Rig.stalled` of a thread: int64[WORDS]. Nothing is noted before `begin_stall_detection`,
    which gives it a floor: `floor_ns`, or LEAST_NS if that is more."""
    fresh = np.zeros(WORDS, np.int64)
    fresh[[FILE, WAITED_NS]] = NONE
    fresh[[FLOOR_NS, QUERY_NS, BEGAN_WORK]] = FAR
    fresh[LEAST] = max(floor_ns, LEAST_NS)
    return fresh


@compiled
def second_number(text: np.ndarray, octets: int) -> int:
    """The second of some decimal numbers in the first octets of a text; NONE: there is none."""
    found, number, inside = 0, int64(0), False
    for place in range(octets):
        digit = int64(text[place]) - 48
        if 0 <= digit <= 9:
            number = 10 * number + digit if inside else digit
            inside = True
        elif inside:
            found += 1
            inside = False
            if found == 2:
                return number
    return number if inside and found == 1 else NONE


@compiled
def query_thread_usage(rig: Rig) -> None:
    """Read the kernel's accounting of this thread into the words of `rig.stalled`."""
    stalled = rig.stalled
    clock_gettime(CLOCK_THREAD_CPUTIME, rig.usage.ctypes.data)
    stalled[CPU_NS] = rig.usage[0] * 1_000_000_000 + rig.usage[1]
    getrusage(RUSAGE_THREAD, rig.usage.ctypes.data)
    stalled[SLEPT] = rig.usage[GIVEN_AWAY]
    octets = int64(pread(stalled[FILE], rig.schedstat.ctypes.data, rig.schedstat.size, 0))
    stalled[WAITED_NS] = second_number(rig.schedstat, octets)


@inlined
def now_ns(rig: Rig) -> int:
    """The reading of CLOCK_MONOTONIC that the loop took last (ns)."""
    return rig.stamp[0] * 1_000_000_000 + rig.stamp[1]


@inlined
def work_done(w: World, rig: Rig) -> int:
    """Events carried out and frames taken in so far."""
    return w.clock[0].events + rig.stalled[FRAMES]


@compiled
def begin_stall_detection(w: World, rig: Rig, now: int) -> None:
    """The loop begins, at `now` (CLOCK_MONOTONIC, ns): from here on turns are looked at."""
    query_thread_usage(rig)
    stalled = rig.stalled
    stalled[FLOOR_NS] = stalled[LEAST]
    stalled[BEGAN_NS] = stalled[QUERIED_NS] = now
    stalled[QUERY_NS] = now + RETRY_NS
    stalled[BEGAN_PS] = rig.turn[0]
    stalled[BEGAN_WORK] = work_done(w, rig)


@compiled
def query_thread_usage_at(rig: Rig, now: int) -> int:
    """Query at `now`; the time of the answers: later if a stall fell between two of them, which
    one of them would count for one iteration and the other for the next."""
    for _ in range(TRIES):
        begun = monotonic_ns(rig.stamp)
        query_thread_usage(rig)
        took = monotonic_ns(rig.stamp) - begun
        if took <= LEAST_NS:
            break
        now += took
    return now


@compiled
def record_iteration(w: World, rig: Rig, now: int, work: int) -> int:
    """Ask the kernel, and keep the turn that ended just now where it was a long one of the run;
    its row, NONE where it has none. `rig.stalled[QUERIED_NS]`: when it ended, `now` or later."""
    stalled = rig.stalled
    since, cpu = stalled[QUERIED_NS], stalled[CPU_NS]
    waited, slept = stalled[WAITED_NS], stalled[SLEPT]
    now = query_thread_usage_at(rig, now)
    stalled[QUERIED_NS] = now
    stalled[QUERY_NS] = now + RETRY_NS
    took = now - stalled[BEGAN_NS]
    if took <= stalled[FLOOR_NS] or rig.turn[0] <= 0:
        return NONE
    number = stalled[COUNT]
    stalled[COUNT] += 1
    stalled[TIME_NS] += took
    if number >= rig.stalls.shape[0]:
        gone = rig.turn[0] - max(stalled[BEGAN_PS], 0)
        stalled[MOST_NS] = max(stalled[MOST_NS], took)
        stalled[MOST_PS] = max(stalled[MOST_PS], gone)
        return NONE
    row = rig.stalls[number]
    row[FROM_NS], row[TO_NS] = stalled[BEGAN_NS], now
    row[FROM_PS], row[TO_PS] = stalled[BEGAN_PS], rig.turn[0]
    row[WORK] = work - stalled[BEGAN_WORK]
    row[SPAN_NS] = now - since
    row[SPAN_CPU_NS] = stalled[CPU_NS] - cpu
    known = waited != NONE and stalled[WAITED_NS] != NONE
    row[SPAN_WAITED_NS] = stalled[WAITED_NS] - waited if known else NONE
    row[SPAN_SLEPT] = stalled[SLEPT] - slept
    return number


@inlined
def check_last_iteration(w: World, rig: Rig) -> int:
    """A turn has begun, and the clock was read: the row of the one before it, mostly NONE."""
    stalled = rig.stalled
    now = now_ns(rig)
    work = work_done(w, rig)
    took = now - stalled[BEGAN_NS]
    row = int64(NONE)
    if took > stalled[FLOOR_NS] or now > stalled[QUERY_NS]:
        row = record_iteration(w, rig, now, work)
        now = stalled[QUERIED_NS]
    elif work > stalled[BEGAN_WORK]:
        stalled[BUSY_NS] += took
        stalled[BUSY_WORK] += work - stalled[BEGAN_WORK]
    stalled[BEGAN_NS] = now
    stalled[BEGAN_PS] = rig.turn[0]
    stalled[BEGAN_WORK] = work
    return row


@compiled
def end_backlog(w: World, rig: Rig, row: int) -> None:
    """Write the backlog of a stall into its row: the work due by the beginning of this
    iteration, now carried out."""
    rig.stalls[row, AFTER] = work_done(w, rig) - rig.stalled[BEGAN_WORK]
