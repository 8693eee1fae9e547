"""WSGI server that strangers cannot exhaust: bounded connections, octets and time of a request.

Connections are bounded in all, of one address, and in their rate.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from orchestrator.connection_bounds import ConnectionBounds, Denied, Limits

IDLE_S = 10.0
"""Time for the request of a connection, and for each part of the answer that it takes."""
CONNECTIONS, OF_SOURCE = 16, 8
"""Connections at once, in all and of one address: a thread and a descriptor of the process each."""
ACCEPTS_S, OF_SOURCE_S = 200.0, 100.0
"""New connections per second, in all and of one address; further ones are closed at once."""
REQUEST_OCTETS = 1 << 14
"""Octets of a request that are read, with its headers; Prometheus sends some 300."""


@dataclass(eq=False)
class _Scrape:
    """Connection of a scraper."""

    request: socket.socket
    source: str
    began_s: float = field(default_factory=time.monotonic)
    keyed: bool = False
    """True once the request is complete."""


class BoundedServer(ThreadingMixIn, WSGIServer):
    """WSGI server with a daemon thread per connection; it resolves no name.

    A connection beyond the bounds takes the place of the oldest without a complete request: idle
    connections keep no scraper out, and take no descriptors from the process.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[WSGIRequestHandler]) -> None:
        self._open = dict[socket.socket, _Scrape]()
        self._bounds = ConnectionBounds(
            Limits(CONNECTIONS, OF_SOURCE, 2 * CONNECTIONS, CONNECTIONS, ACCEPTS_S, OF_SOURCE_S)
        )
        self._lock = threading.Lock()
        super().__init__(address, handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return whether a connection is admitted; another one may have to end."""
        now, source = time.monotonic(), str(client_address[0])
        with self._lock:
            if not self._bounds.accepts.take(now):
                return False
            try:
                oldest = self._bounds.admit(source, now, self._open.values())
            except Denied:
                return False
            if oldest is not None:
                self._end(oldest.request)
            self._open[request] = _Scrape(request, source, now)
        return True

    def shutdown_request(self, request: Any) -> None:
        """Close a connection that has ended."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End connections that take too long over their request; called ten times a second."""
        with self._lock:
            latest = time.monotonic() - IDLE_S
            for one in list(self._open.values()):
                if one.began_s < latest and not one.keyed:
                    self._end(one.request)

    def begin_answer(self, request: Any) -> None:
        """Note that the request of a connection is complete."""
        with self._lock:
            if request in self._open:
                self._open[request].keyed = True

    def _end(self, request: socket.socket) -> None:
        """Have the thread of a connection end, which closes it."""
        del self._open[request]
        with contextlib.suppress(OSError):  # the peer was earlier
            request.shutdown(socket.SHUT_RDWR)

    def server_bind(self) -> None:
        # HTTPServer would ask the name service for the address's name, which can take seconds.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = map(str, self.server_address[:2])  # type: ignore[assignment]
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error of a request, unless the scraper closed its connection early."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class BoundedServer6(BoundedServer):
    """The same for IPv6."""

    address_family = socket.AF_INET6


class _FirstOctets:
    """Stream of a request of at most `REQUEST_OCTETS`; a scrape has no body."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._left = stream, REQUEST_OCTETS

    def readline(self, size: int = REQUEST_OCTETS) -> bytes:
        """The next line. Raises LineTooLong, which is answered with status 431."""
        if not self._left:
            raise http.client.LineTooLong("request")
        line: bytes = self._stream.readline(min(size, self._left))
        self._left -= len(line)
        return line

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


class RequestHandler(WSGIRequestHandler):
    """Request handler that logs nothing and waits for no slow client."""

    timeout = IDLE_S

    def setup(self) -> None:
        """Bound the request."""
        super().setup()
        self.rfile: Any = _FirstOctets(self.rfile)

    def parse_request(self) -> bool:
        """Read the headers."""
        complete = super().parse_request()
        self.server.begin_answer(self.request)  # type: ignore[attr-defined]
        return complete

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing: a scrape every second would fill the terminal."""
