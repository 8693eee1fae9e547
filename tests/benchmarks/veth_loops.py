"""Compiled loops of `bench_veth`."""

from __future__ import annotations

from orchestrator.engine.datapath.libc import monotonic_ns
from orchestrator.engine.datapath.packet_socket_io import arm, flush, post, receive
from orchestrator.engine.jit import compiled


@compiled
def arm_all(batch, first):
    """Give a receiver the rows from `first` on."""
    for k in range(batch.headers.shape[0]):
        arm(batch, k, first + k)


@compiled
def hop(near, far, out, into, frames, length, known, burst):
    """Send bursts and take them in at the other end; the number that arrived."""
    arrived = 0
    for _ in range(frames // burst):
        for k in range(burst):
            post(out, 0, k, known, length)
        if flush(out, near) != burst:
            return -1
        while True:
            count = receive(into, far, 2)
            for k in range(count):
                arm(into, k, into.slots[k])
            arrived += count
            if arrived % burst == 0 and count > 0:
                break
    return arrived


@compiled
def empty(far, into, times):
    """Look into an empty socket again and again."""
    found = 0
    for _ in range(times):
        found += receive(into, far, 2)
    return found


@compiled
def clocks(stamp, times):
    """Read the clock again and again."""
    total = 0
    for _ in range(times):
        total ^= monotonic_ns(stamp)
    return total


@compiled
def echo(socket, into, back, stop, run):
    """Send every frame back until told to stop."""
    while run and stop[0] == 0:
        count = receive(into, socket, 2)
        for k in range(count):
            post(back, 0, into.slots[k], 64, 64)
        if count > 0:
            flush(back, socket)
        for k in range(count):
            arm(into, k, into.slots[k])


@compiled
def ping(socket, out, home, times, stamp):
    """One frame there and back at a time; ns each."""
    for trial in range(times.size):
        begun = monotonic_ns(stamp)
        post(out, 0, 0, 64, 64)
        flush(out, socket)
        count = 0
        while count == 0:
            count = receive(home, socket, 2)
        for k in range(count):
            arm(home, k, home.slots[k])
        times[trial] = monotonic_ns(stamp) - begun
