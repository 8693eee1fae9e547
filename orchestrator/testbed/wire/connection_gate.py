"""Connection gate: the TCP socket of a server, in front of ZeroMQ, with bounds.

ZeroMQ bounds one frame of a peer (`ZMQ_MAXMSGSIZE`), before and after the handshake alike, and the
number of complete messages (`ZMQ_RCVHWM`); it bounds neither the number of connections, nor the
parts of a message that never ends. So a thread accepts the connections, and copies octets between
each peer and ZeroMQ, which listens on a local socket that takes this process alone:

- Until a peer has shown an authorised key (ZeroMQ answers with READY), it may send the greeting and
  two frames of `FIRST_OCTETS` each within `HANDSHAKE_S`. Of such connections there are at most
  `NEWCOMERS`, `OF_SOURCE` from one address; the oldest gives way to the next one.
- New connections are accepted at `ACCEPTS_S` per second, `OF_SOURCE_S` from one address.
- After that, `most` octets of a peer may wait here that are no complete message yet. A peer with
  more waits; after `STALLED_S` without a complete message its connection is closed.

Frames are those of ZMTP 3.1 (ZeroMQ specification 37), the handshake that of CURVE (26).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import selectors
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zmq

from orchestrator.connection_bounds import ConnectionBounds, Denied, Limits
from orchestrator.deferred_signals import deferred_signals
from orchestrator.errors import BadInput

FIRST_OCTETS = 2048
"""Longest frame of a peer without a key: HELLO has 200 octets, INITIATE 257 and the metadata."""
HANDSHAKE_S = 5.0
NEWCOMERS, OF_SOURCE = 128, 32
"""Connections that have not shown a key: all, and those of one address."""
CONNECTIONS, KEYED_OF_SOURCE = 1024, 256
"""Connections: all, and those of one address with a key."""
DESCRIPTORS = 8 * CONNECTIONS
"""Soft limit of descriptors: a connection takes three."""
ACCEPTS_S, OF_SOURCE_S = 200.0, 100.0
"""New connections per second."""
STALLED_S = 30.0
COPIED = 1 << 16
"""Octets that are copied at once."""
GREETING = 64
"""Octets of a greeting."""
_FRAME_OCTETS = 33
"""Octets that CURVE adds to a frame: MESSAGE, nonce, code, flags."""
_TURN_S = 1.0
"""Longest time in which one peer's INITIATE is judged before the next one's."""
_IDLE_S = 0.5
_BACKLOG = 128
_numbers = itertools.count()


def wire_octets(payload: int) -> int:
    """Octets on the wire of an encrypted frame with so many octets of payload."""
    body = payload + _FRAME_OCTETS
    return body + (2 if body < 256 else 9)


class _Closed(Exception):
    """A connection is to be closed; the reason is empty when there is nothing to report."""


class _Frames:
    """Splits octets into the greeting and ZMTP frames, in bounds."""

    def __init__(self) -> None:
        self._greeting, self._held = GREETING, b""

    def take(self, octets: bytes) -> tuple[bytes, list[bytes]]:
        """Octets of the greeting among these, and the frames that are complete now."""
        greeting = octets[: self._greeting]
        self._greeting -= len(greeting)
        self._held += octets[len(greeting) :]
        frames = []
        while len(self._held) >= 2:
            head = 9 if self._held[0] & 2 else 2
            if len(self._held) < head:
                break
            size = int.from_bytes(self._held[1:head], "big")
            if size > FIRST_OCTETS:
                raise _Closed(f"it announced a frame of {size} octets before it showed a key")
            if len(self._held) < head + size:
                break
            frames.append(self._held[: head + size])
            self._held = self._held[head + size :]
        return greeting, frames


class Connection:
    """One peer: its socket, and the one to ZeroMQ."""

    def __init__(self, source: str, peer: socket.socket, inner: socket.socket, name: str) -> None:
        self.source, self.peer, self.inner, self.name = source, peer, inner, name
        self.began_s = time.monotonic()
        self.keyed = self.closed = False
        self.initiate: bytes | None = None
        """The frame with the peer's key, until it is its turn."""
        self.sent = self.received = 0
        """Octets with a key: of the peer, and of those the octets of complete messages."""
        self.stalled_s: float | None = None
        self._from_peer, self._from_inner, self._frames = _Frames(), _Frames(), 0
        self.waiting: dict[socket.socket, bytes] = {peer: b"", inner: b""}
        """What each socket has not taken yet."""
        self.ended = False
        """True once ZeroMQ has closed: what is left is for the peer."""

    def of_peer(self, octets: bytes) -> bytes:
        """What of a peer's octets goes on to ZeroMQ now. Raises _Closed."""
        if self.keyed:
            self.sent += len(octets)
            return octets
        onwards, frames = self._from_peer.take(octets)
        for frame in frames:
            self._frames += 1
            if self._frames == 1:
                onwards += frame
            elif self._frames == 2:
                self.initiate = frame
            else:
                raise _Closed("it went on before it was let in")
        return onwards

    def of_inner(self, octets: bytes) -> None:
        """Look for READY in what ZeroMQ answers."""
        if not self.keyed:
            with contextlib.suppress(_Closed):
                for frame in self._from_inner.take(octets)[1]:
                    self.keyed |= b"\x05READY" in frame[:16]


