"""Arrival times of received frames, from kernel or NIC timestamps, and their wait in the host.

The loop takes a frame in some time after it came: it was busy with other frames, or off its core.
If the socket reports times of arrival (SO_TIMESTAMPING) each frame carries one, of a clock that is
read here once in every iteration together with the run's own. The difference is the time that the
frame waited for this machine, not for the network that is emulated, and it is left out of the
delays that hosts measure: the departure that a frame carries, or that an acknowledgement echoes, is
moved by as much. So delays are those of a NIC that timestamps frames itself: the delay of the
network without that of the host. Where a NIC does, its times are carried over (`joined`).
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.datapath.emulation_clock import LAST, run_time
from orchestrator.engine.datapath.libc import clock_gettime
from orchestrator.engine.datapath.mmsg_batch import STAMP_KIND
from orchestrator.engine.datapath.phc_mapping import WORD, system_time
from orchestrator.engine.datapath.rig import Rig
from orchestrator.engine.histogram import add
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import Frame

REQUESTED, CLOCK, WITHOUT = range(3)
"""Words of `Rig.arrivals`: whether times are asked for; the system's clock that they are of or
carried over to (`joined`), as clock_gettime takes it; frames without one."""
EARLIER, TURN, BATCH = range(3)
"""Rows of `Rig.instants`, each the clock's reading (ns) and the run's (ps) at one instant: the
beginning of the turn before, of this turn, and of the batch that is being taken in."""
WORDS = 3


@compiled
def _read(rig: Rig, row: int) -> None:
    """Write the present readings of both clocks."""
    clock_gettime(rig.arrivals[CLOCK], rig.stamp.ctypes.data)
    rig.instants[row, 0] = rig.stamp[0] * 1_000_000_000 + rig.stamp[1]
    rig.instants[row, 1] = rig.turn[LAST]


@compiled
def begin_turn(rig: Rig) -> None:
    """A turn of the loop begins, and the run's clock has just been read."""
    if rig.arrivals[REQUESTED] != 0:
        rig.instants[EARLIER, 0] = rig.instants[TURN, 0]
        rig.instants[EARLIER, 1] = rig.instants[TURN, 1]
        _read(rig, TURN)


@compiled
def begin_batch(rig: Rig) -> None:
    """A batch was received, and the run's clock has just been read."""
    if rig.arrivals[REQUESTED] != 0:
        _read(rig, BATCH)


@compiled
def since(instants: np.ndarray, clock: int, speed: int) -> int:
    """Time of the run (ps) between the reading `clock` (ns) and the batch that is taken in.

    Between two readings the run's clock goes on with the machine's until it is held: what it stood
    still for is taken to lie at the end, so that a wait is never overestimated.
    """
    passed = 0
    for row in (TURN, EARLIER):
        ours, theirs = instants[row + 1 if row == EARLIER else BATCH], instants[row]
        if clock >= theirs[0]:
            return passed + ours[1] - min(theirs[1] + run_time(clock - theirs[0], speed), ours[1])
        passed += ours[1] - theirs[1]
    return passed + run_time(instants[EARLIER, 0] - clock, speed)


@compiled
def host_delay(rig: Rig, k: int, wire: int) -> int:
    """Time that frame k of the batch, out of a wire, has waited to be taken in (ps of the run); 0
    if not known."""
    control = rig.incoming.control[k]
    word = rig.clocks[wire, WORD]
    if word == 0 or control[1] != STAMP_KIND:
        rig.arrivals[WITHOUT] += 1
        return 0
    clock = control[word] * 1_000_000_000 + control[word + 1]
    if clock == 0:
        rig.arrivals[WITHOUT] += 1
        return 0
    clock = system_time(rig.clocks, wire, clock)
    return max(since(rig.instants, clock, rig.speed[0]), 0)


@compiled
def exclude_host_delay(rig: Rig, k: int, wire: int, frame: Frame, now: int) -> None:
    """Move the departure that frame k tells, if its octets carry one, by how long it waited."""
    if rig.arrivals[REQUESTED] == 0:
        return
    wait = host_delay(rig, k, wire)
    add(rig.waits, wait)
    if frame.created > 0:
        frame.created = max(min(frame.created + wait, now), frame.created)
