"""AF_XDP back end of the data path: a socket for every port, memory for every thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orchestrator.engine.datapath import port_backend
from orchestrator.engine.datapath.mmsg_batch import Batch
from orchestrator.engine.datapath.xdp_socket_io import HEADROOM, PORT, SOCKET, Rings, no_rings
from orchestrator.targets.software.isolation import Denied
from orchestrator.targets.software.kernel_refusals import XDP_SOCKET
from orchestrator.targets.software.network_namespaces import Machines
from orchestrator.targets.software.packet_backends import Opened, Wires
from orchestrator.targets.software.xdp import bpf_program
from orchestrator.targets.software.xdp.privileged_setup import Grant
from orchestrator.targets.software.xdp.xdp_socket import XdpSocket, memory

MOST_ROWS, LEAST_ENTRIES, MOST_ENTRIES = 16_384, 64, 1024
"""Rows that the ports of a thread hold to receive into, together; entries of a port's rings. A
thousand rows are what 8 us each, full frames at 1.5 Gb/s, fill in 8 ms of a thread's absence."""
STRIDES = (2048, 4096)
"""Octets of a row. The kernel takes powers of two up to a page."""
LONGEST = STRIDES[-1] - HEADROOM
"""The longest frame that is carried, in octets without FCS."""


def stride_for(longest: int) -> int | None:
    """The octets of a row for frames up to so long; None where no row is long enough."""
    return next((each for each in STRIDES if longest <= each - HEADROOM), None)


def entries_for(wires: int) -> int:
    """Entries of each ring of a thread with so many ports."""
    share = MOST_ROWS // max(wires, 1)
    return min(max(1 << share.bit_length() - 1 if share else 0, LEAST_ENTRIES), MOST_ENTRIES)


class Xdp:
    """AF_XDP, with the programs of a grant, each used once; without one nothing is opened."""

    number = port_backend.XDP
    times = None

    def __init__(self, grant: Grant | None, stride: int, mode: int = bpf_program.GENERIC) -> None:
        self._grant, self._stride, self._mode = grant, stride, mode
        self._used = 0
        self._links: list[int] = []
        self._opened: list[XdpSocket] = []

    def armed(self, wires: int) -> int:
        """A full ring for each port to receive into, and as many that are being sent."""
        queues = self._grant.queues if self._grant else 0
        return 2 * wires * queues * entries_for(wires * queues)

    def octets(self, rows: np.ndarray) -> np.ndarray:
        """Memory that can be lent to the kernel."""
        return memory(len(rows), self._stride)

    def open(
        self,
        machines: Machines,
        hosts: Sequence[str],
        first: Sequence[int],
        wires: Wires,
        incoming: Batch,
    ) -> Opened:
        """A socket for every queue of every wire, its program attached. Raises Denied."""
        unpolled = [-1] * len(hosts)
        if self._grant is None:
            return Opened(unpolled, no_rings())
        queues = self._grant.queues
        count = len(wires) * queues
        rings = Rings(
            rings=np.zeros_like(no_rings().rings, shape=(count, *no_rings().rings.shape[1:])),
            sockets=np.zeros((count, no_rings().sockets.shape[1]), np.int64),
            first=np.zeros(len(hosts) + 1, np.int64),
            turn=np.zeros(len(hosts), np.int64),
            sender=np.arange(len(wires)) * queues,
            origin=np.zeros(len(incoming.slots), np.int64),
        )
        mine: list[XdpSocket] = []
        for host, interface in wires:
            rings.first[host + 1 :] += queues
            try:
                with machines.inside(hosts[host]):
                    opened = self._port(incoming.octets, interface, mine, entries_for(count))
            except OSError as refused:
                raise Denied(XDP_SOCKET, refused) from refused
            machines.machines[hosts[host]].receivers += opened
            for one in opened:
                row = len(mine)
                one.shows(rings.rings[row])
                rings.sockets[row, SOCKET] = one.fileno()
                rings.sockets[row, PORT] = interface - first[host]
                mine.append(one)
        return Opened(unpolled, rings)

    def _port(
        self, octets: np.ndarray, interface: int, mine: Sequence[XdpSocket], entries: int
    ) -> list[XdpSocket]:
        """The sockets of one interface of the calling thread's namespace, by queue."""
        assert self._grant is not None
        opened: list[XdpSocket] = []
        for queue in range(self._grant.queues):
            other = next(iter([*mine, *opened]), None)
            one = XdpSocket(octets, interface, queue, other, entries)
            opened.append(one)
            bpf_program.register_socket(
                self._grant.sockets, self._used * self._grant.queues + queue, one.fileno()
            )
        self._links.append(
            bpf_program.link(self._grant.programs[self._used], interface, self._mode)
        )
        self._used += 1
        self._opened += opened
        return opened

    def rehearsing(self) -> Xdp:
        """Back end that opens nothing: a queue has one socket, and that is the run's."""
        return Xdp(None, self._stride)

    def describe(self) -> dict[str, Any]:
        """Entries for manifest: its name, the attachment of the program, zero copy or copy."""
        return {
            "backend": "xdp",
            "mode": "generic" if self._mode == bpf_program.GENERIC else "native",
            "zero_copy": all(one.zero_copy for one in self._opened) if self._opened else None,
            "sockets": len(self._opened),
        }
