"""Rows of buffers: queues before outputs of switches and of hosts that forward; inputs with their
virtual output queues."""

from __future__ import annotations

from heapq import nlargest

import numpy as np

from orchestrator.assembly.clocks import draws_for_room
from orchestrator.assembly.lazy_eligibility import lacks_departure_hook
from orchestrator.assembly.marking_histograms import marked_queues
from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.world_builder import Row, SeededField, WorldBuilder
from orchestrator.engine.node.buffer_occupancy import UNIT_OCTETS
from orchestrator.engine.records import NEVER, NONE, VOQ
from orchestrator.plan import Inputs, Nic, Port, ResolvedPlan, Switch
from orchestrator.plan.forwarding_hosts import buffer_of
from orchestrator.plan.lossless_lanes import (
    input_room,
    is_lossless,
    is_unlimited,
    memory_octets,
)
from orchestrator.plan.plugin_catalog import MANAGEMENT, OUTPUT_PLUGINS


def add_queues(builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices) -> None:
    """Add the queues of all outputs, then the buffers, inputs and virtual output queues."""
    plan = resolved.plan
    outputs = {
        name: np.array([_rows(indices, port.entity) for port in indices.ports_of[name]]).T
        for name in {indices.port_of[entity].node for entity in indices.inputs}
    }
    fastest: dict[str, list[int]] = {}
    counted = {queue.queue: queue for queue in marked_queues(resolved, indices)}
    for entity in indices.buffers:
        port = indices.port_of[entity]
        node = plan.nodes[port.node]
        assert isinstance(node, Switch | Nic)
        rate = plan.links[port.link].rate
        if entity in indices.inputs:
            assert isinstance(node, Switch)
            assert node.inputs is not None
            fields = {"input": indices.inputs[entity]}
            fields |= {"service_rate": rate, "pause_rate": rate}
            _add_input(builder, node.inputs, outputs[port.node], _rows(indices, entity)[0], rate)
        else:
            if port.node not in fastest:
                fastest[port.node] = _two_fastest(resolved, indices.ports_of[port.node])
            fields = _output(indices, entity, node, rate, fastest[port.node])
        for name, lane in zip(indices.buffers[entity], indices.lanes, strict=True):
            common = _common(builder, resolved, indices, entity, name)
            if not is_lossless(plan, entity, lane):
                common |= {"pause": NONE, "pause_timer": NEVER}
            if entity in indices.inputs and isinstance(node, Switch) and node.inputs is not None:
                fields["capacity"] = input_room(node.inputs, lane)
            elif isinstance(node, Switch) and node.inputs is not None and is_unlimited(node, lane):
                ports = len(indices.ports_of[port.node])
                memory = memory_octets(node.inputs, ports)
                common |= {"buffer_management": 0, "capacity": max(memory, fields["capacity"])}
            mask = sum(1 << priority for priority in lane.priorities)
            if (marked := counted.get(name)) is not None:
                common["marks_leaving" if marked.leaving else "marks_arriving"] = marked.row
            row = builder.add(builder.queues, **(fields | common), priorities=mask)
            builder.drawn.append(SeededField("queues", row, "lfsr", f"{name}/units"))
            if entity not in indices.inputs and draws_for_room(plan, node):
                builder.drawn.append(SeededField("queues", row, "order_key", f"{name}/order"))


def _rows(indices: Indices, entity: str) -> list[int]:
    """Rows of the buffers of a port or an input, one per lane."""
    return [indices.queues[name] for name in indices.buffers[entity]]


def _output(
    indices: Indices, entity: str, node: Switch | Nic, rate: int, fastest: list[int]
) -> Row:
    """Fields of the queues before an output; `fastest` as of `_two_fastest`."""
    port = indices.port_of[entity]
    others = {"input": NONE, "pause_rate": _fastest_other(*fastest, own=rate)}
    if isinstance(node, Nic):
        return others | {"capacity": buffer_of(node), "service_rate": rate}
    return others | {
        "crossbar": int(node.inputs is not None),
        "capacity": node.buffer_of(port.name),
        "service_rate": node.service_of(port.name, rate),
    }


