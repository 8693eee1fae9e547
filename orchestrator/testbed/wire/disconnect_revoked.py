"""Disconnection of peers whose key is revoked.

ZeroMQ asks who a peer is when it connects, and has no call that ends one connection of a bound
socket. Each frame tells the descriptor that it came by, though: its TCP connection is shut down
there, ZeroMQ finds the end of it as if the peer had gone, and the gate turns away whoever comes
again. A descriptor may have been closed and given to another connection meanwhile, so it is shut
down only where it still leads to the address that it led to.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress

import zmq

MOST = 4096
"""Connections that are remembered; the one that was silent for longest goes first."""


class ConnectionTable:
    """The connections of a bound socket, by the key that each came with."""

    def __init__(self) -> None:
        self._lines: dict[int, tuple[str, object]] = {}
        """Descriptor -> (public key, address of the peer)."""

    def note(self, frame: zmq.Frame) -> str:
        """Note where a frame came by, and with whose key; the local socket's name, or nothing."""
        with suppress(zmq.ZMQError, OSError, TypeError, ValueError):  # it is gone already
            descriptor = int(frame.get(zmq.SRCFD))
            address = _peer(descriptor)
            if address is not None:
                self._lines.pop(descriptor, None)
                self._lines[descriptor] = str(frame.get("User-Id")), address
                while len(self._lines) > MOST:
                    self._lines.pop(next(iter(self._lines)))
                return os.fsdecode(address) if isinstance(address, bytes | str) else ""
        return ""

    def disconnect(self, let_in: Callable[[str], bool]) -> list[str]:
        """Close the connections of unauthorised keys; returns these keys."""
        closed = []
        for descriptor, (public, address) in list(self._lines.items()):
            if let_in(public):
                continue
            del self._lines[descriptor]
            with suppress(OSError):
                if _peer(descriptor) == address:
                    with socket.socket(fileno=os.dup(descriptor)) as line:
                        line.shutdown(socket.SHUT_RDWR)
                    closed.append(public)
        return closed


def _peer(descriptor: int) -> object:
    """The address at the other end; None: it has none. A connection of the gate has the name that
    `connection_gate` gave its local socket."""
    with socket.socket(fileno=os.dup(descriptor)) as line:
        if line.family not in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):
            return None
        return line.getpeername() or None
