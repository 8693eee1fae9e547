"""What `flush` does with frames that are refused: how long it waits, and what leaves all the same.

The ports here are local datagram sockets, which refuse as interfaces do: for lack of space while
nobody reads (EAGAIN), for ever while they are not there (ECONNREFUSED).
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator

import numpy as np
import pytest

from orchestrator.engine.datapath import mmsg_batch as at
from orchestrator.engine.datapath.host_port_io import post_untagged
from orchestrator.engine.datapath.packet_socket_io import SEND_TRIES, flush, post

PORTS = 2
NAME_OCTETS = 8
"""A family and the name of six octets that the kernel gives a local socket which asks for one."""
SHORT, LONG = 60, 1500


class Bench:
    """A batch whose ports lead to local sockets."""

    def __init__(self) -> None:
        self.near = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.far = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(PORTS)]
        self.batch = at.sender(np.zeros((1, 2048), np.uint8), 8, [0] * PORTS)
        self.batch.headers[:, at.NAME_LENGTH] = NAME_OCTETS
        for port, one in enumerate(self.far):
            one.bind("")
            one.setblocking(False)
            name = int(socket.AF_UNIX).to_bytes(2, "little") + one.getsockname()
            self.batch.names[port, 0] = int.from_bytes(name, "little")

    def send(self, *frames: tuple[int, int]) -> int:
        """Post frames (port, octets) and flush; what flush returned."""
        for port, octets in frames:
            assert post(self.batch, port, 0, octets, octets)
        return int(flush(self.batch, self.near.fileno()))

    def fill(self, port: int) -> None:
        """Send to a port until it has no more room."""
        full = False
        while not full:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as another:
                another.setblocking(False)
                another.connect(self.far[port].getsockname())
                full = not _sent(another)
                while not full and _sent(another):
                    pass

    def arrived(self, port: int) -> list[int]:
        """The lengths of what lies in a port, which is empty then."""
        lengths = []
        while True:
            try:
                lengths.append(len(self.far[port].recv(4096)))
            except BlockingIOError:
                return [octets for octets in lengths if octets > 1]

    @property
    def retries(self) -> int:
        return int(self.batch.state[at.RETRIES])

    @property
    def unsent(self) -> int:
        return int(self.batch.state[at.UNSENT])


def _sent(one: socket.socket) -> bool:
    try:
        return one.send(b".") == 1
    except BlockingIOError:
        return False


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    for one in (made.near, *made.far):
        one.close()


def test_frames_leave_in_order_through_their_ports(bench):
    assert bench.send((0, 60), (1, 70), (0, 80)) == 3
    assert (bench.arrived(0), bench.arrived(1)) == ([60, 80], [70])
    assert (bench.retries, bench.unsent) == (0, 0)


def test_a_frame_that_no_waiting_helps_is_given_up_at_once_and_alone(bench):
    bench.far[1].close()
    assert bench.send((0, 60), (1, 70), (1, 75), (0, 80)) == -errno.ECONNREFUSED
    assert bench.arrived(0) == [60, 80]
    assert (bench.retries, bench.unsent) == (0, 2)
    assert bench.send((0, 90)) == 1


def test_a_frame_without_room_is_given_up_alone_too(bench):
    bench.fill(1)
    assert bench.send((0, 60), (1, 70), (0, 80)) == -errno.EAGAIN
    assert bench.arrived(0) == [60, 80]
    assert (bench.retries, bench.unsent) == (SEND_TRIES, 1)


def test_patience_that_was_in_vain_is_not_spent_again(bench):
    bench.fill(1)
    assert bench.send(*[(1, SHORT)] * 8) == -errno.EAGAIN
    assert bench.send(*[(1, LONG), (0, SHORT)] * 4) == -errno.EAGAIN
    assert (bench.retries, bench.unsent) == (SEND_TRIES, 12)
    assert bench.arrived(0) == [SHORT] * 4


def test_patience_comes_back_with_a_frame_that_is_taken(bench):
    bench.fill(1)
    bench.send((1, SHORT))
    bench.arrived(1)
    assert bench.send((1, SHORT)) == 1
    bench.fill(1)
    bench.send((1, SHORT))
    assert (bench.retries, bench.unsent) == (2 * SEND_TRIES, 2)


def test_a_shorter_frame_that_is_taken_does_not_speak_for_a_long_one(bench):
    bench.fill(1)
    bench.send((1, LONG))
    bench.arrived(1)
    assert bench.send((1, SHORT)) == 1
    bench.fill(1)
    bench.send((1, LONG), (1, LONG))
    assert (bench.retries, bench.unsent) == (SEND_TRIES, 3)


def test_a_long_frame_that_was_refused_does_not_speak_for_a_shorter_one(bench):
    bench.fill(1)
    bench.send((1, LONG), (1, SHORT), (1, LONG), (1, SHORT))
    assert (bench.retries, bench.unsent) == (2 * SEND_TRIES, 4)


def test_ports_are_judged_apart(bench):
    bench.fill(0)
    bench.fill(1)
    bench.send((0, SHORT), (1, SHORT), (0, SHORT), (1, SHORT))
    assert (bench.retries, bench.unsent) == (2 * SEND_TRIES, 4)


def test_a_frame_for_programs_leaves_without_its_tag(bench):
    bench.batch.octets[0] = np.arange(2048) % 251
    post_untagged(bench.batch, 0, 64)
    assert bench.batch.lengths[0] == 60
    assert flush(bench.batch, bench.near.fileno()) == 1
    assert bench.far[0].recv(4096) == bytes([*range(12), *range(16, 64)])
