"""What carries frames between nodes and wires: the set-up side of a backend of the data path.

The other side is `orchestrator.engine.datapath.ports`: how a loop uses what is set up here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from orchestrator.engine.datapath import ports
from orchestrator.engine.datapath.batch import Batch
from orchestrator.engine.datapath.xdp import Rings, no_rings
from orchestrator.targets.software.namespaces import Machines
from orchestrator.targets.software.sockets import ask_for_launches, ask_for_times
from orchestrator.targets.software.times import ARRIVALS, Times

Wires = Sequence[tuple[int, int]]
"""Of each wire: the place of its host, and the interface index there."""


@dataclass(frozen=True)
class Opened:
    """The ports of one thread. Where the loop does not poll a socket its descriptor is -1."""

    sockets: list[int]
    rings: Rings


class Backend(Protocol):
    """One way to carry frames."""

    @property
    def number(self) -> int:
        """PACKET or XDP of `orchestrator.engine.datapath.ports`."""

    @property
    def times(self) -> Times | None:
        """Those that the kernel or NICs tell; None: they tell none."""

    def armed(self, wires: int) -> int:
        """How many frame descriptors wait in receivers, beyond the ordinary few."""

    def octets(self, rows: np.ndarray) -> np.ndarray:
        """The memory that frames lie in: `rows` of a world, or others of as many rows."""

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
        """One for a run of no length."""

    def told(self) -> dict[str, Any]:
        """What manifest and fidelity say of it."""


class Packets:
    """AF_PACKET: a raw socket per node, batches of system calls. Anywhere, without privileges."""

    number = ports.PACKET
    times: Times | None = None

    def armed(self, wires: int) -> int:
        """None: a batch is armed, whatever the number of ports."""
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
        """One socket for each host."""
        return Opened([machines.open(host).fileno() for host in hosts], no_rings())

    def rehearsing(self) -> Packets:
        """The same: its sockets can be used again."""
        return self

    def told(self) -> dict[str, Any]:
        """Its name."""
        return {"backend": "packet"}


class StampedPackets(Packets):
    """AF_PACKET, with the kernel's times beside frames, or those of NICs."""

    def __init__(self, times: Times = ARRIVALS) -> None:
        self.times = times

    def open(
        self,
        machines: Machines,
        hosts: Sequence[str],
        first: Sequence[int],
        wires: Wires,
        incoming: Batch,
    ) -> Opened:
        """One socket for each host, asked for times, and for launches where there are some."""
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

    def told(self) -> dict[str, Any]:
        """Its name, and whose times they are."""
        assert self.times is not None
        return {"backend": "packet", **self.times.told()}


PACKETS = Packets()
