"""Send loop of a storm: sends due frames and reads the kernel's transmit timestamps.

Compiled and off the GIL. Nothing but holds is on its sockets, so no data is ever in the way here;
what lies before a frame in the NIC itself shows in the kernel's stamps and at the far end.
"""

from __future__ import annotations

from orchestrator.engine.datapath.libc import external, monotonic_ns, sleep_until
from orchestrator.engine.datapath.mmsg_batch import STAMP_KIND
from orchestrator.engine.histogram import add
from orchestrator.engine.jit import compiled
from orchestrator.pause_storm import deadline_schedule
from orchestrator.pause_storm.hold_accounting import KERNEL, OWN, account, close
from orchestrator.pause_storm.pause_frames import HOLDS, LETS_GO

send = external("send", "int64", "int32", "int64", "uint64", "int32")
recvmsg = external("recvmsg", "int64", "int32", "int64", "int32")

MSG_DONTWAIT, MSG_ERRQUEUE = 0x40, 0x2000
RETRY_NS = 20_000
"""After a frame that the kernel refused (no room, the link is down)."""
LONGEST_NAP_NS = 20_000_000
"""So that it is noticed soon when the storm is to end."""
QUANTA_FROM = 16
"""PAUSE's quanta, or PFC's vector; its quanta end at 34."""
VECTOR_TO, QUANTA_TO = 18, 34
STOP, END_NS, NAP_NS, STAMPS, SENT, STAMPED, WORDS = range(7)
"""Words of `Desk.control`: set to end the storm; when it ends; sleep when nothing is due for longer
(0: never); whether the kernel is asked for stamps; frames that left; those with a stamp."""
CONTROL_OCTETS = 128
"""Of the control messages that come with a stamp: 64 of times, 32 of what it is about."""


@compiled
def send_due(desk, row, now):
    """Send the frame that is due of a hold, and account for it by the sender's own clock."""
    hold = desk.holds[row]
    lets = deadline_schedule.is_release(desk.holds, row, now)
    before = monotonic_ns(desk.timespec)
    add(desk.lateness, (before - hold["due_ns"]) * 1000)
    after = before
    if hold["socket"] >= 0:
        frame = desk.octets[row, LETS_GO if lets else HOLDS]
        gone = send(hold["socket"], frame.ctypes.data, frame.size, MSG_DONTWAIT)
        after = monotonic_ns(desk.timespec)
        if gone < 0:
            hold["refused"] += 1
            hold["due_ns"] = after + RETRY_NS
            return
    desk.control[SENT] += 1
    deadline_schedule.reschedule_hold(desk.holds, row, lets, before)
    account(desk.own, row, 0 if lets else 1, before, after, hold["hold_ns"], OWN, desk.notes)


@compiled
def read_stamp(desk, row):
    """Take one stamp of a hold's socket, if there is one; the frame itself comes with it."""
    desk.header[1] = 0
    desk.header[5] = CONTROL_OCTETS
    got = recvmsg(desk.holds[row]["socket"], desk.header.ctypes.data, MSG_DONTWAIT | MSG_ERRQUEUE)
    if got < 0:
        return False
    if desk.ancillary[1] != STAMP_KIND or got < QUANTA_TO:
        return True
    at = desk.ancillary[2] * 1_000_000_000 + desk.ancillary[3]
    holds = 0
    plain = desk.echoed[15] == 1 and desk.echoed[14] == 0
    begins = QUANTA_FROM if plain else VECTOR_TO
    for place in range(begins, VECTOR_TO if plain else QUANTA_TO):
        if desk.echoed[place] != 0:
            holds = 1
    desk.control[STAMPED] += 1
    hold_ns = desk.holds[row]["hold_ns"]
    account(desk.kernel, row, holds, at, at, hold_ns, KERNEL, desk.notes)
    return True


@compiled
def read_stamps(desk):
    """Take one stamp of each socket that has frames without one, or all that there are."""
    for row in range(desk.holds.size):
        if desk.own[row]["frames"] > desk.kernel[row]["frames"]:
            read_stamp(desk, row)


@compiled
def run_holds(desk):
    """Keep every hold until the storm ends, then let all ports go."""
    now = monotonic_ns(desk.timespec)
    while desk.control[STOP] == 0 and now < desk.control[END_NS]:
        row = deadline_schedule.most_urgent(desk.holds, now)
        if row >= 0:
            if deadline_schedule.skip_past(desk.holds, row, now):
                send_due(desk, row, now)
        else:
            if desk.control[STAMPS] != 0:
                read_stamps(desk)
            due = min(deadline_schedule.next_due(desk.holds), desk.control[END_NS])
            if desk.control[NAP_NS] > 0 and due - now > desk.control[NAP_NS]:
                sleep_until(desk.timespec, min(due, now + LONGEST_NAP_NS))
        now = monotonic_ns(desk.timespec)
    for row in range(desk.holds.size):
        if desk.holds[row]["holding"] != 0:
            desk.holds[row]["until_ns"] = min(desk.holds[row]["until_ns"], now)
            desk.holds[row]["due_ns"] = now
            send_due(desk, row, now)


@compiled
def drain_stamps(desk):
    """Take all stamps that are still to be had, and close the books."""
    for row in range(desk.holds.size):
        while desk.control[STAMPS] != 0 and read_stamp(desk, row):
            pass
        close(desk.own, row)
        close(desk.kernel, row)
