"""Departure times of sent frames, from kernel or NIC timestamps, and their lateness.

A frame carries the departure that was due. Its real departure is reported after it has left, by the
error queue of its socket, with its octets: too late for the frame, in time for its acknowledgement.
So the sender records what it sent, and how late that left; the departure that an acknowledgement of
a segment echoes is moved by as much before the acknowledgement is processed. The lateness of an
acknowledgement itself is counted and reported to no algorithm: its sender cannot correct it any
more, and its receiver does not know it.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.datapath import error_queue
from orchestrator.engine.datapath.arrival_times import begin_batch, since
from orchestrator.engine.datapath.emulation_clock import LAST, current_time
from orchestrator.engine.datapath.error_queue import CODE, INFO, MISSED, ORIGIN, TIMES
from orchestrator.engine.datapath.mmsg_batch import CONTROL_LENGTH, GOT
from orchestrator.engine.datapath.phc_mapping import SOFTWARE_WORD, WORD, system_time
from orchestrator.engine.datapath.rig import Rig
from orchestrator.engine.frames.frame_codec import FOREIGN, decode
from orchestrator.engine.frames.frame_type import LINK, REWRITE_FIELDS
from orchestrator.engine.frames.roce_frame_types import PSN_MASK
from orchestrator.engine.histogram import add
from orchestrator.engine.index_types import FlowIndex, PortIndex
from orchestrator.engine.jit import compiled
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import ACK, DATA, NONE, NOT_ROCE, SACK, Frame

REQUESTED, RECORDED, TIMED, UNMATCHED, MOVED, MISSED_LAUNCHES, BAD_LAUNCHES = range(7)
"""Words of `Rig.departures`: whether times of departure are asked for; frames that were sent; those
of them whose time was reported; times of no recorded frame; echoes that were moved; launches that
went by; those whose time was over, or none, when they were asked for."""
WORDS = 7
SOCKET, KIND, FLOW, SEQUENCE, CREATED, DUE, WIRE, LATE = range(8)
"""Columns of `Rig.left`, a row for each frame that was sent; LATE: NONE until it is reported."""
COLUMNS = 8
ROWS = 1 << 14


@compiled
def row_of(rig: Rig, socket: int, kind: int, flow: FlowIndex, sequence: int) -> int:
    """The row of `Rig.left` for a frame: frames of a flow in turn have rows of their own."""
    return ((flow * 2654435761 + sequence) * 31 + kind * 7 + socket) & (rig.left.shape[0] - 1)


@compiled
def holds_frame(row: np.ndarray, socket: int, kind: int, flow: FlowIndex, sequence: int) -> int:
    """True if a row is that of this frame: another frame may have overwritten it."""
    same = row[SOCKET] == socket and row[KIND] == kind
    return same and row[FLOW] == flow and row[SEQUENCE] == sequence


@compiled
def has_flow_sequence(types: np.ndarray, kind: int) -> bool:
    """True if frames of a kind have a flow and a sequence: those of links (PAUSE), of programs and
    of other devices do not, and their times are passed over."""
    return types[kind].carried != LINK and types[kind].rewrite <= REWRITE_FIELDS


@compiled
def sequence_on_wire(w: World, frame: Frame) -> int:
    """The sequence of a frame as far as its octets hold it: of a RoCEv2 packet its PSN."""
    if 0 <= frame.flow < w.flows.size and w.flows[frame.flow].roce != NOT_ROCE:
        return frame.sequence & PSN_MASK
    return frame.sequence


@compiled
def record_sent(w: World, rig: Rig, socket: int, wire: int, frame: Frame) -> None:
    """Record a frame that is sent: the kernel will report its time."""
    if not has_flow_sequence(w.types, frame.kind):
        return
    sequence = sequence_on_wire(w, frame)
    row = rig.left[row_of(rig, socket, frame.kind, frame.flow, sequence)]
    row[SOCKET], row[KIND], row[FLOW] = socket, frame.kind, frame.flow
    row[SEQUENCE], row[CREATED] = sequence, frame.created
    row[DUE], row[WIRE], row[LATE] = frame.due, wire, NONE
    rig.departures[RECORDED] += 1


@compiled
def read_error_queue(w: World, rig: Rig, socket: int) -> None:
    """Take in what the error queue of a socket holds. Afterwards the run's clock is to be read."""
    batch = rig.errors.batch
    count = error_queue.receive_errors(batch, rig.sockets[socket])
    while count > 0:
        current_time(rig)
        begin_batch(rig)
        for k in range(count):
            apply_report(w, rig, socket, k)
        if count < batch.headers.shape[0]:
            return
        count = error_queue.receive_errors(batch, rig.sockets[socket])


@compiled
def apply_report(w: World, rig: Rig, socket: int, k: int) -> None:
    """Apply message k of a batch, which reports a frame's departure or a failed launch."""
    batch, report = rig.errors.batch, rig.errors.report
    known = error_queue.parse_report(batch.control[k], batch.headers[k, CONTROL_LENGTH], report)
    if known and report[ORIGIN] == error_queue.LAUNCH_REPORT:
        missed = report[CODE] == MISSED
        rig.departures[MISSED_LAUNCHES if missed else BAD_LAUNCHES] += 1
        return
    of_times = (
        known
        and report[ORIGIN] == error_queue.TIMESTAMP_REPORT
        and report[INFO] == error_queue.SENT
    )
    frame = rig.errors.frame[0]
    length = batch.headers[k, GOT] & 0xFFFFFFFF
    if not of_times or report[TIMES] == 0:
        rig.departures[UNMATCHED] += 1
        return
    if decode(w.types, batch.octets[k], length, frame) == FOREIGN:
        return
    if not has_flow_sequence(w.types, frame.kind):
        return
    sequence = sequence_on_wire(w, frame)
    row = rig.left[row_of(rig, socket, frame.kind, frame.flow, sequence)]
    if not holds_frame(row, socket, frame.kind, frame.flow, sequence) or row[LATE] != NONE:
        rig.departures[UNMATCHED] += 1
        return
    word = report[TIMES] + rig.clocks[row[WIRE], WORD] - SOFTWARE_WORD
    clock = batch.control[k, word] * 1_000_000_000 + batch.control[k, word + 1]
    if clock == 0:
        rig.departures[UNMATCHED] += 1
        return
    ago = since(rig.instants, system_time(rig.clocks, row[WIRE], clock), rig.speed[0])
    row[LATE] = max(rig.turn[LAST] - ago - row[DUE], 0)
    rig.departures[TIMED] += 1
    add(rig.late, row[LATE])


@compiled
def correct_echo(w: World, rig: Rig, socket: int, port: PortIndex, frame: Frame, now: int) -> None:
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
    if not holds_frame(row, socket, DATA, frame.flow, segment):
        return
    if row[LATE] <= 0 or row[CREATED] > frame.created:
        return
    if frame.kind == ACK:
        after = rig.left[row_of(rig, socket, DATA, frame.flow, segment + 1)]
        later = holds_frame(after, socket, DATA, frame.flow, segment + 1)
        if later and after[CREATED] <= frame.created:
            return
    frame.created = max(min(frame.created + row[LATE], now), frame.created)
    rig.departures[MOVED] += 1
