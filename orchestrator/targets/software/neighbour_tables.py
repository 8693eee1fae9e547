"""Tables of the addresses that hosts answer for at ports that face external devices."""

from __future__ import annotations

import numpy as np

from orchestrator.assembly import Assembly
from orchestrator.assembly.row_index import is_end
from orchestrator.engine.datapath.neighbour_replies import (
    ANSWERS,
    IP_VERSION,
    TAGS,
    Neighbours,
    no_neighbours,
)
from orchestrator.engine.records import NONE
from orchestrator.plan.external_nodes import facing


def neighbours_of(assembly: Assembly) -> Neighbours:
    """The hosts that face a device, and the addresses that they reply for."""
    plan, world, indices = assembly.resolved.plan, assembly.world, assembly.indices
    found = no_neighbours(len(world.ports))
    facing_ports = [ours for ports in facing(plan).values() for ours in ports.values()]
    hosts = [one for one in facing_ports if is_end(plan, indices.ports[one].node)]
    if not hosts:
        return found
    for port in hosts:
        found.ports[indices.port_rows[port], ANSWERS] = 1
    owners = np.full(indices.addresses, NONE, np.int64)
    for flow in plan.flows():
        owners[indices.flows[flow.entity]] = indices.nodes[flow.node]
    for name, row in indices.nodes.items():
        if is_end(plan, name):
            owners[indices.node_address(name)] = row
    headers = plan.headers.options()
    found.rules[IP_VERSION] = headers.ip
    for place, tag in enumerate(headers.tags):
        found.rules[TAGS + 2 * place : TAGS + 2 * place + 2] = tag
    return found._replace(owners=owners)
