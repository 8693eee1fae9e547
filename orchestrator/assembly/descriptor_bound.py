"""Upper bound on the frame descriptors that a plan can need at once."""

from __future__ import annotations

import math
from collections import Counter

from orchestrator.assembly.node_rows import MESSAGE_FRAMES
from orchestrator.engine.frames.frame_layout import MINIMUM
from orchestrator.engine.node.link_delivery import LEAST_INTERVAL_PS
from orchestrator.plan import Nic, ResolvedPlan, Sink, Switch, Use
from orchestrator.plan.entity_names import Flow
from orchestrator.plan.forwarding_hosts import buffer_of, forwarding_hosts
from orchestrator.plan.frame_lengths import bridged_frames
from orchestrator.plan.lossless_lanes import memory_octets

CONTROL_PER_PORT = 64
SPARE = 512
ON_THE_WIRE = 2
"""Frames that a line holds beside those of its delay: one that is sent, one that is begun."""
BIT_PS = 10**12


def made_frames(resolved: ResolvedPlan) -> int:
    """An upper bound on the frames that wait in host queues without a descriptor."""
    shortest = _shortest(resolved)
    return SPARE + sum(
        _in_host_queue(resolved, flow, shortest)
        for flow in resolved.plan.flows()
        if not _describes(resolved, flow)
    )


def _describes(resolved: ResolvedPlan, flow: Flow) -> bool:
    """True if a flow's frames have descriptors in its host queue: its mode is none of FRAMES."""
    use = resolved.use("traffic", flow.entry)
    if use is None or resolved.use("transport", flow.entry) is not None:
        return use is not None
    return use.algorithm.messages is not None or use.algorithm.programs


def _shortest(resolved: ResolvedPlan) -> int:
    if bridged_frames(resolved.plan):
        return MINIMUM
    if any(_has_short_frames(use) for use in resolved.uses["traffic"].values()):
        return resolved.plan.headers.options().octets
    return min((entry.frame for entry in resolved.plan.traffic.values()), default=MINIMUM)


def _in_host_queue(resolved: ResolvedPlan, flow: Flow, shortest: int) -> int:
    """The most frames of a flow that wait in the host queue."""
    node = resolved.plan.nodes[flow.node]
    assert isinstance(node, Nic)
    frame = resolved.plan.traffic[flow.entry].frame
    headers = resolved.plan.headers.options().octets
    use = resolved.use("traffic", flow.entry)
    if use is not None and use.algorithm.messages is not None:
        return MESSAGE_FRAMES * frame // headers + 1
    if use is not None and use.algorithm.programs:
        return max(node.host_queue, frame) // headers + 1
    return max(node.host_queue, shortest) // frame + 1


def descriptors(resolved: ResolvedPlan, *, late: bool = True) -> int:
    """An upper bound on the frames with descriptors: in host queues, queues and delay lines,
    control frames included.

    `late`: the loop keeps to a clock, and may come to any line late; in simulated time only lines
    to a sink hold frames that were due before (`engine.node.arrive`).

    A queue of control frames has no bound of its own; what a port can hold of them is generous,
    and a pool that ran out is counted and makes a run invalid.
    """
    plan = resolved.plan
    shortest = _shortest(resolved)
    total = SPARE
    later = {name: _later(resolved, name) for name in ("buffer", "delay", "rate")}
    copies = 1 + max(map(len, plan.groups.values()), default=0)
    shared = _shared_frames(resolved, shortest)
    in_switches: dict[str, int] = {}
    for flow in plan.flows():
        if _describes(resolved, flow):
            total += _in_host_queue(resolved, flow, shortest)
    for port in plan.ports():
        waits = late or isinstance(plan.nodes[port.peer], Sink)
        total += (
            _octets_in_flight(resolved, port.link, later, LEAST_INTERVAL_PS if waits else 0)
            // shortest
        )
        total += CONTROL_PER_PORT + (0 if waits else ON_THE_WIRE)
        total += math.prod(1 + use.params.most_copies() for use in resolved.stages(port.link)) - 1
        node_ = plan.nodes[port.node]
        if isinstance(node_, Switch):
            buffer = node_.buffer_of(port.name)
            inputs = 0
            if node_.inputs is not None:
                inputs = max(node_.inputs.buffer, node_.inputs.lossy_buffer or 0)
                inputs += node_.inputs.headroom or 0
            most = max([buffer, *later["buffer"]])
            inside = max(inputs, most if inputs else 0) * copies
            queued = len(plan.lanes()) * ((most + inside) // shortest + 2)
            in_switches[port.node] = in_switches.get(port.node, 0) + queued
        elif isinstance(node_, Nic) and port.node in forwarding_hosts(plan):
            total += len(plan.lanes()) * (buffer_of(node_) // shortest + 2)
    total += sum(
        action.values["packets"]
        for action in resolved.actions
        if action.verb in ("delay", "duplicate")
    )
    for name, queued in in_switches.items():
        total += min(queued, shared.get(name, queued))
    for node in plan.nodes.values():
        if isinstance(node, Switch) and node.reassembly is not None:
            total += node.reassembly.buffer // shortest + 1
    return total


def _shared_frames(resolved: ResolvedPlan, shortest: int) -> dict[str, int]:
    """Switch whose ports share one memory -> the most frames that it holds, copies included: in the
    memory, and two of each lane that leave it.

    Without those whose ports trim frames: what is left of these is outside of the memory.
    """
    trimming = {
        holder.partition(".")[0]
        for holder, use in resolved.uses["congestion_point"].items()
        if use.algorithm.trims
    }
    leaving = 2 * len(resolved.plan.lanes())
    ports = Counter(port.node for port in resolved.plan.ports())
    return {
        name: memory_octets(node.inputs, ports[name]) // shortest + leaving * ports[name]
        for name, node in resolved.plan.nodes.items()
        if isinstance(node, Switch) and node.inputs and node.inputs.shared_memory
        if name not in trimming
    }


def _has_short_frames(use: Use) -> bool:
    """True if frames of this source can be as short as their headers: ends of messages, ACKs."""
    return use.algorithm.messages is not None or use.algorithm.programs


def _octets_in_flight(
    resolved: ResolvedPlan, name: str, later: dict[str, list[int]], longer: int
) -> int:
    """Octets that a delay line of a link can hold where frames stay `longer` ps than its delay."""
    link = resolved.plan.links[name]
    each = [use.params.most_added() for use in resolved.stages(name)]
    added = sum(one for one in each if one is not None)
    if None in each:
        return link.buffer
    delay = max(link.delay, link.delay_back or 0, *later["delay"], 0)
    rate = max(link.rate, *later["rate"], 0)
    return min(rate * (delay + added + longer) // (8 * BIT_PS), link.buffer)


def _later(resolved: ResolvedPlan, name: str) -> list[int]:
    """Values that the timeline sets for a queue or link."""
    return [
        action.values[name]
        for action in resolved.actions
        if action.kind in ("queue", "link") and name in action.values
    ]
