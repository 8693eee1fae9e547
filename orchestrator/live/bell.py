"""Waker: interrupts a thread's wait on its sockets from any other thread.

A thread that looks now and then whether there is something to do is woken for nothing most of the
time, and each time it takes a core from whoever has it.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Any

import zmq


class Bell:
    """Something to wait at beside the zmq socket `at`."""

    def __init__(self, at: Any) -> None:
        self._near, self._far = socket.socketpair()
        for end in (self._near, self._far):
            end.setblocking(False)
        self._at = at
        self._poller = zmq.Poller()
        self._poller.register(at, zmq.POLLIN)
        self._poller.register(self._near.fileno(), zmq.POLLIN)

    def ring(self) -> None:
        """Wake who waits, or have it not wait next time. After `close` nobody is woken."""
        with contextlib.suppress(OSError):  # full: it is rung already; or closed
            self._far.send(b"\0")

    def wait(self, seconds: float | None) -> bool:
        """Until the bell is rung or the zmq socket has something; True when it has. None: for
        ever."""
        ready = dict(self._poller.poll(None if seconds is None else int(seconds * 1000)))
        with contextlib.suppress(BlockingIOError):
            while self._near.recv(4096):
                pass
        return self._at in ready

    def close(self) -> None:
        """Give the descriptors back."""
        self._near.close()
        self._far.close()
