"""What is sampled: one column per quantity, each a field of the memory."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.assembly.names import Indices
from orchestrator.plan import ResolvedPlan, Switch
from orchestrator.recording import Column

QUEUE = (
    ("queue_bytes", "bytes", "B", "gauge"),
    ("queue_max_bytes", "bytes_max", "B", "gauge"),
    ("queue_frames", "frames", "1", "gauge"),
    ("service_rate", "service_rate", "bit/s", "gauge"),
    ("bytes_out", "bytes_out", "B", "counter"),
    ("frames_in", "frames_in", "1", "counter"),
    ("frames_out", "frames_out", "1", "counter"),
    ("frames_dropped", "frames_dropped", "1", "counter"),
    ("feedback_sent", "feedback_sent", "1", "counter"),
    ("feedback_value", "feedback_value", "1", "gauge"),
    ("pause_sent", "pause_sent", "1", "counter"),
    ("times_emptied", "emptied", "1", "counter"),
)
MARKED = (("frames_marked", "frames_marked", "1", "counter"),)
INPUT = tuple(quantity for quantity in QUEUE if quantity[0] != "service_rate")
LINK = (
    ("bytes_out", "bytes_out", "B", "counter"),
    ("frames_out", "frames_out", "1", "counter"),
    ("frames_dropped", "frames_lost", "1", "counter"),
    ("paused_ps", "paused_ps", "ps", "counter"),
    ("rate", "rate", "bit/s", "gauge"),
)
LANE = (("paused_ps", "paused_ps", "ps", "counter"),)
LIMITER = (
    ("active", "active", "1", "gauge"),
    ("current_rate", "rate", "bit/s", "gauge"),
    ("target_rate", "target", "bit/s", "gauge"),
    ("byte_stage", "byte_stage", "1", "gauge"),
    ("timer_stage", "timer_stage", "1", "gauge"),
    ("feedback_received", "feedback_received", "1", "counter"),
)
FLOW_SENT = (
    ("frames_sent", "frames_sent", "1", "counter"),
    ("bytes_sent", "bytes_sent", "B", "counter"),
    ("frames_refused", "frames_refused", "1", "counter"),
)
FLOW_RECEIVED = (
    ("frames_received", "frames_received", "1", "counter"),
    ("bytes_received", "bytes_received", "B", "counter"),
    ("frames_reordered", "frames_reordered", "1", "counter"),
)
REASSEMBLY = (
    ("reassembly_bytes", "order_bytes", "B", "gauge"),
    ("reassembly_gaps", "order_gaps", "1", "counter"),
    ("reassembly_late", "frames_late", "1", "counter"),
)
NOTIFIER = (
    ("feedback_sent", "feedback_sent", "1", "counter"),
    ("echoes_sent", "echoes_sent", "1", "counter"),
)
NIC = (
    ("feedback_ignored", "feedback_ignored", "1", "counter"),
    ("feedback_unassigned", "feedback_unassigned", "1", "counter"),
)


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
        quantities: tuple[tuple[str, str, str, str], ...],
        node: str,
        entity: str,
        array: str,
        index: int,
        owner: str | None = None,
    ) -> None:
        for quantity, field, unit, kind in quantities:
            column = Column(node, entity, quantity, unit, kind)
            found.append(Probe(column, owner or node, array, index, field))

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
        for limiter in limiters:
            add(LIMITER, nic, limiter, "limiters", indices.limiters[limiter])
        add(NIC, nic, nic, "nodes", indices.nodes[nic])
    for name in indices.nodes:
        if resolved.use("notification_point", name):
            add(NOTIFIER, name, name, "nodes", indices.nodes[name])
    for flow in plan.flows():
        row = indices.flows[flow.entity]
        add(FLOW_SENT, flow.node, flow.entity, "flows", row)
        if not flow.members:
            add(FLOW_RECEIVED, flow.node, flow.entity, "flows", row, flow.destination)
        for member in flow.members:
            copy = indices.flows[flow.at(member)]
            add(FLOW_RECEIVED, flow.node, flow.at(member), "flows", copy, member)
    for name, node in plan.nodes.items():
        if isinstance(node, Switch) and node.reassembly is not None:
            add(REASSEMBLY, name, name, "nodes", indices.nodes[name])
    return found
