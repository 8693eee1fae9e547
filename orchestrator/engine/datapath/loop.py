"""The real-time loop: node logic on the clock, frames on sockets, compiled and off the GIL.

Events are carried out at the instant for which they were due, however late the loop comes to
them, so that a delay of the machine neither adds up nor changes a rate; how late a frame really
was put on its wire is counted. A frame that comes in has the time at which it was taken in, no two
of a thread the same. The clock is that of `pace`.
"""

from __future__ import annotations

from orchestrator.engine.datapath import arrivals, departures, launches, ports, stalls, syscalls
from orchestrator.engine.datapath.by_reference import by_reference
from orchestrator.engine.datapath.host_port import give_to_programs, has_host_room, take_from_hosts
from orchestrator.engine.datapath.libc import monotonic_ns, sched_yield
from orchestrator.engine.datapath.pace import advance, leave, next_instant, reading
from orchestrator.engine.datapath.tally import RECEIVED, count_order, count_received, count_sent
from orchestrator.engine.frames.addresses import row_of
from orchestrator.engine.frames.codec import FOREIGN, decode, encode
from orchestrator.engine.frames.frametype import IN_PLACE, LINK, NO_REWRITE, OTHERS
from orchestrator.engine.frames.host import decode_host, rewrite_host, source_of
from orchestrator.engine.frames.ipv4 import rewrite
from orchestrator.engine.histogram import add
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.capture import address, keep
from orchestrator.engine.node.event_loop import step
from orchestrator.engine.node.pool import take
from orchestrator.engine.node.receive import receive
from orchestrator.engine.node.stamps import get, put
from orchestrator.engine.records import CNM, NIC, NONE, PROGRAMS

ENDED = 1
"""Result of an iteration of the loop at the end of the run."""
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
    if rig.host_sockets.size > 0:
        give_to_programs(w, rig)


@compiled
def carry_out(w, now, done):  # type: ignore[no-untyped-def]
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
def catch_up(w, rig, now, done):  # type: ignore[no-untyped-def]
    """Carry out everything that is due by `now`. Of the frames that this puts into the outboxes as
    many may wait there as one flush has room for; `done` and the answer are events since the last.
    """
    if w.tree[1, 0] <= now:
        done = carry_out(w, now, done)
        while done == EVENTS_PER_FLUSH:
            send_waiting(w, rig)
            done = carry_out(w, now, 0)
    return done


@compiled
def send_through(w, rig, socket, first, last):  # type: ignore[no-untyped-def]
    """Send what waits for the wires from `first` to before `last`, all of one socket."""
    now = reading(rig)
    timed = rig.departures[departures.ASKED] != 0
    launched = rig.launches[launches.LEAD] != 0
    if launched:
        launches.begin(rig)
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
            late = now - frame.due
            if launched:
                late = launches.tell(rig, wire, frame.due, now)
            add(rig.lateness, late)
            slot = w.captured[port]
            if slot != NONE:
                for place in range(known, min(w.capture_octets.shape[2], frame.length)):
                    w.octets[index, place] = 0
                keep(w, slot, frame, now, True, w.octets[index])
            count_sent(rig, wire, frame)
            if timed:
                departures.note(w, rig, socket, wire, frame)
            ports.post(w, rig, wire, index, known, frame.length)
    ports.flush(w, rig, socket, first, last)


@compiled
def carries_programs(w, octets, frame):  # type: ignore[no-untyped-def]
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
def understood(w, octets, length, index):  # type: ignore[no-untyped-def]
    """Decode a frame into row `index`; False when no node of this run sent it."""
    frame = w.frames[index]
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

    What arrives after `until` counts as of then: no event beyond the end is carried out. What the
    frames bring about leaves once they are all taken in, or a flush is full: a call of the system
    for each would be most of what a node costs.
    """
    batch = rig.incoming
    timed = rig.departures[departures.ASKED] != 0
    if timed or rig.launches[launches.LEAD] != 0:
        departures.hear(w, rig, socket)
    count = ports.receive(rig, socket)
    if count <= 0:
        return count
    rig.stalled[stalls.FRAMES] += count
    reading(rig)
    arrivals.begin_batch(rig)
    done = 0
    for k in range(count):
        now = next_instant(rig, until)
        done = catch_up(w, rig, now, done)
        index = batch.slots[k]
        frame = w.frames[index]
        port = rig.port_rows[socket, batch.ports[k]]
        wire = rig.wire_rows[socket, batch.ports[k]]
        count_received(rig, wire, now)
        if not understood(w, w.octets[index], batch.lengths[k], index):
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
        if rig.arrivals[arrivals.ASKED] != 0:
            arrivals.leave_out(rig, k, wire, frame, now)
        if timed:
            departures.move_echo(w, rig, socket, port, frame, now)
        receive(w, port, index, now)
    done = catch_up(w, rig, min(reading(rig), until), done)
    if done > 0 or rig.host_sockets.size > 0:
        send_waiting(w, rig)
    return count


@compiled
def take_from_programs(w, rig, host, until):  # type: ignore[no-untyped-def]
    """Queue what programs of a host have sent, while there is room; how many frames there were."""
    if not has_host_room(w, rig, host):
        return 0
    now = min(reading(rig), until)
    if catch_up(w, rig, now, 0) > 0:
        send_waiting(w, rig)
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
def turn(w, rig, until):  # type: ignore[no-untyped-def]
    """Carry out what is due by now, then take in a batch from each socket that has something.

    Returns 0; ENDED at `until`; -1 when a socket failed.
    """
    now = min(advance(rig), until)
    stall = stalls.look_back(w, rig)
    if rig.arrivals[arrivals.ASKED] != 0:
        arrivals.begin_turn(rig)
    if catch_up(w, rig, now, 0) > 0:
        send_waiting(w, rig)
    if stall != stalls.NONE:
        stalls.worked_off(w, rig, stall)
    if now == until:
        return ENDED
    found = ports.look(w, rig)
    if found > 0:
        found = take_what_waits(w, rig, until)
    return -1 if found < 0 else 0


@compiled
def drive(w, rig, until):  # type: ignore[no-untyped-def]
    """Drive a world in real time up to `until` (ps) or until its clock's `stop` is set.

    Returns 0, or -1 when a socket failed.
    """
    return keep_turning(w, by_reference(rig), until)


@compiled
def keep_turning(w, rig, until):  # type: ignore[no-untyped-def]
    """`drive`, of a rig that is at hand by reference."""
    ports.begin(w, rig)
    if rig.host_sockets.size > 0:
        for k in range(rig.host_incoming.slots.size):
            syscalls.arm(rig.host_incoming, k, take(w))
    said = 0
    stalls.begin(w, rig, monotonic_ns(rig.stamp))
    while w.clock[0].stop == 0 and said == 0:
        said = turn(w, rig, until)
        if said == 0 and rig.gives_way[0] != 0:
            sched_yield()
    leave(rig)
    return -1 if said < 0 else 0
