"""Waker: interrupts a thread's wait on its sockets from any other thread.

Polling would wake the thread for nothing most of the time, and each wake-up takes a core from the
thread that has it.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Any

import zmq


class Waker:
    """Wait object for the zmq socket `at` and for calls of `ring`."""

    def __init__(self, at: Any) -> None:
        self._near, self._far = socket.socketpair()
        for end in (self._near, self._far):
            end.setblocking(False)
        self._at = at
        self._poller = zmq.Poller()
        self._poller.register(at, zmq.POLLIN)
        self._poller.register(self._near.fileno(), zmq.POLLIN)

    def ring(self) -> None:
        """Wake the waiting thread, or let its next wait return at once. No effect after `close`."""
        with contextlib.suppress(OSError):  # full: a wake-up is pending; or closed
            self._far.send(b"\0")

    def wait(self, seconds: float | None) -> bool:
        """Wait until `ring` is called or the zmq socket is readable; True when it is readable.
        None: without a limit."""
        ready = dict(self._poller.poll(None if seconds is None else int(seconds * 1000)))
        with contextlib.suppress(BlockingIOError):
            while self._near.recv(4096):
                pass
        return self._at in ready

    def close(self) -> None:
        """Close the descriptors."""
        self._near.close()
        self._far.close()
