"""The real-time loop: node logic on the clock, frames on sockets, compiled and off the GIL.

Events are carried out at the instant for which they were due, however late the loop comes to
them, so that a delay of the machine neither adds up nor changes a rate; how late a frame really
was put on its wire is counted. A frame that comes in has the time at which it was taken in, no two
of a thread the same. The clock is that of `pace`.
"""

from __future__ import annotations

from orchestrator.engine.datapath import arrivals, ports, syscalls
from orchestrator.engine.datapath.host_port import give_to_programs, has_host_room, take_from_hosts
from orchestrator.engine.datapath.libc import sched_yield
from orchestrator.engine.datapath.pace import advance, leave, next_instant, reading
from orchestrator.engine.datapath.tally import RECEIVED, count_order, count_received, count_sent
from orchestrator.engine.frames.addresses import row_of
from orchestrator.engine.frames.codec import FOREIGN, decode, encode
from orchestrator.engine.frames.frametype import IN_PLACE, LINK, NO_REWRITE, OTHERS
from orchestrator.engine.frames.host import decode_host, rewrite_host, source_of
from orchestrator.engine.frames.ipv4 import rewrite
from orchestrator.engine.histogram import add
from orchestrator.engine.jit import compiled
from orchestrator.engine.node.capture import address, keep
from orchestrator.engine.node.event_loop import step
from orchestrator.engine.node.pool import take
from orchestrator.engine.node.receive import receive
from orchestrator.engine.node.stamps import get, put
from orchestrator.engine.records import CNM, NIC, NONE, PROGRAMS

EVENTS_PER_FLUSH = 64
"""Events between two looks at the wires; each puts at most one frame on a wire."""


@compiled
def send_waiting(w, rig):  # type: ignore[no-untyped-def]
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
            send_through(w, rig, socket, first, last)
        first = last
    give_to_programs(w, rig)


@compiled
def catch_up(w, rig, now):  # type: ignore[no-untyped-def]
    """Carry out everything that is due by `now`, frames put on their wires as it goes."""
    while w.tree[1, 0] <= now:
        done = 0
        while done < EVENTS_PER_FLUSH and w.tree[1, 0] <= now:
            due = max(w.clock[0].now, w.tree[1, 0])
            w.clock[0].now = due
            step(w, w.tree[1, 1], due)
            done += 1
        w.clock[0].events += done
        send_waiting(w, rig)


@compiled
def send_through(w, rig, socket, first, last):  # type: ignore[no-untyped-def]
    """Send what waits for the wires from `first` to before `last`, all of one socket."""
    now = reading(rig)
    for wire in range(first, last):
        for position in range(w.outbox_count[wire]):
            index = w.outbox[wire, position]
            frame = w.frames[index]
            port = rig.wires[wire, 2]
            known = frame.length
            how = w.types[frame.kind].rewrite
            if how == OTHERS:
                rewrite_host(w.octets[index], frame.mark, frame.hops)
            elif how == NO_REWRITE or w.nodes[w.ports[port].node].kind == NIC:
                known = encode(w.types, frame, w.octets[index])
                known = put(w, index, w.octets[index], known)
            elif how == IN_PLACE:  # what the points on its way wrote into its descriptor
                rewrite(w.octets[index], frame.mark, frame.hops)
                put(w, index, w.octets[index], known)
            address(w, port, frame, w.octets[index])
            add(rig.lateness, now - frame.due)
            slot = w.captured[port]
            if slot != NONE:
                for place in range(known, min(w.capture_octets.shape[2], frame.length)):
                    w.octets[index, place] = 0
                keep(w, slot, frame, now, True, w.octets[index])
            count_sent(rig, wire, frame)
            ports.post(w, rig, wire, index, known, frame.length)
    ports.flush(w, rig, socket, first, last)


