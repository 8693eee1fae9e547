"""Compiled loops of `bench_datapath`."""

from __future__ import annotations

from orchestrator.engine.datapath import port_backend, realtime_loop
from orchestrator.engine.datapath.libc import monotonic_ns
from orchestrator.engine.datapath.link_counters import SENT
from orchestrator.engine.datapath.named_tuple_pointer import by_reference
from orchestrator.engine.datapath.packet_socket_io import flush, post
from orchestrator.engine.frames.frame_layout import CREATED
from orchestrator.engine.jit import compiled
from orchestrator.engine.node.descriptor_pool import take
from orchestrator.engine.records import NEVER

ON = 1
"""The wire that leads on."""


@compiled
def send_burst(out, socket, length, burst):
    """A burst of frames from a raw socket, their octets all known."""
    for _ in range(burst):
        post(out, 0, 0, length, length)
    return flush(out, socket)


@compiled
def turn(w, rig):
    """Forward what has arrived at port 0 through port 1, as a loop of the data path does; how many
    frames there were."""
    if port_backend.poll_ports(w, rig) == 0 or not port_backend.is_readable(rig, 0):
        return 0
    count = port_backend.receive(rig, 0)
    for k in range(count):
        slot = rig.incoming.slots[k]
        length = rig.incoming.lengths[k]
        port_backend.arm(rig, k, take(w))
        w.outbox[1, k] = slot
        port_backend.post(w, rig, 1, slot, length, length)
    w.outbox_count[1] = count
    port_backend.flush(w, rig, 0, 0, 2)
    return count


@compiled
def through(w, rig, out, socket, frames, length, burst):
    """Send bursts and forward each whole, on one core; how many frames were forwarded."""
    forwarded = 0
    for _ in range(frames // burst):
        send_burst(out, socket, length, burst)
        waiting = burst
        while waiting > 0:
            waiting -= turn(w, rig)
        forwarded += burst
    return forwarded


@compiled
def through_node(w, rig, out, socket, frames, length, burst):
    """`through` a node of a plan."""
    held = by_reference(rig)
    target = rig.tally[ON, SENT]
    for _ in range(frames // burst):
        send_burst(out, socket, length, burst)
        target += burst
        while rig.tally[ON, SENT] < target:
            if realtime_loop.loop_iteration(w, held, NEVER) != 0:
                return -1
    return frames


@compiled
def alone(out, socket, frames, length, burst):
    """Send bursts; whoever forwards them does so within the call, or nobody does."""
    for _ in range(frames // burst):
        send_burst(out, socket, length, burst)
    return frames


@compiled
def flood(out, socket, length, burst, until_ns, stamp):
    """Send bursts until a time; how many frames."""
    sent = 0
    while monotonic_ns(stamp) < until_ns:
        send_burst(out, socket, length, burst)
        sent += burst
    return sent


@compiled
def forward(w, rig, until_ns, stamp):
    """Forward until a time."""
    forwarded = 0
    while monotonic_ns(stamp) < until_ns:
        forwarded += turn(w, rig)
    return forwarded


@compiled
def forward_node(w, rig, until_ns, stamp):
    """`forward` by a node of a plan; less than 0 where a socket failed."""
    held = by_reference(rig)
    before = rig.tally[ON, SENT]
    while monotonic_ns(stamp) < until_ns:
        if realtime_loop.loop_iteration(w, held, NEVER) != 0:
            return -1
    return rig.tally[ON, SENT] - before


@compiled
def pace(out, socket, length, interval_ns, until_ns, stamp):
    """Send a frame every so often until a time, each with the time (ps) of its sending in it.

    A frame that is late leaves at once, the next ones when they are due: a stall of the sender is
    made up for in a burst.
    """
    octets = out.octets[0]
    due = monotonic_ns(stamp)
    sent = 0
    while due < until_ns:
        now = monotonic_ns(stamp)
        if now < due:
            continue
        value = now * 1000
        for k in range(8):
            octets[CREATED + 7 - k] = value & 0xFF
            value >>= 8
        post(out, 0, 0, length, length)
        flush(out, socket)
        sent += 1
        due += interval_ns
    return sent
