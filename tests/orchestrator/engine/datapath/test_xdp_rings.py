"""AF_XDP ports on rings in plain memory: what is received and sent, and where every row is."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.datapath import mmsg_batch as at
from orchestrator.engine.datapath import xdp_ring as of
from orchestrator.engine.datapath import xdp_socket_io
from orchestrator.engine.datapath.xdp_socket_io import DONE, FILL, HEADROOM, SENT, SOCKET, TX
from tests.orchestrator.engine.datapath.played import Kernel

FRAME = bytes(range(60))


@pytest.fixture
def kernel() -> Kernel:
    made = Kernel(sockets=2)
    xdp_socket_io.fill_rings(made.pool, made.xdp)
    return made


def received(kernel: Kernel) -> list[tuple[int, bytes]]:
    """What a node takes in a turn: port and octets of each frame; rows go back."""
    found = []
    for k in range(xdp_socket_io.receive(kernel.xdp, kernel.batch, 0)):
        slot, length = kernel.batch.slots[k], kernel.batch.lengths[k]
        found.append((int(kernel.batch.ports[k]), kernel.octets[slot, :length].tobytes()))
        xdp_socket_io.refill(kernel.xdp, kernel.xdp.origin[k], slot, kernel.octets.shape[1])
    return found


def posted(kernel: Kernel, octets: bytes, length: int, wire: int = 0) -> None:
    slot = int(kernel.pool.free[kernel.unused - 1])
    kernel.pool.clock[0].free -= 1
    kernel.octets[slot, : len(octets)] = list(octets)
    kernel.octets[slot, len(octets) : len(octets) + 8] = 0xEE
    xdp_socket_io.post(kernel.pool, kernel.xdp, kernel.batch, wire, slot, len(octets), length)


def test_every_socket_gets_a_full_ring_of_rows_and_nobody_elses(kernel):
    rows = [kernel.sides[s][FILL].get()[0] for s in range(2) for _ in range(4)]
    assert sorted(rows) == [row * 2048 for row in range(8)]
    assert kernel.unused == 32 - 8


def test_a_pool_that_is_empty_leaves_the_rest_of_a_ring_empty():
    kernel = Kernel(sockets=2, rows=6)
    xdp_socket_io.fill_rings(kernel.pool, kernel.xdp)
    assert [kernel.sides[s][FILL].waiting() for s in range(2)] == [4, 2]


def test_frames_are_received_where_they_lie(kernel):
    kernel.arrives(1, FRAME)
    kernel.arrives(0, FRAME[::-1])
    assert sorted(received(kernel)) == [(0, FRAME[::-1]), (1, FRAME)]
    assert received(kernel) == []


@pytest.mark.parametrize("place", [HEADROOM - 2, HEADROOM, HEADROOM + 2, HEADROOM + 700])
def test_a_frame_that_a_driver_puts_elsewhere_is_found(kernel, place):
    kernel.arrives(0, FRAME, place)
    assert received(kernel) == [(0, FRAME)]


def test_more_than_a_batch_waits_for_the_next_turn_and_ports_take_turns():
    kernel = Kernel(sockets=2, size=16, rows=64)
    xdp_socket_io.fill_rings(kernel.pool, kernel.xdp)
    for number in range(10):
        kernel.arrives(0, bytes([number]) * 60)
        kernel.arrives(1, bytes([number]) * 60)
    turns = [received(kernel) for _ in range(4)]
    assert [len(turn) for turn in turns] == [8, 8, 4, 0]
    assert (turns[0][0][0], turns[1][0][0]) == (0, 1)
    for port in (0, 1):
        order = [octets[0] for turn in turns for came, octets in turn if came == port]
        assert order == list(range(10))


def test_rows_go_round_for_ever(kernel):
    for number in range(1000):
        kernel.arrives(number % 2, bytes([number % 256]) * 60)
        assert received(kernel) == [(number % 2, bytes([number % 256]) * 60)]
    assert [kernel.sides[s][FILL].waiting() for s in range(2)] == [4, 4]
    assert kernel.unused == 32 - 8


@pytest.mark.parametrize("length", [60, 61, 1518, 2048 - HEADROOM])
def test_a_frame_is_sent_with_zeros_behind_what_is_known(kernel, length):
    posted(kernel, FRAME, length, wire=1)
    assert kernel.sends(1) == FRAME + bytes(length - len(FRAME))
    assert kernel.sides[0][TX].waiting() == 0


def test_a_row_is_used_again_when_its_frame_was_sent_and_not_before(kernel):
    before = kernel.unused
    posted(kernel, FRAME, 60)
    assert kernel.unused == before - 1
    xdp_socket_io.start_transmission(kernel.pool, kernel.xdp, kernel.batch, 0)
    assert (kernel.unused, kernel.xdp.sockets[0, SENT]) == (before - 1, 1)
    kernel.sends(0)
    xdp_socket_io.service_rings(kernel.pool, kernel.xdp, kernel.batch)
    assert (kernel.unused, kernel.xdp.sockets[0, SENT]) == (before, 0)
    assert len(set(kernel.pool.free[:before].tolist())) == before


def test_a_frame_longer_than_a_row_is_unsent(kernel):
    before = kernel.unused
    posted(kernel, FRAME, 2048 - HEADROOM + 1)
    assert (kernel.batch.state[at.UNSENT], kernel.unused) == (1, before)
    assert kernel.sides[0][TX].waiting() == 0


def test_a_frame_without_room_in_the_ring_is_unsent(kernel):
    before = kernel.unused
    for _ in range(5):
        posted(kernel, FRAME, 60)
    assert (kernel.batch.state[at.UNSENT], kernel.unused) == (1, before - 4)
    assert kernel.sides[0][TX].waiting() == 4


def test_what_a_socket_cannot_send_at_all_is_withdrawn(kernel):
    """Of a socket that is none: EBADF, or ENOTSOCK."""
    before = kernel.unused
    kernel.sides[0][TX].flags[0] = of.NEED_WAKEUP
    for descriptor in (-1, os.open(os.devnull, os.O_RDONLY)):
        kernel.xdp.sockets[0, SOCKET] = descriptor
        kernel.batch.state[at.UNSENT] = 0
        for _ in range(3):
            posted(kernel, FRAME, 60)
        xdp_socket_io.start_transmission(kernel.pool, kernel.xdp, kernel.batch, 0)
        assert (kernel.batch.state[at.UNSENT], kernel.unused) == (3, before)
        assert (kernel.sides[0][TX].waiting(), kernel.xdp.sockets[0, SENT]) == (0, 0)
    os.close(descriptor)


def test_a_socket_that_takes_nothing_is_asked_so_often_and_frames_stay(kernel):
    """A local socket that is not connected refuses as a full interface does not: so one that is,
    and whose peer reads nothing, stands for it."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with near, far:
        near.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                near.send(b".")
        kernel.xdp.sockets[0, SOCKET] = near.fileno()
        kernel.sides[0][TX].flags[0] = of.NEED_WAKEUP
        posted(kernel, FRAME, 60)
        xdp_socket_io.start_transmission(kernel.pool, kernel.xdp, kernel.batch, 0)
    assert kernel.batch.state[at.RETRIES] == xdp_socket_io.TRIES
    assert (kernel.batch.state[at.UNSENT], kernel.sides[0][TX].waiting()) == (0, 1)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["in", "out", "sent", "turn"]), st.integers(0, 1))))
