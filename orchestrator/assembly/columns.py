"""What is sampled: one column per quantity, each a field of the memory."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.assembly.names import Indices
from orchestrator.assembly.quantities import (
    CONTROLLED,
    FLOW_RECEIVED,
    FLOW_SENT,
    INPUT,
    LANE,
    LIMITER,
    LINK,
    MARKED,
    NIC,
    NOTIFIER,
    QUEUE,
    REASSEMBLY,
    RESENT,
    Sampled,
)
from orchestrator.plan import ResolvedPlan, Switch
from orchestrator.recording import Column


@dataclass(frozen=True)
class Probe:
    """A column and where its values lie. `owner` is the node whose world has them."""

    column: Column
    owner: str
    array: str
    index: int
    field: str


def probes(resolved: ResolvedPlan, indices: Indices) -> list[Probe]:
    """All columns of a plan, in the order of the plan."""
    plan = resolved.plan
    found: list[Probe] = []

    def add(
        quantities: tuple[Sampled, ...],
        node: str,
        entity: str,
        array: str,
        index: int,
        owner: str | None = None,
    ) -> None:
        for sampled in quantities:
            column = Column(node, entity, sampled.quantity, sampled.unit, sampled.kind)
            found.append(Probe(column, owner or node, array, index, sampled.field))

    for holder, names in indices.buffers.items():
        quantities = INPUT if holder in indices.inputs else QUEUE
        for name in names:
            add(quantities, indices.port_of[holder].node, name, "queues", indices.queues[name])
            if holder not in indices.inputs and resolved.use("congestion_point", holder):
                add(MARKED, indices.port_of[holder].node, name, "queues", indices.queues[name])
    several = len(indices.lanes) > 1
    for entity, way in indices.directions.items():
        row = indices.port_rows[way.sender.entity]
        add(LINK, way.sender.node, entity, "ports", row)
        for number, lane in enumerate(indices.lanes if several else ()):
            lane_row = row * len(indices.lanes) + number
            add(LANE, way.sender.node, entity + lane.suffix, "lanes", lane_row)
    for nic, limiters in plan.limiters().items():
        point = resolved.use("reaction_point", nic)
        for limiter in limiters:
            add(LIMITER, nic, limiter, "limiters", indices.limiters[limiter])
            if point is not None and point.algorithm.hears_acknowledgements:
                add(CONTROLLED, nic, limiter, "limiters", indices.limiters[limiter])
        add(NIC, nic, nic, "nodes", indices.nodes[nic])
    for name in indices.nodes:
        if resolved.use("notification_point", name):
            add(NOTIFIER, name, name, "nodes", indices.nodes[name])
    for flow in plan.flows():
        row = indices.flows[flow.entity]
        add(FLOW_SENT, flow.node, flow.entity, "flows", row)
        carrier = resolved.use("transport", flow.entry)
        if carrier is not None and carrier.algorithm.leaves_control:
            add(RESENT, flow.node, flow.entity, "flows", row)
        if not flow.members:
            add(FLOW_RECEIVED, flow.node, flow.entity, "flows", row, flow.destination)
        for member in flow.members:
            copy = indices.flows[flow.at(member)]
            add(FLOW_RECEIVED, flow.node, flow.at(member), "flows", copy, member)
    for name, node in plan.nodes.items():
        if isinstance(node, Switch) and node.reassembly is not None:
            add(REASSEMBLY, name, name, "nodes", indices.nodes[name])
    return found
