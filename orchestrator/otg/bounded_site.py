"""TCP site of the OTG server's REST transport, with bounds on connections and on time.

aiohttp bounds the line, the headers and the body of a request; it bounds neither connections nor
the time of a TLS handshake and of a first request. This site accepts connections itself:

- `NEWCOMERS` may be open that have sent no complete request with the right token, `OF_SOURCE` of
  one address; the oldest gives way to the next one. Each has `FIRST_S` for its TLS handshake, and
  as long for its first request.
- New connections are accepted at `ACCEPTS_S` per second, `OF_SOURCE_S` from one address.
- `CONNECTIONS` may be open in all. A connection without a request is closed after `IDLE_S`.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from orchestrator.connection_bounds import ConnectionBounds, Denied, Limits

NEWCOMERS, OF_SOURCE = 32, 16
"""Connections without a request that carries the token: all, and those of one address."""
CONNECTIONS, KEYED_OF_SOURCE = 96, 48
"""Connections: all, and those of one address with such a request."""
ACCEPTS_S, OF_SOURCE_S = 200.0, 100.0
"""New connections per second."""
FIRST_S = 5.0
IDLE_S = 30.0
LINGER_S = 1.0
"""Time in which the rest of a request that was refused is read and dropped."""
LINE_OCTETS, HEADER_OCTETS, HEADERS = 2048, 2048, 64
"""Octets of a request's first line and of each header, and headers of a request."""
LOOK_S = 0.25
BACKLOG = 128

REQUEST_LIMITS: dict[str, Any] = {
    "max_line_size": LINE_OCTETS,
    "max_field_size": HEADER_OCTETS,
    "max_headers": HEADERS,
    "keepalive_timeout": IDLE_S,
    "lingering_time": LINGER_S,
    "auto_decompress": False,
}
"""Options of aiohttp's server: a compressed body would be bounded only after it is unpacked."""


@dataclass(eq=False)
class RestConnection:
    """Connection of a REST client."""

    source: str
    peer: socket.socket
    began_s: float = field(default_factory=time.monotonic)
    keyed: bool = False
    handler: Any = None
    """aiohttp's protocol of the connection, which is made before the TLS handshake."""
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
    """Site of an aiohttp server; `address` is the one that it listens on. Raises OSError."""

    def __init__(self, address: tuple[str, int], tls: ssl.SSLContext | None) -> None:
        self._tls = tls
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._listener = socket.create_server(address, family=family, backlog=BACKLOG)
        self._listener.setblocking(False)
        self.address: tuple[str, int] = self._listener.getsockname()[:2]
        self._bounds = ConnectionBounds(
            Limits(NEWCOMERS, OF_SOURCE, CONNECTIONS, KEYED_OF_SOURCE, ACCEPTS_S, OF_SOURCE_S)
        )
        self._connections = set[RestConnection]()
        self._tasks = set[asyncio.Task[None]]()
        self._server: web.Server | None = None

    def start(self, server: web.Server) -> None:
        """Begin to accept connections, in the running loop."""
        self._server = server
        self._keep(self._accept())
        self._keep(self._expire())

    def note_authorized(self, handler: Any) -> None:
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
            connection = RestConnection(str(address[0]), peer)
            self._connections.add(connection)
            connection.handshake = self._keep(self._begin(connection))

    async def _begin(self, connection: RestConnection) -> None:
        """Pass a connection to aiohttp, after its TLS handshake."""
        assert self._server is not None
        server, peer = self._server, connection.peer

        def make() -> Any:
            connection.handler = server()
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

    def _end(self, connection: RestConnection) -> None:
        connection.end()
        self._connections.discard(connection)

    def _forget_closed(self) -> None:
        assert self._server is not None
        known = set(map(id, self._server.connections))
        self._connections = {
            one for one in self._connections if one.transport is None or id(one.handler) in known
        }

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self._forget_closed()
            latest = time.monotonic() - FIRST_S
            for one in list(self._connections):
                if one.transport is not None and not one.keyed and one.began_s < latest:
                    self._end(one)
