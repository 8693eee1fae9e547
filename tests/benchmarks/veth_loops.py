"""Compiled loops of `bench_veth`."""

from __future__ import annotations

from orchestrator.engine.datapath.libc import monotonic_ns
from orchestrator.engine.datapath.packet_socket_io import arm, flush, post, receive
from orchestrator.engine.histogram import add
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


@compiled
def pace(socket, out, incoming, state, interval_ns, frames, late, stamp):
    """Send a 1500-octet frame every `interval_ns`, looking for feedback between them."""
    due = monotonic_ns(stamp) + 1_000_000
    for _ in range(frames):
        now = monotonic_ns(stamp)
        while now < due:
            count = receive(incoming, socket, 2)
            for k in range(count):
                arm(incoming, k, incoming.slots[k])
            now = monotonic_ns(stamp)
        add(late, (now - due) * 1000)
        post(out, 0, 0, 128, 1500)
        if flush(out, socket) != 1:
            return -1
        due += interval_ns
    state[0] = 1
    return 0


@compiled
def forward(near, into, out, far, sink, state, gaps, stamp):
    """Forward every frame to the next machine and take it in there; gaps of the loop's rounds."""
    arrived = 0
    last = monotonic_ns(stamp)
    while state[0] == 0:
        count = receive(into, near, 2)
        for k in range(count):
            post(out, 1, into.slots[k], 128, 1500)
        if count > 0:
            flush(out, near)
            for k in range(count):
                arm(into, k, into.slots[k])
        got = receive(sink, far, 2)
        for k in range(got):
            arm(sink, k, sink.slots[k])
        arrived += got
        now = monotonic_ns(stamp)
        add(gaps, (now - last) * 1000)
        last = now
    return arrived
