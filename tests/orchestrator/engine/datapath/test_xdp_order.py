"""The kernel may look into a ring at any time: here another thread plays it, on another core."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from orchestrator.engine.datapath import ring as of
from orchestrator.engine.datapath import xdp
from orchestrator.engine.datapath.shared_words import load_entry, store_entry
from orchestrator.engine.datapath.xdp import DONE, FILL, FRAME_OCTETS, HEADROOM, RX, SENT, TX
from orchestrator.engine.jit import DISABLED, compiled
from orchestrator.engine.node.pool import take
from tests.orchestrator.engine.datapath.played import Kernel

FRAMES = 200_000
LENGTHS = 50

pytestmark = pytest.mark.skipif(DISABLED, reason="two threads of the interpreter take turns")


@compiled
def send(w, rings, batch, count):  # type: ignore[no-untyped-def]
    """Post frames whose lengths tell their number, as their rows come back, until all have."""
    for number in range(count):
        while w.clock[0].free == 0 or of.room(rings.rings[0, TX]) == 0:
            xdp.reap(w, rings, 0)
        xdp.post(w, rings, batch, 0, take(w), 60, 60 + number % LENGTHS)
    while rings.sockets[0, SENT] > 0:
        xdp.reap(w, rings, 0)


@compiled
def take_from(sent, done, count):  # type: ignore[no-untyped-def]
    """The kernel sends them; how many were not those that were posted."""
    wrong = 0
    for number in range(count):
        while of.filled(sent) == 0:
            pass
        entry = of.place(sent, sent[of.AT], FRAME_OCTETS)
        if load_entry(entry + 8) != 60 + number % LENGTHS:
            wrong += 1
        while of.room(done) == 0:
            pass
        store_entry(of.place(done, done[of.AT], 8), load_entry(entry))
        of.taken_until(sent, sent[of.AT] + 1)
        of.hand_over(done, done[of.AT] + 1)
    return wrong


@compiled
def deliver(fill, came, given, stride, count):  # type: ignore[no-untyped-def]
    """The kernel receives frames whose lengths tell their number, into the rows that it is given;
    how many of those were not."""
    wrong = 0
    for number in range(count):
        while of.filled(fill) == 0:
            pass
        row = load_entry(of.place(fill, fill[of.AT], 8))
        if given[row // stride] == 0:
            wrong += 1
        given[row // stride] = 0
        of.taken_until(fill, fill[of.AT] + 1)
        while of.room(came) == 0:
            pass
        entry = of.place(came, came[of.AT], FRAME_OCTETS)
        store_entry(entry, row + HEADROOM)
        store_entry(entry + 8, 60 + number % LENGTHS)
        of.hand_over(came, came[of.AT] + 1)
    return wrong


@compiled
def receive(rings, batch, given, stride, count):  # type: ignore[no-untyped-def]
    """Take them in; how many were not those that came."""
    wrong = 0
    number = 0
    while number < count:
        for k in range(xdp.receive(rings, batch, 0)):
            if batch.lengths[k] != 60 + number % LENGTHS:
                wrong += 1
            given[batch.slots[k]] = 1
            xdp.refill(rings, 0, batch.slots[k], stride)
            number += 1
    return wrong


def together(one: Callable[[], object], other: Callable[[], object]) -> list[object]:
    """What two functions return that run at once."""
    found: list[object] = []
    threads = [
        threading.Thread(target=lambda each=each: found.append(each())) for each in (one, other)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def sides(kernel: Kernel, *rings: int) -> list:  # type: ignore[type-arg]
    """The words of rings as the kernel's thread has them."""
    return [kernel.sides[0][ring].words.copy() for ring in rings]


def test_a_posted_frame_is_whole_before_it_is_handed_over():
    kernel = Kernel(size=8, rows=16, returned=2)
    send(kernel.pool, kernel.xdp, kernel.batch, 0)
    sent, done = sides(kernel, TX, DONE)
    take_from(sent, done, 0)
    assert 0 in together(
        lambda: take_from(sent, done, FRAMES),
        lambda: send(kernel.pool, kernel.xdp, kernel.batch, FRAMES),
    )
    assert sorted(kernel.pool.free.tolist()) == list(range(16))
    assert kernel.unused == 16


def test_a_received_frame_is_read_before_its_place_is_given_back_and_rows_are_whole():
    kernel = Kernel(size=8, rows=16, returned=2)
    xdp.supply(kernel.pool, kernel.xdp)
    fill, came = sides(kernel, FILL, RX)
    stride = kernel.octets.shape[1]
    given = np.zeros(16, np.int64)
    given[:8] = 1
    deliver(fill, came, given, stride, 0)
    receive(kernel.xdp, kernel.batch, given, stride, 0)
    assert together(
        lambda: deliver(fill, came, given, stride, FRAMES),
        lambda: receive(kernel.xdp, kernel.batch, given, stride, FRAMES),
    ) == [0, 0]
    assert kernel.sides[0][FILL].waiting() == 8
