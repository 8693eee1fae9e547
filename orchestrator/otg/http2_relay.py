"""Relay of HTTP/2 connections to the gRPC server: bounds the frames that cost that server memory.

gRPC queues an answer to each PING and SETTINGS frame, and an event for each call that is begun and
reset, as fast as they come: gRPC 1.80 took 2.2 GB within 14 s, from one client after the other that
sent PING frames, and none of its options prevents this. So each connection passes a relay that
reads the heads of its frames (RFC 9113, section 4.1) and closes the connection at more than
`CONTROLS_S` of these frames, or `CALLS_S` calls, per second. Nothing is read from a peer that does
not take its answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

from orchestrator.connection_bounds import TokenBucket

CONTROLS_S, CALLS_S = 100.0, 2000.0
"""Frames of `CONTROLS`, and HEADERS frames, of a connection per second."""
PREFACE_OCTETS, HEAD_OCTETS = 24, 9
HEADERS, DATA = 1, 0
CONTROLS = frozenset({2, 3, 4, 6, 9})
"""PRIORITY, RST_STREAM, SETTINGS, PING, CONTINUATION."""


class FrameHeads:
    """Reader of the types of frames in a stream of octets; `skip` octets come before the first."""

    def __init__(self, skip: int) -> None:
        self._skip, self._head = skip, b""

    def take(self, octets: bytes) -> Iterator[tuple[int, int]]:
        """Type and length of each frame whose head is complete now."""
        at = 0
        while at < len(octets):
            if self._skip:
                passed = min(self._skip, len(octets) - at)
                self._skip -= passed
                at += passed
                continue
            missing = HEAD_OCTETS - len(self._head)
            self._head += octets[at : at + missing]
            at += missing
            if len(self._head) == HEAD_OCTETS:
                length = int.from_bytes(self._head[:3], "big")
                yield self._head[3], length
                self._skip, self._head = length, b""


class Http2Relay(asyncio.Protocol):
    """A peer's side of a connection. `answered` is called with this relay once a call of the peer
    is answered; `opened` holds it while it is open."""

    def __init__(self, path: str, answered: Callable[[Any], None], opened: set[Http2Relay]) -> None:
        self._path, self._answered, self._opened = path, answered, opened
        self._frames = FrameHeads(PREFACE_OCTETS)
        self._controls, self._calls = TokenBucket(CONTROLS_S), TokenBucket(CALLS_S)
        self._transport: asyncio.Transport | None = None
        self._inner = _ServerSide(self)
        self._connecting: asyncio.Task[None] | None = None
        self._full, self._early = False, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connect to the server."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._opened.add(self)
        self._connecting = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        try:
            loop = asyncio.get_running_loop()
            await loop.create_unix_connection(lambda: self._inner, self._path)
        except OSError:
            self.end()
        else:
            assert self._inner.transport is not None
            self._inner.transport.write(self._early)
            self._early = b""
            self.watch()

    def watch(self) -> None:
        """Read from the peer only while both sides take what they are sent, and from the server
        only while the peer does."""
        _set_reading(self._transport, not self._full and not self._inner.full)
        _set_reading(self._inner.transport, not self._full)

    def data_received(self, data: bytes) -> None:
        """Pass octets of the peer on, or close the connection."""
        now = time.monotonic()
        for kind, length in self._frames.take(data):
            costly = kind in CONTROLS or (kind == DATA and not length)
            bucket = self._controls if costly else self._calls if kind == HEADERS else None
            if bucket is not None and not bucket.take(now):
                self.end()
                return
        if self._inner.transport is not None:
            self._inner.transport.write(data)
        elif self._transport is not None:  # nothing more is read until the server is reached
            self._early += data
            self._transport.pause_reading()

    def of_server(self, data: bytes, calls: int) -> None:
        """Pass octets of the server on, with the heads of `calls` answers among them."""
        if calls:
            self._answered(self)
        if self._transport is not None:
            self._transport.write(data)

    def pause_writing(self) -> None:
        """The peer does not take its answers."""
        self._full = True
        self.watch()

    def resume_writing(self) -> None:
        """The peer has taken its answers."""
        self._full = False
        self.watch()

    def end(self) -> None:
        """Close both sides at once."""
        for transport in (self._transport, self._inner.transport):
            if transport is not None:
                transport.abort()

    def finish(self) -> None:
        """Close the peer's side when it has taken what was sent; the server has closed its own."""
        if self._transport is not None:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the server's side."""
        self._opened.discard(self)
        if self._connecting is not None:
            self._connecting.cancel()
        if self._inner.transport is not None:
            self._inner.transport.abort()


class _ServerSide(asyncio.Protocol):
    """The server's side of a connection."""

    def __init__(self, relay: Http2Relay) -> None:
        self._relay, self._frames = relay, FrameHeads(0)
        self.transport: asyncio.Transport | None = None
        self.full = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        calls = sum(kind == HEADERS for kind, _ in self._frames.take(data))
        self._relay.of_server(data, calls)

    def pause_writing(self) -> None:
        self.full = True
        self._relay.watch()

    def resume_writing(self) -> None:
        self.full = False
        self._relay.watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._relay.finish()


def _set_reading(transport: asyncio.Transport | None, wanted: bool) -> None:
    if transport is None or transport.is_closing():
        return
    if wanted:
        transport.resume_reading()
    else:
        transport.pause_reading()
