"""What one thread of the data path works with besides its world: sockets, batches, scratch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orchestrator.assembly import Assembly
from orchestrator.histogram import new_histogram
from orchestrator.node.records import NEVER
from orchestrator.targets.software.batch import Batch, receiver, sender
from orchestrator.targets.software.namespaces import FIRST_INTERFACE, Machines

RECEIVE_BATCH = 32
LEAST_HORIZON_PS = 10**6
"""Some turns of an idle loop: a clock that may run ahead by less would hardly move."""


class Rig(NamedTuple):
    """Sockets and wires of one thread's nodes."""

    sockets: np.ndarray  # int64[k]: descriptors, one per node
    wires: np.ndarray  # int64[n, 3]: socket, port of its machine, port row; sorted by socket
    port_rows: np.ndarray  # int64[k, ports]: port row by socket and port of its machine
    incoming: Batch
    outgoing: Batch
    lateness: np.ndarray  # histogram (orchestrator.histogram)
    stamp: np.ndarray  # int64[2]: scratch of the clock
    start_ns: np.ndarray  # int64[1]: CLOCK_MONOTONIC at time 0
    thread: np.ndarray  # int64[1]: this thread's number
    turn: np.ndarray  # int64[4]: see orchestrator.targets.software.pace
    horizon: np.ndarray  # int64[1]: ps that a turn may run ahead
    held: np.ndarray  # int64[threads], shared: ps that each thread has held the clock back
    progress: np.ndarray  # int64[threads], shared: ps up to which each thread has come


@dataclass
class Shared:
    """What the threads of a run tell each other."""

    horizon_ps: int
    held: np.ndarray
    progress: np.ndarray

    @classmethod
    def of(cls, threads: int, horizon_ps: int) -> Shared:
        """At the start of a run."""
        horizon_ps = max(horizon_ps, LEAST_HORIZON_PS)
        return cls(horizon_ps, np.zeros(threads, np.int64), np.full(threads, -NEVER, np.int64))


def wires_of(local: dict[str, tuple[str, int]], nodes: Sequence[str]) -> list[str]:
    """The ports of these nodes in the order of their wires. `local` maps a port to its machine
    and its number there."""
    mine = [
        (nodes.index(node), number, port) for port, (node, number) in local.items() if node in nodes
    ]
    return [port for _, _, port in sorted(mine)]


def build(
    assembly: Assembly,
    machines: Machines,
    local: dict[str, tuple[str, int]],
    nodes: Sequence[str],
    thread: int,
    shared: Shared,
) -> Rig:
    """The rig of thread number `thread`, which drives `nodes`."""
    world = assembly.world
    wired = wires_of(local, nodes)
    rows = assembly.indices.port_rows
    most = 1 + max((number for _, number in local.values()), default=0)
    port_rows = np.zeros((len(nodes), most), np.int64)
    wires = np.zeros((len(wired), 3), np.int64)
    for wire, port in enumerate(wired):
        node, number = local[port]
        wires[wire] = (nodes.index(node), number, rows[port])
        port_rows[nodes.index(node), number] = rows[port]
    interfaces = [FIRST_INTERFACE + number for number in range(most)]
    return Rig(
        sockets=np.array([machines.open(node).fileno() for node in nodes], np.int64),
        wires=wires,
        port_rows=port_rows,
        incoming=receiver(world.octets, RECEIVE_BATCH),
        outgoing=sender(world.octets, world.outbox.shape[1], interfaces),
        lateness=new_histogram(),
        stamp=np.zeros(2, np.int64),
        start_ns=np.zeros(1, np.int64),
        thread=np.array([thread], np.int64),
        turn=np.array([-NEVER, 0, 0, 0], np.int64),
        horizon=np.array([shared.horizon_ps], np.int64),
        held=shared.held,
        progress=shared.progress,
    )
