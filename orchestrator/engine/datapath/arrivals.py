"""When frames arrived, by the kernel's clock, and how long they have waited since.

The loop takes a frame in some time after it came: it was busy with other frames, or off its core.
Where the socket is asked for times of arrival (SO_TIMESTAMPING) each frame brings one beside it, of
a clock that is read here once in every turn together with the run's own. What lies between is what
the frame waited for this machine, not for the network that is emulated, and it is left out of the
delays that hosts measure: the departure that a frame tells, or that an acknowledgement echoes, is
moved by as much. So it is what a NIC would tell that stamps frames itself: the delay of the
network apart from that of the host.
"""

from __future__ import annotations

from orchestrator.engine.datapath.batch import STAMP_KIND
from orchestrator.engine.datapath.libc import clock_gettime
from orchestrator.engine.datapath.pace import LAST, dilated
from orchestrator.engine.histogram import add
from orchestrator.engine.jit import compiled

ASKED, CLOCK, WORD, WITHOUT = range(4)
"""Words of `Rig.arrivals`: whether times are asked for; the clock that they are of, as
clock_gettime takes it; the word of a control message that they begin at; frames without one."""
EARLIER, TURN, TAKING = range(3)
"""Rows of `Rig.instants`, each the clock's reading (ns) and the run's (ps) at one instant: the
beginning of the turn before, of this turn, and of the batch that is being taken in."""
SOFTWARE_WORD = 2
"""Of a control message of three `struct timespec`: where the one that the kernel took begins."""
WORDS = 4


@compiled
def _read(rig, row):  # type: ignore[no-untyped-def]
    """Write what both clocks tell now."""
    clock_gettime(rig.arrivals[CLOCK], rig.stamp.ctypes.data)
    rig.instants[row, 0] = rig.stamp[0] * 1_000_000_000 + rig.stamp[1]
    rig.instants[row, 1] = rig.turn[LAST]


@compiled
def begin_turn(rig):  # type: ignore[no-untyped-def]
    """A turn of the loop begins, and the run's clock has just been read."""
    if rig.arrivals[ASKED] != 0:
        rig.instants[EARLIER, 0] = rig.instants[TURN, 0]
        rig.instants[EARLIER, 1] = rig.instants[TURN, 1]
        _read(rig, TURN)


@compiled
def begin_batch(rig):  # type: ignore[no-untyped-def]
    """A batch was received, and the run's clock has just been read."""
    if rig.arrivals[ASKED] != 0:
        _read(rig, TAKING)


@compiled
def since(instants, clock, speed):  # type: ignore[no-untyped-def]
    """Time of the run (ps) between the reading `clock` (ns) and the batch that is taken in.

    What the run's clock stood still for counts in proportion within a turn.
    """
    passed = 0
    for row in (TURN, EARLIER):
        ours, theirs = instants[row + 1 if row == EARLIER else TAKING], instants[row]
        if clock >= theirs[0]:
            if ours[0] <= theirs[0]:
                return passed
            share = (ours[0] - clock) / (ours[0] - theirs[0])
            return passed + int(max(share, 0.0) * (ours[1] - theirs[1]))
        passed += ours[1] - theirs[1]
    return passed + dilated(instants[EARLIER, 0] - clock, speed)


@compiled
def waited(rig, k):  # type: ignore[no-untyped-def]
    """How long frame k of the batch has waited to be taken in (ps of the run); 0 if not known."""
    control = rig.incoming.control[k]
    if control[1] != STAMP_KIND:
        rig.arrivals[WITHOUT] += 1
        return 0
    word = rig.arrivals[WORD]
    clock = control[word] * 1_000_000_000 + control[word + 1]
    if clock == 0:
        rig.arrivals[WITHOUT] += 1
        return 0
    return max(since(rig.instants, clock, rig.speed[0]), 0)


@compiled
def leave_out(rig, k, frame, now):  # type: ignore[no-untyped-def]
    """Move the departure that frame k tells, if its octets carry one, by how long it waited."""
    if rig.arrivals[ASKED] == 0:
        return
    wait = waited(rig, k)
    add(rig.waits, wait)
    if frame.created > 0:
        frame.created = max(min(frame.created + wait, now), frame.created)
