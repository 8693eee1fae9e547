"""Limiter blocks of a gateware NIC with several ports: a block of its own for each port.

The reference's NIC gives the first free limiter to the flow notified first, whatever its port.
In gateware a port has as many limiters as flows, numbered in the order of the ports; they differ in
the phase of their refills and in their random numbers.

What is compiled calls only `orchestrator` (see `orchestrator.engine.jit`).
"""

from __future__ import annotations

import numpy as np

from orchestrator.assembly import Assembly
from orchestrator.engine.jit import compiled
from orchestrator.engine.node_api import receive
from orchestrator.engine.records import NIC, NONE

FIRST, COUNT = range(2)
"""Of a port: the first limiter of its block, and how many it has; NONE: all of its node's."""


def shared_block(built: Assembly) -> np.ndarray:
    """int64[ports, 2]: every port has all limiters of its node."""
    return np.full((len(built.world.ports), 2), NONE, np.int64)


def limiter_blocks(built: Assembly, name: str) -> np.ndarray:
    """int64[ports, 2] of a node in gateware."""
    world, blocks = built.world, shared_block(built)
    node = world.nodes[built.indices.nodes[name]]
    if node.kind != NIC or node.ports < 2:
        return blocks
    first = int(node.first_limiter)
    for port in range(node.first_port, node.first_port + node.ports):
        count = int((world.flows["port"] == port).sum())
        blocks[port] = first, count
        first += count
    return blocks


@compiled
def receive_in_block(w, blocks, port, index, now):
    """A frame reached a port: a limiter that it takes is one of the port's block."""
    if blocks[port, COUNT] == NONE:
        receive(w, port, index, now)
        return
    node = w.nodes[w.ports[port].node]
    first, count = node.first_limiter, node.limiters
    node.first_limiter = blocks[port, FIRST]
    node.limiters = blocks[port, COUNT]
    receive(w, port, index, now)
    node.first_limiter = first
    node.limiters = count