def test_no_row_is_lost_or_in_two_places(steps):
    kernel = Kernel(sockets=2)
    xdp_socket_io.fill_rings(kernel.pool, kernel.xdp)
    for what, s in steps:
        if what == "in" and kernel.sides[s][FILL].waiting():
            kernel.arrives(s, FRAME)
        elif what == "out" and kernel.unused:
            posted(kernel, FRAME, 60, s)
        elif what == "sent" and kernel.sides[s][TX].waiting():
            if kernel.sides[s][DONE].waiting() < 4:
                assert kernel.sends(s) == FRAME
        else:
            received(kernel)
            xdp_socket_io.service_rings(kernel.pool, kernel.xdp, kernel.batch)
    received(kernel)
    xdp_socket_io.service_rings(kernel.pool, kernel.xdp, kernel.batch)
    held = [entry for rings in kernel.sides for entry in _rows_in(rings)]
    held += kernel.pool.free[: kernel.unused].tolist()
    assert sorted(held) == list(range(32))


def _rows_in(rings):
    for ring in (TX, FILL, DONE):
        side = rings[ring]
        while side.waiting():
            yield side.get()[0] // 2048


@pytest.mark.parametrize("what", ["receiving", "sending"])
def test_nothing_is_handed_over_before_it_is_written_nor_read_once_it_is_given_back(what):
    module = "tests.orchestrator.engine.datapath.watched"
    done = subprocess.run(
        [sys.executable, "-m", module, what],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
