"""Emulation clock: real time, held back while a thread of the data path is stalled.

When the machine takes a thread off its core for milliseconds, frames that became due meanwhile
would all leave at once and overrun queues that a faithful run would not. So emulated time never
runs further than `horizon` ahead of any thread, nor by more than that in one turn of a loop; what
real time is ahead of that is dropped from the clock, counted, and judged. On a machine that
keeps up the clock is real time.

A run may ask for a slower clock, in which a machine has more time for each frame (time dilation:
Gupta and others, "To infinity and beyond", NSDI 2006): all that this module tells is in its time.
"""

from __future__ import annotations

from orchestrator.engine.datapath.libc import monotonic_ns
from orchestrator.engine.datapath.rig import Rig
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.records import NEVER

REAL_TIME = 10**6
"""Ps per us: the speed of a clock that is not asked to be slower or faster. Per us, because a
network of 100 Gb/s and 50 ns wants a thousandth of real time and less."""
PS_PER_NS = NS_PER_US = 1000
LAST, HOLDS, LONGEST, HOLDING = range(4)
"""Words of `Rig.turn`: the time last read (ps); how often this thread held the clock, for how
long at the most (ps), and for how long it is holding it now."""


@inlined
def run_time(elapsed_ns: int, speed: int) -> int:
    """Ps of the run in so many ns, at `speed` ps per us: rounded down, however long it lasts."""
    return elapsed_ns // NS_PER_US * speed + elapsed_ns % NS_PER_US * speed // NS_PER_US


@inlined
def elapsed_run_time(rig: Rig) -> int:
    """Ps since the start of the run less what was dropped so far; negative before it.

    `speed` is ps of the run per us of this machine, REAL_TIME of them unless a pace is asked for.
    `rate_ppb` is by how much the clock of another machine, which the run goes by, runs faster.
    """
    elapsed_ns = monotonic_ns(rig.stamp) - rig.start_ns[0]
    elapsed_ns += elapsed_ns * rig.rate_ppb[0] // 10**9
    time = run_time(elapsed_ns, rig.speed[0])
    for thread in range(rig.held.size):
        time -= rig.held[thread]
    return time


@inlined
def horizon_bound(rig: Rig) -> int:
    """Limit of emulated time (ps): the horizon behind the thread that is furthest back."""
    slowest = rig.progress[0]
    for thread in range(1, rig.progress.size):
        slowest = min(slowest, rig.progress[thread])
    return max(slowest, 0) + rig.horizon[0]


@inlined
def current_time(rig: Rig) -> int:
    """Emulated time now (ps), as this thread sees it: never going back, negative before the start.

    Real time that the run will drop is not in it, even before it is counted.
    """
    now = elapsed_run_time(rig)
    if now > 0:
        now = min(now, horizon_bound(rig))
    rig.turn[LAST] = max(rig.turn[LAST], now)
    return rig.turn[LAST]


@inlined
def next_instant(rig: Rig, until: int) -> int:
    """The whole ns behind the time last read (ps, at most `until`), for the next frame that comes
    in: its capture tells by times alone in which order a node took frames of several ports.

    While the clock is held back it reads the same for many frames: each is let a ns ahead of it.
    """
    rig.turn[LAST] = (rig.turn[LAST] // PS_PER_NS + 1) * PS_PER_NS
    return min(rig.turn[LAST], until)


@compiled
def advance(rig: Rig) -> int:
    """Begin a turn: the time up to which events may be carried out (ps), never going back.

    Every thread writes its own word of `progress` and reads all of them; the first thread alone
    writes to `held`, the others wait for it.
    """
    me = rig.thread[0]
    if me == 0:  # it alone drops time: a stall of several threads counts once
        ahead = elapsed_run_time(rig) - horizon_bound(rig)
        if ahead > 0:
            rig.held[me] += ahead
            if rig.turn[HOLDING] == 0:
                rig.turn[HOLDS] += 1
            rig.turn[HOLDING] += ahead
            rig.turn[LONGEST] = max(rig.turn[LONGEST], rig.turn[HOLDING])
        else:
            rig.turn[HOLDING] = 0
    rig.progress[me] = current_time(rig)
    return rig.turn[LAST]


@compiled
def leave_clock(rig: Rig) -> None:
    """This thread is done: no other thread waits for it any more."""
    rig.progress[rig.thread[0]] = NEVER
