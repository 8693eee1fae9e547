"""Packet back ends of the data path, set-up side: AF_PACKET, and AF_PACKET with timestamps.

The other side is `orchestrator.engine.datapath.port_backend`: how a loop uses what is set up here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from orchestrator.engine.datapath import port_backend
from orchestrator.engine.datapath.mmsg_batch import Batch
from orchestrator.engine.datapath.xdp_socket_io import Rings, no_rings
from orchestrator.targets.software.network_namespaces import Machines
from orchestrator.targets.software.raw_sockets import ask_for_launches, ask_for_times
from orchestrator.targets.software.timestamp_sources import ARRIVALS, TimestampSources

Wires = Sequence[tuple[int, int]]
"""Of each wire: the place of its host, and the interface index there."""


@dataclass(frozen=True)
class Opened:
    """The ports of one thread. Where the loop does not poll a socket its descriptor is -1."""

    sockets: list[int]
    rings: Rings


class Backend(Protocol):
    """Protocol of a packet back end."""

    @property
    def number(self) -> int:
        """PACKET or XDP of `orchestrator.engine.datapath.port_backend`."""

    @property
    def times(self) -> TimestampSources | None:
        """Timestamp sources; None: it has none."""

    def armed(self, wires: int) -> int:
        """Number of frame descriptors posted to receivers, beyond the ordinary few."""

    def octets(self, rows: np.ndarray) -> np.ndarray:
        """Memory of the frames: `rows` of a world, or another array of as many rows."""

    def open(
        self,
        machines: Machines,
        hosts: Sequence[str],
        first: Sequence[int],
        wires: Wires,
        incoming: Batch,
    ) -> Opened:
        """Open the ports of `hosts`; `first` is the least interface index of each."""

    def rehearsing(self) -> Backend:
        """Back end for a run of no length."""

    def describe(self) -> dict[str, Any]:
        """Entries for manifest and fidelity."""


class Packets:
    """AF_PACKET: a raw socket per node, batches of system calls. Anywhere, without privileges."""

    number = port_backend.PACKET
    times: TimestampSources | None = None

    def armed(self, wires: int) -> int:
        """Return 0: a batch is posted, whatever the number of ports."""
        return 0

    def octets(self, rows: np.ndarray) -> np.ndarray:
        """The world's own."""
        return rows

    def open(
        self,
        machines: Machines,
        hosts: Sequence[str],
        first: Sequence[int],
        wires: Wires,
        incoming: Batch,
    ) -> Opened:
        """Open one socket for each host."""
        return Opened([machines.open(host).fileno() for host in hosts], no_rings())

    def rehearsing(self) -> Packets:
        """The same: its sockets can be used again."""
        return self

    def describe(self) -> dict[str, Any]:
        """Its name."""
        return {"backend": "packet"}


class StampedPackets(Packets):
    """AF_PACKET, with the kernel's times beside frames, or those of NICs."""

    def __init__(self, times: TimestampSources = ARRIVALS) -> None:
        self.times = times

    def open(
        self,
        machines: Machines,
        hosts: Sequence[str],
        first: Sequence[int],
        wires: Wires,
        incoming: Batch,
    ) -> Opened:
        """Open one socket for each host, with timestamps, and with launch times where requested."""
        assert self.times is not None
        for host in hosts:
            raw = machines.open(host)
            ask_for_times(raw, host in self.times.hardware, self.times.departures)
            if host in self.times.launched:
                ask_for_launches(raw)
        return super().open(machines, hosts, first, wires, incoming)

    def rehearsing(self) -> StampedPackets:
        """The same: its sockets can be used again."""
        return self

    def describe(self) -> dict[str, Any]:
        """Its name, and whose times they are."""
        assert self.times is not None
        return {"backend": "packet", **self.times.describe()}


PACKETS = Packets()
