"""Bounds of a TCP server on its connections: in number and rate, in all and of one address.

A connection is a newcomer until its peer has shown that it may use the server. The oldest newcomer
gives way to the next one, so that idle connections keep no other peer out.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol, TypeVar


class PeerConnection(Protocol):
    """Connection of a peer."""

    source: str
    """Address of the peer, without its port."""
    began_s: float
    """Time at which it was accepted, by `time.monotonic`."""
    keyed: bool
    """True once the peer has shown that it may use the server."""


Peer = TypeVar("Peer", bound=PeerConnection)


class Denied(Exception):
    """A new connection is not admitted; the text is the reason."""


class TokenBucket:
    """Token bucket of one second's worth of events."""

    def __init__(self, rate: float) -> None:
        self.rate, self._level, self._at_s = rate, rate, time.monotonic()

    def left(self, now: float) -> float:
        """Tokens that are left."""
        self._level = min(self.rate, self._level + (now - self._at_s) * self.rate)
        self._at_s = now
        return self._level

    def take(self, now: float) -> bool:
        """Take a token; False when none is left."""
        if self.left(now) < 1:
            return False
        self._level -= 1
        return True


@dataclass(frozen=True)
class Limits:
    """Most connections of a server; `_of_source` is of one address."""

    newcomers: int
    newcomers_of_source: int
    connections: int
    keyed_of_source: int
    accepted_s: float
    """New connections per second."""
    accepted_of_source_s: float


class ConnectionBounds:
    """Admission of new connections within `limits`."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.accepts = TokenBucket(limits.accepted_s)
        """Rate of all new connections."""
        self._sources: dict[str, TokenBucket] = {}

    def admit(self, source: str, now: float, known: Collection[Peer]) -> Peer | None:
        """Admit a connection of an address beside those that are open.

        Returns the newcomer that has to give way, None where there is room. Raises Denied.
        """
        limits = self.limits
        if source not in self._sources and len(self._sources) > limits.connections:
            self._sources = {s: b for s, b in self._sources.items() if b.left(now) < b.rate}
        if not self._sources.setdefault(source, TokenBucket(limits.accepted_of_source_s)).take(now):
            raise Denied(f"more than {limits.accepted_of_source_s:.0f} new connections per second")
        newcomers = [one for one in known if not one.keyed]
        if len(known) - len(newcomers) + limits.newcomers > limits.connections:
            raise Denied(f"more than {limits.connections} connections")
        if sum(one.keyed and one.source == source for one in known) >= limits.keyed_of_source:
            raise Denied(f"more than {limits.keyed_of_source} connections of one address")
        counts = Counter(one.source for one in newcomers)
        if counts[source] >= limits.newcomers_of_source:
            largest = source
        elif len(newcomers) >= limits.newcomers:
            largest = max(counts, key=lambda one: counts[one])
        else:
            return None
        return min((n for n in newcomers if n.source == largest), key=lambda one: one.began_s)