@compiled
def carries_programs(w, octets, frame):  # type: ignore[no-untyped-def]
    """Whether there is a flow of programs that the frame is of; writes it into the descriptor."""
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
def understood(w, batch, k, index):  # type: ignore[no-untyped-def]
    """Decode frame k of a batch into row `index`; False when no node of this run sent it."""
    frame = w.frames[index]
    length = batch.lengths[k]
    octets = batch.octets[batch.slots[k]]
    if length > octets.size:
        return False
    if decode(w.types, octets, length, frame) == FOREIGN:
        return decode_host(octets, length, frame) and carries_programs(w, octets, frame)
    if w.types[frame.kind].carried == LINK:
        return True
    get(w, index, octets, length)
    addresses = w.behind.shape[0]
    return (
        (0 <= frame.source < addresses or frame.kind == CNM)
        and 0 <= row_of(frame.destination) < addresses
        and NONE <= frame.flow < w.flows.size
    )


@compiled
def take_in(w, rig, socket, until):  # type: ignore[no-untyped-def]
    """Hand what arrived at a socket to its node; how many frames there were.

    What arrives after `until` counts as of then: no event beyond the end is carried out.
    """
    batch = rig.incoming
    count = ports.receive(rig, socket)
    if count <= 0:
        return count
    reading(rig)
    arrivals.begin_batch(rig)
    for k in range(count):
        now = next_instant(rig, until)
        catch_up(w, rig, now)
        index = batch.slots[k]
        frame = w.frames[index]
        port = rig.port_rows[socket, batch.ports[k]]
        wire = rig.wire_rows[socket, batch.ports[k]]
        count_received(rig, wire, now)
        if not understood(w, batch, k, index):
            w.nodes[w.ports[port].node].foreign += 1
            ports.arm(rig, k, index)
            continue
        count_order(rig, wire, frame, RECEIVED)
        fresh = take(w)
        if fresh == NONE:
            ports.arm(rig, k, index)
            continue
        ports.arm(rig, k, fresh)
        slot = w.captured[port]
        if slot != NONE:
            keep(w, slot, frame, now, False, w.octets[index])
        arrivals.leave_out(rig, k, frame, now)
        receive(w, port, index, now)
    give_to_programs(w, rig)
    return count


@compiled
def take_from_programs(w, rig, host, until):  # type: ignore[no-untyped-def]
    """Queue what programs of a host have sent, while there is room; how many frames there were."""
    if not has_host_room(w, rig, host):
        return 0
    now = min(reading(rig), until)
    catch_up(w, rig, now)
    return take_from_hosts(w, rig, host, now)


@compiled
def take_what_waits(w, rig, until):  # type: ignore[no-untyped-def]
    """Take a batch in from every socket that has something. Returns 0, or -errno.

    The turn goes on meanwhile: time is bound by its beginning, so that it does not outrun what
    waits in the sockets which come last.
    """
    sockets = rig.sockets.size
    for place in range(rig.polled.size):
        if not ports.has_some(rig, place):
            continue
        if place < sockets:
            taken = take_in(w, rig, place, until)
        else:
            taken = take_from_programs(w, rig, place - sockets, until)
        if taken < 0:
            return taken
    return 0


@compiled
def drive(w, rig, until):  # type: ignore[no-untyped-def]
    """Drive a world in real time up to `until` (ps) or until its clock's `stop` is set.

    Returns 0, or -1 when a socket failed.
    """
    ports.begin(w, rig)
    if rig.host_sockets.size > 0:
        for k in range(rig.host_incoming.slots.size):
            syscalls.arm(rig.host_incoming, k, take(w))
    while w.clock[0].stop == 0:
        now = min(advance(rig), until)
        arrivals.begin_turn(rig)
        catch_up(w, rig, now)
        if now == until:
            break
        found = ports.look(w, rig)
        if found > 0:
            found = take_what_waits(w, rig, until)
        if found < 0:
            leave(rig)
            return -1
        if rig.gives_way[0] != 0:
            sched_yield()
    leave(rig)
    return 0
