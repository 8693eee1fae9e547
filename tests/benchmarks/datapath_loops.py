"""Compiled loops of `bench_datapath`."""

from __future__ import annotations

from orchestrator.engine.datapath import ports
from orchestrator.engine.datapath.libc import monotonic_ns
from orchestrator.engine.datapath.syscalls import flush, post
from orchestrator.engine.jit import compiled
from orchestrator.engine.node.pool import take


@compiled
def send_burst(out, socket, length, burst):  # type: ignore[no-untyped-def]
    """A burst of frames from a raw socket, their octets all known."""
    for _ in range(burst):
        post(out, 0, 0, length, length)
    return flush(out, socket)


@compiled
def turn(w, rig):  # type: ignore[no-untyped-def]
    """Forward what has arrived at port 0 through port 1, as a loop of the data path does; how many
    frames there were."""
    if ports.look(w, rig) == 0 or not ports.has_some(rig, 0):
        return 0
    count = ports.receive(rig, 0)
    for k in range(count):
        slot = rig.incoming.slots[k]
        length = rig.incoming.lengths[k]
        ports.arm(rig, k, take(w))
        w.outbox[1, k] = slot
        ports.post(w, rig, 1, slot, length, length)
    w.outbox_count[1] = count
    ports.flush(w, rig, 0, 0, 2)
    return count


@compiled
def through(w, rig, out, socket, frames, length, burst):  # type: ignore[no-untyped-def]
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
def alone(out, socket, frames, length, burst):  # type: ignore[no-untyped-def]
    """Send bursts; whoever forwards them does so within the call, or nobody does."""
    for _ in range(frames // burst):
        send_burst(out, socket, length, burst)
    return frames


@compiled
def flood(out, socket, length, burst, until_ns, stamp):  # type: ignore[no-untyped-def]
    """Send bursts until a time."""
    while monotonic_ns(stamp) < until_ns:
        send_burst(out, socket, length, burst)


@compiled
def forward(w, rig, until_ns, stamp):  # type: ignore[no-untyped-def]
    """Forward until a time."""
    forwarded = 0
    while monotonic_ns(stamp) < until_ns:
        forwarded += turn(w, rig)
    return forwarded
