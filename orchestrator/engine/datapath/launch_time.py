"""Launch times (SO_TXTIME): frames handed to the NIC ahead of their departure time.

The kernel's queue `etf` holds frames in the order of their times and hands them to a NIC that
launches each by its own clock (SO_TXTIME, linux/net_tstamp.h). The delay line of such a port is
shorter by LEAD: a frame that is out of it has that long until it leaves. One that is handed over
later leaves as soon as the queue takes it, and counts as late by what remains.
"""

from __future__ import annotations

from orchestrator.engine.datapath.emulation_clock import NS_PER_US, run_time
from orchestrator.engine.datapath.libc import clock_gettime
from orchestrator.engine.datapath.link_counters import SENT_PS
from orchestrator.engine.datapath.mmsg_batch import CONTROL_AT, CONTROL_LENGTH, QUEUED
from orchestrator.engine.datapath.rig import Rig
from orchestrator.engine.jit import compiled

LEAD, TAI, BEHIND = range(3)
"""Words of `Rig.launches`: by how much the delay lines of launched ports are shorter (ps of the
run), 0 where none is; CLOCK_TAI, read last (ns); frames that were handed over too late."""
WORDS = 3
CLOCK_TAI = 11
LAUNCH_KIND, LAUNCH_OCTETS = 1 | 61 << 32, 24
"""Word 1 and length of the control message: SOL_SOCKET, SCM_TXTIME."""
LEAD_NS = 500_000
"""Of the machine's time, from the delay line to the wire."""
SOONEST_NS = 250_000
"""The queue is asked for no time sooner than this from now: it wakes QUEUE_NS before each."""
QUEUE_NS = 150_000


@compiled
def begin_launches(rig: Rig) -> None:
    """Frames are about to be sent, and the run's clock has just been read."""
    clock_gettime(CLOCK_TAI, rig.stamp.ctypes.data)
    rig.launches[TAI] = rig.stamp[0] * 1_000_000_000 + rig.stamp[1]


@compiled
def set_launch_time(rig: Rig, wire: int, due: int, now: int) -> int:
    """Write beside the frame that is posted next when it is to leave; how late that is (ps)."""
    batch = rig.outgoing
    k = batch.state[QUEUED]
    if k == batch.headers.shape[0]:
        return 0
    if rig.launched[wire] == 0:
        batch.headers[k, CONTROL_LENGTH] = 0
        return now - due
    rig.tally[wire, SENT_PS] += rig.launches[LEAD]
    ahead, speed = due + rig.launches[LEAD] - now, rig.speed[0]
    ahead_ns = ahead // speed * NS_PER_US + ahead % speed * NS_PER_US // speed
    late_ns = max(SOONEST_NS - ahead_ns, 0)
    if late_ns > 0:
        rig.launches[BEHIND] += 1
    control = batch.control[k]
    control[0], control[1] = LAUNCH_OCTETS, LAUNCH_KIND
    control[2] = rig.launches[TAI] + ahead_ns + late_ns
    batch.headers[k, CONTROL_AT] = control.ctypes.data
    batch.headers[k, CONTROL_LENGTH] = LAUNCH_OCTETS
    return run_time(late_ns, rig.speed[0])
