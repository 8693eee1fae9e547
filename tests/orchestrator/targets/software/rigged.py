"""Ports of one machine behind the data path's contract, without a plan: a pool and a rig."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orchestrator.engine.datapath import port_backend
from orchestrator.engine.datapath.mmsg_batch import Batch, receiver, sender
from orchestrator.engine.datapath.packet_socket_io import poll_words
from orchestrator.engine.datapath.xdp_socket_io import Rings
from orchestrator.targets.software.network_namespaces import FIRST_INTERFACE, Machines
from orchestrator.targets.software.packet_backends import Backend
from tests.orchestrator.engine.datapath.played import Pool, pool
from tests.patience import PATIENCE_S

BATCH, OUTGOING = 32, 256


class Rigged(NamedTuple):
    """As much of a rig as ports need."""

    backend: np.ndarray
    sockets: np.ndarray
    rings: Rings
    polled: np.ndarray
    host_sockets: np.ndarray
    first: np.ndarray
    wires: np.ndarray
    incoming: Batch
    outgoing: Batch


class End:
    """A machine's ports, opened by a backend; wire n is its port n."""

    def __init__(self, machines: Machines, host: str, backend: Backend, rows: int = 4096) -> None:
        interfaces = machines.machines[host].interfaces
        count = len(interfaces)
        octets = backend.octets(np.zeros((rows, 2048), np.uint8))
        self.pool: Pool = pool(octets, count)
        incoming = receiver(octets, BATCH)
        placed = [(0, interface) for interface in interfaces]
        opened = backend.open(machines, [host], [FIRST_INTERFACE], placed, incoming)
        self.rig = Rigged(
            backend=np.array([backend.number], np.int64),
            sockets=np.array(opened.sockets, np.int64),
            rings=opened.rings,
            polled=poll_words(opened.sockets),
            host_sockets=np.zeros(0, np.int64),
            first=np.array([FIRST_INTERFACE], np.int64),
            wires=np.array([[0, port, port] for port in range(count)], np.int64),
            incoming=incoming,
            outgoing=sender(octets, OUTGOING, interfaces),
        )
        port_backend.begin(self.pool, self.rig)

    def send(self, frames: Sequence[tuple[int, bytes, int]]) -> None:
        """Send frames: port, known octets, length."""
        for port, known, length in frames:
            clock = self.pool.clock[0]
            clock.free -= 1
            slot = int(self.pool.free[clock.free])
            self.pool.octets[slot, : len(known)] = list(known)
            at = int(self.pool.outbox_count[port])
            self.pool.outbox[port, at] = slot
            self.pool.outbox_count[port] = at + 1
            port_backend.post(self.pool, self.rig, port, slot, len(known), length)
        port_backend.flush(self.pool, self.rig, 0, 0, len(self.pool.outbox_count))

    def take(self, count: int, within_s: float = PATIENCE_S) -> list[tuple[int, int, bytes]]:
        """At most `count` frames that arrive in time: port, length, octets."""
        found: list[tuple[int, int, bytes]] = []
        end = time.monotonic() + within_s
        while len(found) < count and time.monotonic() < end:
            if port_backend.poll_ports(self.pool, self.rig) == 0 or not port_backend.is_readable(
                self.rig, 0
            ):
                continue
            batch = self.rig.incoming
            for k in range(port_backend.receive(self.rig, 0)):
                slot, length = int(batch.slots[k]), int(batch.lengths[k])
                octets = self.pool.octets[slot, :length].tobytes()
                found.append((int(batch.ports[k]), length, octets))
                port_backend.arm(self.rig, k, slot)
        return found
