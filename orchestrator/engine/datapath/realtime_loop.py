"""The real-time loop: node logic on the clock, frames on sockets, compiled and off the GIL.

Events are carried out at the instant for which they were due, however late the loop comes to
them, so that a delay of the machine neither adds up nor changes a rate; how late a frame really
was put on its wire is counted. A frame that comes in has the time at which it was taken in, no two
of a thread the same. The clock is that of `pace`.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.datapath import (
    arrival_times,
    departure_times,
    launch_time,
    packet_socket_io,
    port_backend,
    stall_detection,
)
from orchestrator.engine.datapath.emulation_clock import (
    advance,
    current_time,
    leave_clock,
    next_instant,
)
from orchestrator.engine.datapath.frame_guard import guard_received, guard_sent
from orchestrator.engine.datapath.host_port_io import (
    has_host_queue_space,
    receive_from_programs,
    send_to_programs,
)
from orchestrator.engine.datapath.libc import monotonic_ns, sched_yield
from orchestrator.engine.datapath.link_counters import (
    RECEIVED,
    SENT,
    count_order,
    count_received,
    count_sent,
)
from orchestrator.engine.datapath.mac_learning import bridged, rewrite_bridged
from orchestrator.engine.datapath.named_tuple_pointer import by_reference
from orchestrator.engine.datapath.neighbour_replies import is_answered
from orchestrator.engine.datapath.rig import Rig
from orchestrator.engine.frames.address_index import row_of
from orchestrator.engine.frames.frame_codec import FOREIGN, decode
from orchestrator.engine.frames.frame_type import (
    LINK,
    NO_REWRITE,
    REWRITE_BRIDGED,
    REWRITE_COPY,
    REWRITE_FIELDS,
)
from orchestrator.engine.frames.host_frames import decode_host, rewrite_host, source_of
from orchestrator.engine.frames.ipv6_header import rewrite_header
from orchestrator.engine.frames.roce_frame_types import encode_frame, extend_sequence
from orchestrator.engine.histogram import add
from orchestrator.engine.index_types import FrameIndex, PortIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.control_frames import push_control
from orchestrator.engine.node.descriptor_pool import take
from orchestrator.engine.node.event_loop import step
from orchestrator.engine.node.frame_capture import (
    corrupt_check,
    corrupt_last_octet,
    store_corrupted,
    store_frame,
    write_hop_addresses,
)
from orchestrator.engine.node.link_delivery import receive
from orchestrator.engine.node.receive_path import forward_by
from orchestrator.engine.node.telemetry_stamping import decode_stamps, encode_stamps
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import (
    ALTERED,
    BRIDGED,
    CNM,
    DATA,
    NIC,
    NONE,
    NOT_ROCE,
    PROGRAMS,
    SWITCH,
    WRONG_IPV4,
    WRONG_UDP,
    Frame,
)

ENDED = 1
"""Result of an iteration of the loop at the end of the run."""
EVENTS_PER_FLUSH = 64
"""Events between two looks at the wires; each puts at most one frame on a wire."""


@compiled
def flush_outbox(w: World, rig: Rig) -> None:
    """Put the frames in the outbox on their wires, socket by socket."""
    first = 0
    wires = rig.wires.shape[0]
    while first < wires:
        socket = rig.wires[first, 0]
        last = first
        waiting = 0
        while last < wires and rig.wires[last, 0] == socket:
            waiting += w.outbox_count[last]
            last += 1
        if waiting > 0:
            flush_socket(w, rig, socket, first, last)
        first = last
    if rig.host_sockets.size > 0:
        send_to_programs(w, rig)


@compiled
def run_due_events(w: World, now: int, done: int) -> int:
    """Carry out what is due by `now`, but no more than a flush of the wires has room for, of which
    `done` were carried out before; returns how many these are then."""
    before = done
    while done < EVENTS_PER_FLUSH and w.tree[1, 0] <= now:
        due = max(w.clock[0].now, w.tree[1, 0])
        w.clock[0].now = due
        step(w, w.tree[1, 1], due)
        done += 1
    w.clock[0].events += done - before
    return done


@inlined
def run_all_due_events(w: World, rig: Rig, now: int, done: int) -> int:
    """Carry out everything that is due by `now`. Of the frames that this puts into the outboxes as
    many may wait there as one flush has room for; `done` and the answer are events since the last.
    """
    if w.tree[1, 0] <= now:
        done = run_due_events(w, now, done)
        while done == EVENTS_PER_FLUSH:
            flush_outbox(w, rig)
            done = run_due_events(w, now, 0)
    return done


@inlined
def is_reply(w: World, port: PortIndex, frame: Frame) -> bool:
    """True for a host's reply to a neighbour (`neighbour_replies`): no frame of the plan, it stands
    in no capture."""
    return frame.kind == BRIDGED and w.nodes[w.ports[port].node].kind != SWITCH


@compiled
def flush_socket(w: World, rig: Rig, socket: int, first: int, last: int) -> None:
    """Send what waits for the wires from `first` to before `last`, all of one socket."""
    now = current_time(rig)
    timed = rig.departures[departure_times.REQUESTED] != 0
    launched = rig.launches[launch_time.LEAD] != 0
    if launched:
        launch_time.begin_launches(rig)
    for wire in range(first, last):
        for position in range(w.outbox_count[wire]):
            index = w.outbox[wire, position]
            frame = w.frames[index]
            port = rig.wires[wire, 2]
            known = frame.length
            how = w.types[frame.kind].rewrite
            if how == REWRITE_COPY:
                rewrite_host(w.octets[index], frame.mark, frame.hops)
            elif how == REWRITE_BRIDGED:
                rewrite_bridged(w.octets[index], known, frame.mark)
            elif how == NO_REWRITE or w.nodes[w.ports[port].node].kind == NIC:
                known = encode_frame(w, frame, w.octets[index])
                known = encode_stamps(w, index, w.octets[index], known)
            elif how == REWRITE_FIELDS:  # what the points on its way wrote into its descriptor
                rewrite_header(w.types[frame.kind], w.octets[index], frame.mark, frame.hops)
                encode_stamps(w, index, w.octets[index], known)
            write_hop_addresses(w, port, frame, w.octets[index])
            late = now - frame.due
            if launched:
                late = launch_time.set_launch_time(rig, wire, frame.due, now)
            add(rig.lateness, late)
            slot = w.captured[port]
            if slot != NONE and not is_reply(w, port, frame):
                for place in range(known, min(w.capture_octets.shape[2], frame.length)):
                    w.octets[index, place] = 0
                if frame.port <= ALTERED:
                    store_corrupted(w, slot, frame, now, w.octets[index], known)
                else:
                    store_frame(w, slot, frame, now, True, w.octets[index])
            count_sent(rig, wire, frame)
            if frame.port <= WRONG_IPV4 and (
                frame.port != WRONG_UDP or rig.guard.out[wire] == NONE
            ):  # a guard's check word stands for a UDP checksum
                corrupt_check(w, frame, w.octets[index], known)
            elif rig.guard.out[wire] != NONE:
                guard_sent(w, rig.guard, rig.guard.out[wire], index)
            else:
                count_order(w, rig, wire, frame, SENT)
            if frame.port == ALTERED:  # behind the guard, which writes check sums anew
                corrupt_last_octet(w.octets[index], known, frame.length)
                known = frame.length
            if timed:
                departure_times.record_sent(w, rig, socket, wire, frame)
            port_backend.post(w, rig, wire, index, known, frame.length)
    port_backend.flush(w, rig, socket, first, last)


@compiled
def is_program_frame(w: World, octets: np.ndarray, frame: Frame) -> bool:
    """True if the frame belongs to a flow of programs; writes that flow into the descriptor."""
    if 0 <= frame.flow < w.flows.size and w.flows[frame.flow].mode == PROGRAMS:
        return w.flows[frame.flow].destination == frame.destination
    source = source_of(octets)
    for row in range(w.flows.size):
        flow = w.flows[row]
        ends = flow.destination == frame.destination and w.nodes[flow.node].address == source
        if flow.mode == PROGRAMS and ends:
            frame.flow = row
            frame.source = flow.source
            return True
    return False


@compiled
def decode_frame(w: World, octets: np.ndarray, length: int, index: FrameIndex) -> bool:
    """Decode a frame into row `index`; False when no node of this run sent it."""
    frame = w.frames[index]
    if length > octets.size:
        return False
    if decode(w.types, octets, length, frame) == FOREIGN:
        return decode_host(octets, length, frame) and is_program_frame(w, octets, frame)
    if w.types[frame.kind].carried == LINK:
        return True
    decode_stamps(w, index, octets, length)
    addresses = w.behind.shape[0]
    return (
        (0 <= frame.source < addresses or frame.kind == CNM)
        and 0 <= row_of(frame.destination) < addresses
        and NONE <= frame.flow < w.flows.size
    )


@inlined
def extend_packet_number(w: World, port: PortIndex, frame: Frame) -> None:
    """Give a RoCEv2 packet that is where it was sent to its whole number: its octets have 24 bits
    of it."""
    if frame.kind != DATA or frame.flow == NONE or w.nodes[w.ports[port].node].kind == SWITCH:
        return
    flow = w.flows[frame.flow]
    if flow.roce != NOT_ROCE:
        frame.sequence = extend_sequence(frame.sequence, flow.latest)


@compiled
def process_batch(w: World, rig: Rig, socket: int, until: int) -> int:
    """Hand what arrived at a socket to its node; how many frames there were.

    What arrives after `until` counts as of then: no event beyond the end is carried out. What the
    frames bring about leaves once they are all taken in, or a flush is full: a call of the system
    for each would be most of what a node costs.
    """
    batch = rig.incoming
    timed = rig.departures[departure_times.REQUESTED] != 0
    if timed or rig.launches[launch_time.LEAD] != 0:
        departure_times.read_error_queue(w, rig, socket)
    count = port_backend.receive(rig, socket)
    if count <= 0:
        return count
    rig.stalled[stall_detection.FRAMES] += count
    current_time(rig)
    arrival_times.begin_batch(rig)
    done = 0
    for k in range(count):
        now = next_instant(rig, until)
        done = run_all_due_events(w, rig, now, done)
        index = batch.slots[k]
        frame = w.frames[index]
        port = rig.port_rows[socket, batch.ports[k]]
        wire = rig.wire_rows[socket, batch.ports[k]]
        count_received(rig, wire, now)
        way = NONE
        ours = decode_frame(w, w.octets[index], batch.lengths[k], index)
        if not ours:
            way = bridged(w, rig.learning, port, index, batch.lengths[k], now)
        if not ours and way == NONE:
            reply = NONE
            if is_answered(w, rig.neighbours, port, index, batch.lengths[k]):
                reply = take(w)
            if reply == NONE:
                w.nodes[w.ports[port].node].foreign += 1
                port_backend.arm(rig, k, index)
            else:
                port_backend.arm(rig, k, reply)
                push_control(w, port, index, now)
            continue
        if rig.guard.into[wire] != NONE:
            guard_received(w, rig.guard, rig.guard.into[wire], index, now)
        else:
            count_order(w, rig, wire, frame, RECEIVED)
        fresh = take(w)
        if fresh == NONE:
            port_backend.arm(rig, k, index)
            continue
        port_backend.arm(rig, k, fresh)
        slot = w.captured[port]
        if slot != NONE:
            store_frame(w, slot, frame, now, False, w.octets[index])
        if rig.arrivals[arrival_times.REQUESTED] != 0:
            arrival_times.exclude_host_delay(rig, k, wire, frame, now)
        if timed:
            departure_times.correct_echo(w, rig, socket, port, frame, now)
        if ours:
            extend_packet_number(w, port, frame)
            receive(w, port, index, now)
        else:
            forward_by(w, w.ports[port].node, index, way, now)
    done = run_all_due_events(w, rig, min(current_time(rig), until), done)
    if done > 0 or rig.host_sockets.size > 0:
        flush_outbox(w, rig)
    return count


@compiled
def receive_program_frames(w: World, rig: Rig, host: int, until: int) -> int:
    """Queue what programs of a host have sent, while there is room; how many frames there were."""
    if not has_host_queue_space(w, rig, host):
        return 0
    now = min(current_time(rig), until)
    if run_all_due_events(w, rig, now, 0) > 0:
        flush_outbox(w, rig)
    return receive_from_programs(w, rig, host, now)


@compiled
def receive_all(w: World, rig: Rig, until: int) -> int:
    """Take a batch in from every socket that has something. Returns 0, or -errno.

    The turn goes on meanwhile: time is bound by its beginning, so that it does not outrun what
    waits in the sockets which come last.
    """
    sockets = rig.sockets.size
    for place in range(rig.polled.size):
        if not port_backend.is_readable(rig, place):
            continue
        if place < sockets:
            taken = process_batch(w, rig, place, until)
        else:
            taken = receive_program_frames(w, rig, place - sockets, until)
        if taken < 0:
            return taken
    return 0


@compiled
def loop_iteration(w: World, rig: Rig, until: int) -> int:
    """Carry out what is due by now, then take in a batch from each socket that has something.

    Returns 0; ENDED at `until`; -1 when a socket failed.
    """
    now = min(advance(rig), until)
    stall = stall_detection.check_last_iteration(w, rig)
    if rig.arrivals[arrival_times.REQUESTED] != 0:
        arrival_times.begin_turn(rig)
    if run_all_due_events(w, rig, now, 0) > 0:
        flush_outbox(w, rig)
    if stall != stall_detection.NONE:
        stall_detection.end_backlog(w, rig, stall)
    if now == until:
        return ENDED
    found = port_backend.poll_ports(w, rig)
    if found > 0:
        found = receive_all(w, rig, until)
    return -1 if found < 0 else 0


@compiled
def drive(w: World, rig: Rig, until: int) -> int:
    """Drive a world in real time up to `until` (ps) or until its clock's `stop` is set.

    Returns 0, or -1 when a socket failed.
    """
    return drive_by_reference(w, by_reference(rig), until)


@compiled
def drive_by_reference(w: World, rig: Rig, until: int) -> int:
    """`drive`, of a rig that is at hand by reference."""
    port_backend.begin(w, rig)
    if rig.host_sockets.size > 0:
        for k in range(rig.host_incoming.slots.size):
            packet_socket_io.arm(rig.host_incoming, k, take(w))
    said = 0
    stall_detection.begin_stall_detection(w, rig, monotonic_ns(rig.stamp))
    while w.clock[0].stop == 0 and said == 0:
        said = loop_iteration(w, rig, until)
        if said == 0 and rig.gives_way[0] != 0:
            sched_yield()
    leave_clock(rig)
    return -1 if said < 0 else 0
