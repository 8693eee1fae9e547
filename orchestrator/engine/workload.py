"""Messages that applications hand to their connections, scheduled before the run begins.

A traffic source can give, instead of a kernel that makes frames, a function that makes the whole
schedule of its flows: (parameters, connections) -> which connection gets a message of which size
at which time. Every target works out the same schedule from the plan's seed. A flow is then a
connection: its messages go one after another, each as frames as full as they can be.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

ENDLESS = 1 << 52
"""Size (octets) of a message that has no end: it is sent until the run is over. It is a
day of 400 Gb/s; in segments of one octet, each with the most headers, an int64 still holds it."""
HEADERS = 70
"""Octets of a frame that are no part of a message: Ethernet, VLAN tag, IPv4 and either TCP with
timestamps or UDP with our payload header, which happen to be as many. Other headers of a plan
(`engine.frames.header_options`) are 66 to 94."""


@dataclass(frozen=True)
class Connections:
    """The flows of one traffic entry, as a schedule sees them."""

    name: str
    seed: int
    """Of the plan."""
    pairs: tuple[tuple[str, str], ...]
    """(from, to) of every connection."""
    line_rates: np.ndarray
    """int64[connections]: bit/s of the link that the connection's NIC sends on."""
    frame: int
    """Octets of a full frame, headers included."""
    start: int
    stop: int
    """The entry's time, [start, stop) in ps of the run."""
    headers: int = HEADERS
    """Octets of each frame that are no part of a message, room for stamps included."""
    plain_headers: int = HEADERS
    """The same without room for stamps."""
    cdf: tuple[tuple[int, float], ...] = ()
    """The plan's own distribution of sizes: (octets, share of messages that are not larger)."""
    priority: int = 0
    """Of the entry's frames, 0 to 7."""

    def random(self, stream: int = 0) -> np.random.Generator:
        """Random numbers that the plan's seed decides, and the entry's name or, where it is not 0,
        the number of a stream that several entries have in common."""
        own = (1 << 32) + stream if stream else zlib.crc32(self.name.encode())
        return np.random.Generator(np.random.PCG64([self.seed, own]))


class Waiting(NamedTuple):
    """Dependencies of messages on others: int64[n] each, but for `pauses`.

    A gate opens, and `pauses` later the messages behind it begin, when all that count for it have
    arrived whole. All of the latter go to one node; what is behind comes from there. A gate may
    wait for gates of the same node as well (`follows`), and for a time (`earliest`).
    """

    behind: np.ndarray  # gate that a message waits for; -1: it begins at its time
    opens: np.ndarray  # gate that it counts for; -1
    pauses: np.ndarray  # int64[gates], ps
    round: np.ndarray  # which repetition of a collective it is of, from 0 on
    step: np.ndarray  # which step of that
    earliest: np.ndarray | None = None  # int64[gates], ps of the run; `pauses` comes on top
    follows: np.ndarray | None = None  # int64[n, 2]: a gate, and one that waits for it


class ApplicationMessages(NamedTuple):
    """A schedule: int64[n] each. Its order is of no matter, but for a connection's messages where
    some wait for others: these go in the order in which they are listed."""

    connection: np.ndarray
    start: np.ndarray  # ps of the run
    size: np.ndarray  # octets, without headers; ENDLESS
    waiting: Waiting | None = None


Schedule = Callable[[Any, Connections], ApplicationMessages]
"""Function of a traffic source: its parameters and the connections of an entry -> messages."""
