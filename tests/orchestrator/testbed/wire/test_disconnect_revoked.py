"""A connection whose key is revoked is closed, and no other is."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from orchestrator.testbed.wire.disconnect_revoked import ConnectionTable

A, B = "a" * 40, "b" * 40


class Frame:
    """What Lines asks of one."""

    def __init__(self, descriptor: int, key: str) -> None:
        self._told = {"User-Id": key}
        self._descriptor = descriptor

    def get(self, what: Any) -> Any:
        return self._told.get(what, self._descriptor)


@pytest.fixture
def lines() -> Iterator[tuple[list[socket.socket], list[socket.socket]]]:
    """Two connections of a listener: its ends, and those of the peers."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        peers, ours = [], []
        for _ in range(2):
            peers.append(stack.enter_context(socket.create_connection(listener.getsockname())))
            peers[-1].settimeout(0.2)
            ours.append(stack.enter_context(listener.accept()[0]))
        yield ours, peers


def is_open(peer: socket.socket) -> bool:
    try:
        return peer.recv(1) != b""
    except TimeoutError:
        return True


def test_the_connections_of_a_key_that_is_let_in_no_more_are_closed(lines):
    ours, peers = lines
    known = ConnectionTable()
    known.note(Frame(ours[0].fileno(), A))
    known.note(Frame(ours[1].fileno(), B))
    assert known.disconnect(lambda key: True) == []
    assert is_open(peers[0])
    assert known.disconnect(lambda key: key == B) == [A]
    assert not is_open(peers[0])
    assert is_open(peers[1])
    assert known.disconnect(lambda key: key == B) == [], "once"


def test_a_descriptor_that_is_another_connection_by_now_is_left_alone(lines):
    ours, peers = lines
    known = ConnectionTable()
    descriptor = ours[0].fileno()
    known.note(Frame(descriptor, A))
    ours[0].close()
    assert socket.socket(fileno=socket.dup(ours[1].fileno())).detach() == descriptor
    assert known.disconnect(lambda key: False) == []
    assert is_open(peers[1])
    socket.close(descriptor)


def test_what_has_no_descriptor_is_not_remembered(tmp_path):
    known = ConnectionTable()
    known.note(Frame(10**6, A))
    with (tmp_path / "file").open("wb") as file:
        known.note(Frame(file.fileno(), A))
    near, far = socket.socketpair()
    with near, far:
        known.note(Frame(near.fileno(), A))
    assert known.disconnect(lambda key: False) == []
