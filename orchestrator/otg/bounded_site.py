"""TCP site of the OTG server's transports, with bounds on connections and on time.

aiohttp bounds the line, the headers and the body of a request, gRPC its messages; neither bounds
the connections of one address, the time of a TLS handshake and that of a first request. A site
accepts connections itself:

- `NEWCOMERS` may be open that have sent no complete request with the right token, `OF_SOURCE` of
  one address; the oldest gives way to the next one. Each has `FIRST_S` for its TLS handshake, and
  `first_s` for its first request.
- New connections are accepted at `ACCEPTS_S` per second, `OF_SOURCE_S` from one address.
- `CONNECTIONS` may be open in all. A connection without a request is closed after `IDLE_S`.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from orchestrator.connection_bounds import ConnectionBounds, Denied, Limits
from orchestrator.deferred_signals import deferred_signals

NEWCOMERS, OF_SOURCE = 32, 16
"""Connections without a request that carries the token: all, and those of one address."""
CONNECTIONS, KEYED_OF_SOURCE = 96, 48
"""Connections: all, and those of one address with such a request."""
ACCEPTS_S, OF_SOURCE_S = 200.0, 100.0
"""New connections per second."""
FIRST_S = 5.0
LOOK_S = 0.25
BACKLOG = 128
START_S = 10.0
T = TypeVar("T")


class LoopThread:
    """Thread with an event loop; `on_error` gets errors that no coroutine raises."""

    def __init__(self, name: str, on_error: Callable[[dict[str, Any]], None]) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda loop, context: on_error(context))
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        try:
            with deferred_signals():
                self._thread.start()
        except BaseException:
            self.close()
            raise

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Result of a coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(START_S)

    def close(self) -> None:
        """End the loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        if self._thread.ident is not None:
            self._thread.join()
        self._loop.close()


@dataclass(eq=False)
class SiteConnection:
    """Connection of a client."""

    source: str
    peer: socket.socket
    began_s: float = field(default_factory=time.monotonic)
    keyed: bool = False
    handler: asyncio.Protocol | None = None
    """Protocol of the connection, which is made before the TLS handshake."""
    transport: asyncio.WriteTransport | None = None
    """Transport, once the TLS handshake is complete."""
    handshake: asyncio.Task[None] | None = None

    def end(self) -> None:
        """Close the connection at once."""
        if self.transport is not None:
            self.transport.abort()
        elif self.handshake is not None:
            self.handshake.cancel()
            if self.handler is None:  # nothing of asyncio has the socket yet
                self.peer.close()


class BoundedSite:
    """Site of a server; `address` is the one that it listens on. Raises OSError."""

    def __init__(
        self,
        address: tuple[str, int],
        tls: ssl.SSLContext | None = None,
        first_s: float | None = None,
    ) -> None:
        self._tls, self._first_s = tls, FIRST_S if first_s is None else first_s
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._listener = socket.create_server(address, family=family, backlog=BACKLOG)
        self._listener.setblocking(False)
        self.address: tuple[str, int] = self._listener.getsockname()[:2]
        self._bounds = ConnectionBounds(
            Limits(NEWCOMERS, OF_SOURCE, CONNECTIONS, KEYED_OF_SOURCE, ACCEPTS_S, OF_SOURCE_S)
        )
        self._connections = set[SiteConnection]()
        self._tasks = set[asyncio.Task[None]]()
        self._make: Callable[[], asyncio.Protocol] | None = None
        self._opened: Callable[[], Iterable[object]] = tuple

    def start(
        self, make: Callable[[], asyncio.Protocol], opened: Callable[[], Iterable[object]]
    ) -> None:
        """Begin to accept connections, in the running loop.

        `make` makes the protocol of a connection, `opened` gives those that are open.
        """
        self._make, self._opened = make, opened
        self._keep(self._accept())
        self._keep(self._expire())

    def note_authorized(self, handler: object) -> None:
        """Note that a complete request with the right token came by a connection."""
        for one in self._connections:
            if one.handler is handler:
                one.keyed = True

    async def close(self) -> None:
        """Stop accepting."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._listener.close()

    def _keep(self, serving: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(serving)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if not self._bounds.accepts.take(time.monotonic()):
                await asyncio.sleep(1 / ACCEPTS_S)
                continue
            try:
                peer, address = await loop.sock_accept(self._listener)
            except OSError:  # no descriptor is left, or the peer is gone
                await asyncio.sleep(LOOK_S)
                continue
            self._forget_closed()
            try:
                oldest = self._bounds.admit(address[0], time.monotonic(), self._connections)
            except Denied:
                peer.close()
                continue
            if oldest is not None:
                self._end(oldest)
            connection = SiteConnection(str(address[0]), peer)
            self._connections.add(connection)
            connection.handshake = self._keep(self._begin(connection))

    async def _begin(self, connection: SiteConnection) -> None:
        """Pass a connection to its protocol, after its TLS handshake."""
        peer = connection.peer

        def make() -> asyncio.Protocol:
            assert self._make is not None
            connection.handler = self._make()
            return connection.handler

        try:
            peer.setblocking(False)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
                make,
                peer,
                ssl=self._tls,
                ssl_handshake_timeout=None if self._tls is None else FIRST_S,
            )
        except OSError:  # a handshake that failed, took too long, or broke off
            self._connections.discard(connection)
            return
        assert isinstance(transport, asyncio.WriteTransport)
        connection.transport, connection.began_s = transport, time.monotonic()

    def _end(self, connection: SiteConnection) -> None:
        connection.end()
        self._connections.discard(connection)

    def _forget_closed(self) -> None:
        known = set(map(id, self._opened()))
        self._connections = {
            one for one in self._connections if one.transport is None or id(one.handler) in known
        }

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self._forget_closed()
            latest = time.monotonic() - self._first_s
            for one in list(self._connections):
                if one.transport is not None and not one.keyed and one.began_s < latest:
                    self._end(one)
