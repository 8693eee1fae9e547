"""A thread that waits on a socket is woken by a ring, now or before it waits, and by messages."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
import zmq

from orchestrator.live.waker import Waker


@pytest.fixture
def pair() -> Iterator[tuple[Waker, zmq.Socket[bytes]]]:
    context = zmq.Context()
    near, far = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
    near.bind("inproc://waker")
    far.connect("inproc://waker")
    waker = Waker(near)
    yield waker, far
    waker.close()
    near.close(0)
    far.close(0)
    context.term()


def test_a_ring_before_the_wait_ends_it_once(pair: tuple[Waker, zmq.Socket[bytes]]) -> None:
    waker, _ = pair
    for _ in range(3):
        waker.ring()
    begun = time.monotonic()
    assert waker.wait(30) is False
    assert time.monotonic() - begun < 20
    begun = time.monotonic()
    assert waker.wait(0.05) is False, "all rings were taken"
    assert time.monotonic() - begun >= 0.04


def test_a_ring_of_another_thread_ends_a_wait_without_a_limit(
    pair: tuple[Waker, zmq.Socket[bytes]],
) -> None:
    waker, _ = pair
    threading.Timer(0.05, waker.ring).start()
    assert waker.wait(None) is False


def test_a_message_ends_a_wait_and_is_said(pair: tuple[Waker, zmq.Socket[bytes]]) -> None:
    waker, far = pair
    far.send(b"x")
    assert waker.wait(30) is True
    waker.ring()
    assert waker.wait(0) is True, "it is still there"


def test_rings_beyond_what_is_held_and_after_the_end_do_nothing(
    pair: tuple[Waker, zmq.Socket[bytes]],
) -> None:
    waker, _ = pair
    for _ in range(20_000):
        waker.ring()
    assert waker.wait(0) is False
    waker.close()
    waker.ring()
