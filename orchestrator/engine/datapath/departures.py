"""Departure times of sent frames, from kernel or NIC timestamps, and their lateness.

A frame carries the departure that was due. Its real departure is reported after it has left, by the
error queue of its socket, with its octets: too late for the frame, in time for its acknowledgement.
So the sender records what it sent, and how late that left; the departure that an acknowledgement of
a segment echoes is moved by as much before the acknowledgement is processed. The lateness of an
acknowledgement itself is counted and reported to no algorithm: its sender cannot correct it any
more, and its receiver does not know it.
"""

from __future__ import annotations

from orchestrator.engine.datapath import errors
from orchestrator.engine.datapath.arrivals import begin_batch, since
from orchestrator.engine.datapath.batch import CONTROL_LENGTH, GOT
from orchestrator.engine.datapath.errors import CODE, INFO, MISSED, ORIGIN, TIMES
from orchestrator.engine.datapath.joined import SOFTWARE_WORD, WORD, system_time
from orchestrator.engine.datapath.pace import LAST, reading
from orchestrator.engine.frames.codec import FOREIGN, decode
from orchestrator.engine.frames.frametype import LINK, OTHERS
from orchestrator.engine.histogram import add
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import ACK, DATA, NONE, SACK

ASKED, NOTED, TIMED, STRANGE, MOVED, MISSED_LAUNCHES, BAD_LAUNCHES = range(7)
"""Words of `Rig.departures`: whether times of departure are asked for; frames that were sent; those
of them whose time was reported; times of no recorded frame; echoes that were moved; launches that
went by; those whose time was over, or none, when they were asked for."""
WORDS = 7
SOCKET, KIND, FLOW, SEQUENCE, CREATED, DUE, WIRE, LATE = range(8)
"""Columns of `Rig.left`, a row for each frame that was sent; LATE: NONE until it is reported."""
COLUMNS = 8
ROWS = 1 << 14


@compiled
def row_of(rig, socket, kind, flow, sequence):  # type: ignore[no-untyped-def]
    """The row of `Rig.left` for a frame: frames of a flow in turn have rows of their own."""
    return ((flow * 2654435761 + sequence) * 31 + kind * 7 + socket) & (rig.left.shape[0] - 1)


@compiled
def is_there(row, socket, kind, flow, sequence):  # type: ignore[no-untyped-def]
    """True if a row is that of this frame: another frame may have overwritten it."""
    same = row[SOCKET] == socket and row[KIND] == kind
    return same and row[FLOW] == flow and row[SEQUENCE] == sequence


@compiled
def is_told_apart(types, kind):  # type: ignore[no-untyped-def]
    """True if frames of a kind have a flow and a sequence: those of links (PAUSE) and of programs
    do not, and their times are passed over."""
    return types[kind].carried != LINK and types[kind].rewrite != OTHERS


@compiled
def note(w, rig, socket, wire, frame):  # type: ignore[no-untyped-def]
    """Record a frame that is sent: the kernel will report its time."""
    if not is_told_apart(w.types, frame.kind):
        return
    row = rig.left[row_of(rig, socket, frame.kind, frame.flow, frame.sequence)]
    row[SOCKET], row[KIND], row[FLOW] = socket, frame.kind, frame.flow
    row[SEQUENCE], row[CREATED] = frame.sequence, frame.created
    row[DUE], row[WIRE], row[LATE] = frame.due, wire, NONE
    rig.departures[NOTED] += 1


@compiled
def hear(w, rig, socket):  # type: ignore[no-untyped-def]
    """Take in what the error queue of a socket holds. Afterwards the run's clock is to be read."""
    batch = rig.errors.batch
    count = errors.receive(batch, rig.sockets[socket])
    while count > 0:
        reading(rig)
        begin_batch(rig)
        for k in range(count):
            hear_one(w, rig, socket, k)
        if count < batch.headers.shape[0]:
            return
        count = errors.receive(batch, rig.sockets[socket])


@compiled
def hear_one(w, rig, socket, k):  # type: ignore[no-untyped-def]
    """Apply message k of a batch, which reports a frame's departure or a failed launch."""
    batch, told = rig.errors.batch, rig.errors.told
    known = errors.parse(batch.control[k], batch.headers[k, CONTROL_LENGTH], told)
    if known and told[ORIGIN] == errors.OF_LAUNCHES:
        missed = told[CODE] == MISSED
        rig.departures[MISSED_LAUNCHES if missed else BAD_LAUNCHES] += 1
        return
    of_times = known and told[ORIGIN] == errors.OF_TIMES and told[INFO] == errors.SENT
    frame = rig.errors.frame[0]
    length = batch.headers[k, GOT] & 0xFFFFFFFF
    if not of_times or told[TIMES] == 0:
        rig.departures[STRANGE] += 1
        return
    if decode(w.types, batch.octets[k], length, frame) == FOREIGN:
        return
    if not is_told_apart(w.types, frame.kind):
        return
    row = rig.left[row_of(rig, socket, frame.kind, frame.flow, frame.sequence)]
    if not is_there(row, socket, frame.kind, frame.flow, frame.sequence) or row[LATE] != NONE:
        rig.departures[STRANGE] += 1
        return
    word = told[TIMES] + rig.clocks[row[WIRE], WORD] - SOFTWARE_WORD
    clock = batch.control[k, word] * 1_000_000_000 + batch.control[k, word + 1]
    if clock == 0:
        rig.departures[STRANGE] += 1
        return
    ago = since(rig.instants, system_time(rig.clocks, row[WIRE], clock), rig.speed[0])
    row[LATE] = max(rig.turn[LAST] - ago - row[DUE], 0)
    rig.departures[TIMED] += 1
    add(rig.late, row[LATE])


@compiled
def move_echo(w, rig, socket, port, frame, now):  # type: ignore[no-untyped-def]
    """Move the departure that an acknowledgement echoes by how late the segment left, where this
    node sent it and knows.

    A selective one names the segment that it answers. One that is cumulative answers the last that
    it counts, unless it echoes the departure of a later one: then nothing is known.
    """
    if frame.kind == SACK:
        segment = frame.offset
    elif frame.kind == ACK:
        segment = frame.sequence - 1
    else:
        return
    if frame.flow < 0 or frame.flow >= w.flows.size:
        return
    if w.flows[frame.flow].node != w.ports[port].node:
        return
    row = rig.left[row_of(rig, socket, DATA, frame.flow, segment)]
    if not is_there(row, socket, DATA, frame.flow, segment):
        return
    if row[LATE] <= 0 or row[CREATED] > frame.created:
        return
    if frame.kind == ACK:
        after = rig.left[row_of(rig, socket, DATA, frame.flow, segment + 1)]
        later = is_there(after, socket, DATA, frame.flow, segment + 1)
        if later and after[CREATED] <= frame.created:
            return
    frame.created = max(min(frame.created + row[LATE], now), frame.created)
    rig.departures[MOVED] += 1