class ConnectionGate(threading.Thread):
    """Accepts connections at `endpoint` and passes them on to a ZeroMQ socket bound to `inner`.

    `most` octets of a message may wait. `denied` gets the address of a peer whose connection was
    closed, and the reason, in this thread. `listening` is the descriptor of a socket that listens
    already. Raises BadInput where nothing can listen at the endpoint.
    """

    def __init__(
        self,
        endpoint: str,
        most: int,
        denied: Callable[[str, str], None],
        listening: int | None = None,
    ) -> None:
        super().__init__(name="connection-gate", daemon=True)
        self._most, self._denied = most + 2 * COPIED, denied
        self._listener = (
            _listener(endpoint) if listening is None else socket.socket(fileno=os.dup(listening))
        )
        self._listener.setblocking(False)
        host, port = self._listener.getsockname()[:2]
        self.endpoint = f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"
        self._folder = None if sys.platform == "linux" else Path(tempfile.mkdtemp(prefix="tb-"))
        self._number = f"tailback-{os.getpid()}-{next(_numbers)}"
        self.inner = f"ipc://{self._local('in')}".replace("\0", "@")
        self._connections: dict[str, Connection] = {}
        self._turns: deque[Connection] = deque()
        self._judged: tuple[Connection, float] | None = None
        self._bounds = ConnectionBounds(
            Limits(NEWCOMERS, OF_SOURCE, CONNECTIONS, KEYED_OF_SOURCE, ACCEPTS_S, OF_SOURCE_S)
        )
        self._selector = selectors.DefaultSelector()
        self._bell, self._ring = socket.socketpair()
        for end in (self._bell, self._ring):
            end.setblocking(False)
        self._ending = False
        self._taken: deque[tuple[str, int]] = deque()

    def protect(self, set_option: Callable[[int, int], Any]) -> None:
        """Have a socket that will be bound to `inner` take connections of this process alone; gets
        the method that sets its options."""
        if self._folder is None:
            set_option(zmq.IPC_FILTER_PID, os.getpid())
        set_option(zmq.BACKLOG, NEWCOMERS)

    def judged_source(self) -> str:
        """Address of the peer whose key is being looked up."""
        judged = self._judged
        return judged[0].source if judged else "unknown"

    def received(self, name: str, octets: int) -> None:
        """A complete message with so many octets on the wire came by the connection `name`."""
        self._taken.append((name, octets))
        if (known := self._connections.get(name)) is not None and known.stalled_s is not None:
            self._wake()

    def _local(self, name: str) -> str:
        """Name of a local socket: abstract on Linux, so that no file is left behind."""
        return f"\0{self._number}-{name}" if self._folder is None else f"{self._folder}/{name}"

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # it is awake already, or has ended
            self._ring.send(b"\0")

    def close(self) -> None:
        """Stop listening; octets for peers that are under way already are passed on first."""
        with deferred_signals():
            self._ending = True
            if self.is_alive():
                self._wake()
                self.join()
            else:
                self._shut()

    def run(self) -> None:
        """Copy until closed."""
        register = self._selector.register
        register(self._bell, selectors.EVENT_READ)
        register(self._listener, selectors.EVENT_READ)
        end_s = float("inf")
        listening = True
        while True:
            if self._ending and end_s == float("inf"):
                end_s = time.monotonic() + _IDLE_S
            now = time.monotonic()
            if now > end_s or (self._ending and not self._connections):
                break
            wants = not self._ending and self._bounds.accepts.left(now) >= 1
            if wants != listening:
                listening = wants
                if wants:
                    register(self._listener, selectors.EVENT_READ)
                else:
                    self._selector.unregister(self._listener)
            busy = not listening or self._ending or self._turns
            for key, events in self._selector.select(0.02 if busy else _IDLE_S):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is self._bell:
                    with contextlib.suppress(BlockingIOError):
                        self._bell.recv(COPIED)
                elif isinstance(key.fileobj, socket.socket):
                    self._move(key.data, key.fileobj, events)
            self._settle_received()
            self._next_turn()
            self._expire(time.monotonic())
        self._shut()

    def _shut(self) -> None:
        for connection in list(self._connections.values()):
            self._drop(connection)
        for one in (self._listener, self._bell, self._ring):
            one.close()
        self._selector.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self) -> None:
        for _ in range(16):
            now = time.monotonic()
            if not self._bounds.accepts.take(now):
                return
            try:
                peer, address = self._listener.accept()
            except OSError:  # none left, gone again, or no descriptor for it
                return
            source = str(address[0])
            try:
                self._admit(peer, source, now)
            except Denied as reason:
                peer.close()
                self._denied(source, str(reason))
            except OSError as error:
                peer.close()
                self._denied(source, f"its connection was closed: {error.strerror}")

    def _admit(self, peer: socket.socket, source: str, now: float) -> None:
        oldest = self._bounds.admit(source, now, self._connections.values())
        if oldest is not None:
            self._close(oldest, f"more than {OF_SOURCE} connections that have shown no key")
        peer.setblocking(False)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        name = self._local(str(next(_numbers)))
        inner = socket.socket(socket.AF_UNIX)
        try:
            inner.setblocking(False)
            inner.bind(name)
            inner.connect(self._local("in"))
        except OSError:
            inner.close()
            raise
        connection = Connection(source, peer, inner, name)
        self._connections[name] = connection
        for one in (peer, inner):
            self._selector.register(one, selectors.EVENT_READ, connection)

    def _move(self, connection: Connection, ready: socket.socket, events: int) -> None:
        """Copy what is ready; the other socket's queue holds it while the other is slow."""
        if connection.closed:
            return
        other = connection.inner if ready is connection.peer else connection.peer
        try:
            if events & selectors.EVENT_WRITE:
                self._push(connection, ready, b"")
            if events & selectors.EVENT_READ and not connection.waiting[other]:
                octets = ready.recv(COPIED)
                if not octets:
                    connection.ended = True
                    self._close(connection, "")
                    return
                if ready is connection.peer:
                    octets = connection.of_peer(octets)
                    if connection.initiate is not None and connection not in self._turns:
                        self._turns.append(connection)
                else:
                    connection.of_inner(octets)
                self._push(connection, other, octets)
        except _Closed as reason:
            self._close(connection, str(reason))
            return
        except BlockingIOError:
            pass
        except OSError:  # it has gone
            self._close(connection, "")
            return
        self._watch(connection)

    def _push(self, connection: Connection, to: socket.socket, octets: bytes) -> None:
        waiting = connection.waiting[to] + octets
        if waiting:
            with contextlib.suppress(BlockingIOError):
                waiting = waiting[to.send(waiting) :]
        connection.waiting[to] = waiting

    def _watch(self, connection: Connection) -> None:
        """Read from each socket only while the other takes it, and a message may go on."""
        over = connection.sent - connection.received > self._most
        connection.stalled_s = (connection.stalled_s or time.monotonic()) if over else None
        for one, other in (
            (connection.peer, connection.inner),
            (connection.inner, connection.peer),
        ):
            reads = not connection.waiting[other] and not (over and one is connection.peer)
            reads &= not (one is connection.peer and connection.initiate is not None)
            events = selectors.EVENT_READ * reads
            events |= selectors.EVENT_WRITE * bool(connection.waiting[one])
            registered = self._selector.get_map().get(one.fileno())
            if events and registered is None:
                self._selector.register(one, events, connection)
            elif registered is not None and not events:
                self._selector.unregister(one)
            elif registered is not None and registered.events != events:
                self._selector.modify(one, events, connection)

    def _settle_received(self) -> None:
        """Count what the server has taken."""
        while self._taken:
            name, octets = self._taken.popleft()
            if (connection := self._connections.get(name)) is not None:
                connection.received = min(connection.received + octets, connection.sent)
                if connection.stalled_s is not None:
                    self._watch(connection)

    def _next_turn(self) -> None:
        """Pass on the next INITIATE: one at a time, so that a lookup is that of a known peer."""
        now = time.monotonic()
        if self._judged is not None:
            connection, since = self._judged
            if not connection.keyed and not connection.closed and now - since < _TURN_S:
                return
            self._judged = None
        while self._turns and self._judged is None:
            connection = self._turns.popleft()
            frame, connection.initiate = connection.initiate, None
            if connection.closed or frame is None:
                continue
            self._judged = connection, now
            try:
                self._push(connection, connection.inner, frame)
            except OSError:
                self._close(connection, "")
            else:
                self._watch(connection)

    def _expire(self, now: float) -> None:
        for connection in list(self._connections.values()):
            if not connection.keyed and now - connection.began_s > HANDSHAKE_S:
                self._close(connection, f"it showed no key within {HANDSHAKE_S:.0f} s")
            elif connection.stalled_s is not None and now - connection.stalled_s > STALLED_S:
                self._close(connection, "it sent a message that is longer than one may be")

    def _close(self, connection: Connection, reason: str) -> None:
        if connection.closed:
            return
        if not reason and connection.waiting[connection.peer]:
            with contextlib.suppress(OSError):  # what ZeroMQ had sent before it closed
                connection.peer.settimeout(_IDLE_S)
                connection.peer.sendall(connection.waiting[connection.peer])
        self._drop(connection)
        if reason:
            self._denied(connection.source, reason)

    def _drop(self, connection: Connection) -> None:
        connection.closed = True
        self._connections.pop(connection.name, None)
        for one in (connection.peer, connection.inner):
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(one)
            one.close()
        if self._folder is not None:
            Path(connection.name).unlink(missing_ok=True)


def raise_descriptor_limit() -> None:
    """Raise this process's soft limit of open descriptors to what the gate may use, where the hard
    limit allows it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # macOS has a lower limit of its own
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _listener(endpoint: str) -> socket.socket:
    """A listening socket. Raises BadInput."""
    expected = "tcp://ADDRESS:PORT of this machine is expected"
    scheme, _, rest = endpoint.partition("://")
    host, _, port = rest.rpartition(":")
    if scheme != "tcp" or not host or not (port == "*" or (port.isascii() and port.isdigit())):
        raise BadInput("--listen", f"{endpoint[:200]}: {expected}")
    host = "0.0.0.0" if host == "*" else host.strip("[]")
    number = 0 if port == "*" else int(port[:6])
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, number, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except BaseException:
            listener.close()
            raise
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput("--listen", f"{endpoint[:200]}: {reason}; {expected}") from None
    return listener
