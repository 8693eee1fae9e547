"""Rows of a switch's buffers: queues before outputs; inputs with their virtual output queues."""

from __future__ import annotations

import numpy as np

from orchestrator.assembly.names import Indices
from orchestrator.lfsr import seed_for
from orchestrator.node.builder import Row, WorldBuilder
from orchestrator.node.records import NEVER, NONE, VOQ
from orchestrator.node.units import UNIT_OCTETS
from orchestrator.plan import Inputs, ResolvedPlan, Switch


def add_queues(builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices) -> None:
    """Add the queues of all outputs, then the buffers, inputs and virtual output queues."""
    plan = resolved.plan
    outputs = {
        name: np.array([q for e, q in indices.queues.items() if _is_output(indices, e, name)])
        for name in {indices.port_of[entity].node for entity in indices.inputs}
    }
    for entity, row in indices.queues.items():
        port = indices.port_of[entity]
        node = plan.nodes[port.node]
        assert isinstance(node, Switch)
        own = node.ports.get(port.name)
        rate = plan.links[port.link].rate
        common = _common(builder, resolved, indices, entity, row)
        if entity in indices.inputs:
            assert node.inputs is not None
            builder.add(
                builder.queues,
                **common,
                input=indices.inputs[entity],
                capacity=node.inputs.buffer,
                service_rate=rate,
                pause_rate=rate,
            )
            _add_input(builder, node.inputs, outputs[port.node], row, rate)
            continue
        service = own.service_rate if own is not None and own.service_rate else node.service_rate
        others = [
            plan.links[other.link].rate
            for name, other in indices.ports.items()
            if other.node == port.node and name != entity
        ]
        builder.add(
            builder.queues,
            **common,
            input=NONE,
            crossbar=int(node.inputs is not None),
            capacity=own.buffer if own is not None and own.buffer is not None else node.buffer,
            service_rate=service or rate,
            pause_rate=max(others, default=1),
        )


def _is_output(indices: Indices, entity: str, node: str) -> bool:
    return entity not in indices.inputs and indices.port_of[entity].node == node


def _common(
    builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices, entity: str, row: int
) -> Row:
    """What every buffer has: its place, the algorithms that watch it, its units."""
    plan = resolved.plan
    port = indices.port_of[entity]
    fields: Row = {}
    for kind in ("congestion_point", "pause"):
        use = resolved.use(kind, entity)
        name = f"{entity}/{kind}"
        fields[kind] = builder.instance(name, use.algorithm, use.params) if use else NONE
    units = _units(resolved, entity)
    first = sum(queue.get("units", 0) for queue in builder.queues)
    return fields | {
        "port": indices.port_rows[port.entity],
        "line_rate": plan.links[port.link].rate,
        "head": NONE,
        "tail": NONE,
        "request_head": NONE,
        "request_tail": NONE,
        "congestion_point_timer": NEVER,
        "pause_timer": NEVER,
        "first_unit": first,
        "units": units,
        "free_unit": first if units else NONE,
        "lfsr": seed_for(plan.seed, f"{entity}/units"),
    }


def _units(resolved: ResolvedPlan, entity: str) -> int:
    """Units of a buffer that is sampled by occupancy: as many as its octets, and one more for each
    frame, whose last unit need not be full. 0 where nothing samples them."""
    use = resolved.use("congestion_point", entity)
    changes = [action for action in resolved.actions if entity in action.entities]
    starts = any(a.kind == "congestion_point" and "sampling" in a.values for a in changes)
    if use is None or not (use.params.keeps_units() or starts):
        return 0
    port = entity.removesuffix("/in")
    node = resolved.plan.nodes[port.split(".")[0]]
    assert isinstance(node, Switch)
    own = node.ports.get(port.split(".", 1)[1])
    capacity = own.buffer if own is not None and own.buffer is not None else node.buffer
    if entity.endswith("/in"):
        assert node.inputs is not None
        capacity = node.inputs.buffer
    later = [a.values["buffer"] for a in changes if a.kind == "queue" and "buffer" in a.values]
    most = max([capacity, *later])
    shortest = min((entry.frame for entry in resolved.plan.traffic.values()), default=UNIT_OCTETS)
    return most // UNIT_OCTETS + most // shortest + 1


def _add_input(
    builder: WorldBuilder, inputs: Inputs, outputs: np.ndarray, queue: int, rate: int
) -> None:
    """The input side of a port. `outputs` are the queues of its node's ports, int64[ports]: it gets
    a virtual output queue for each."""
    row = builder.add(
        builder.inputs,
        queue=queue,
        first_voq=sum(len(voqs) for voqs in builder.voqs),
        rate=int(rate * inputs.over_speed),
        latency=inputs.fall_through,
        retain=int(inputs.retain_until_delivered),
        moving=NONE,
        grant_head=NONE,
        grant_tail=NONE,
        fly_head=NONE,
        fly_tail=NONE,
    )
    voqs = np.zeros(len(outputs), VOQ)
    for name in ("head", "tail", "next"):
        voqs[name] = NONE
    voqs["input"] = row
    voqs["queue"] = outputs
    builder.voqs.append(voqs)