def _two_fastest(resolved: ResolvedPlan, ports: list[Port]) -> list[int]:
    """The rates of the two fastest links of a node, or of the one that it has."""
    return nlargest(2, (resolved.plan.links[port.link].rate for port in ports))


def _fastest_other(first: int, second: int = 1, *, own: int) -> int:
    """The rate of the fastest link of a node beside one of rate `own`, by its two fastest."""
    return second if own == first else first


def _common(
    builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices, entity: str, own: str
) -> Row:
    """Fields of every buffer: its position, the algorithms that observe it, its units.

    `entity` is the port or input that it belongs to, `own` what it is called itself.
    """
    plan = resolved.plan
    port = indices.port_of[entity]
    fields: Row = {}
    for kind in OUTPUT_PLUGINS:
        use = resolved.use(kind, entity)
        name = f"{own}/{kind}"
        fields[kind] = builder.instance(name, use.algorithm, use.params) if use else NONE
    managed = resolved.use(MANAGEMENT, entity)
    if managed is not None:
        instance = builder.instance(f"{own}/{MANAGEMENT}", managed.algorithm, managed.params)
        fields["buffer_management"] = 1 + instance
    pause = resolved.use("pause", entity)
    units = units_of(resolved, entity, port)
    first = builder.queues[-1]["first_unit"] + builder.queues[-1]["units"] if builder.queues else 0
    return fields | {
        "port": indices.port_rows[port.entity],
        "deaf": lacks_departure_hook(resolved, entity, port),
        "line_rate": plan.links[port.link].rate,
        "head": NONE,
        "tail": NONE,
        "request_head": NONE,
        "request_tail": NONE,
        "congestion_point_timer": NEVER,
        "pause_timer": 0 if pause is not None and pause.algorithm.begins else NEVER,
        "watchdog_timer": NEVER,
        "first_unit": first,
        "units": units,
        "free_unit": first if units else NONE,
        "fly_head": NONE,
        "fly_tail": NONE,
        "awaited": NONE,
        "awaits_next": NONE,
    }


def units_of(resolved: ResolvedPlan, entity: str, port: Port) -> int:
    """Units of a buffer that is sampled by occupancy: as many as its octets, and one more for each
    frame, whose last unit need not be full. 0 where nothing samples them."""
    use = resolved.use("congestion_point", entity)
    changes = [action for action in resolved.actions if entity in action.entities]
    starts = any(a.kind == "congestion_point" and "sampling" in a.values for a in changes)
    if use is None or not (use.params.keeps_units() or starts):
        return 0
    node = resolved.plan.nodes[port.node]
    assert isinstance(node, Switch)
    capacity = node.buffer_of(port.name)
    if entity == port.input:
        assert node.inputs is not None
        capacity = max(node.inputs.buffer, node.inputs.lossy_buffer or 0)
    later = [a.values["buffer"] for a in changes if a.kind == "queue" and "buffer" in a.values]
    most = max([capacity, *later])
    shortest = min((entry.frame for entry in resolved.plan.traffic.values()), default=UNIT_OCTETS)
    return most // UNIT_OCTETS + most // shortest + 1


def _add_input(
    builder: WorldBuilder, inputs: Inputs, outputs: np.ndarray, queue: int, rate: int
) -> None:
    """The input side of a port, with buffers from the row `queue` on.

    `outputs` are the queues of its node's ports, int64[lanes, ports]: it gets a virtual output
    queue for each.
    """
    row = builder.add(
        builder.inputs,
        first_queue=queue,
        first_voq=builder.voq_count,
        rate=int(rate * inputs.speedup),
        latency=inputs.crossbar_latency,
        retain=int(inputs.hold_until_departure),
        moving_head=NONE,
        moving_tail=NONE,
        fly_head=NONE,
        fly_tail=NONE,
        awaits_head=NONE,
        shared=int(inputs.shared_memory is not None),
        headroom_capacity=inputs.headroom or 0,
    )
    voqs = np.zeros(outputs.size, VOQ)
    for name in ("head", "tail", "next"):
        voqs[name] = NONE
    voqs["input"] = row
    voqs["queue"] = outputs.ravel()
    builder.add_voqs(voqs)
