"""What a plan demands of a real-time machine, and which rates it must have reached."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.node.link import BIT_PS
from orchestrator.plan import Nic, Plan, Port, ResolvedPlan, Switch
from orchestrator.plan.catalog import Use
from orchestrator.recording import Recording
from orchestrator.run.fidelity import Demand, Rate

PS = 10**12


def demand_of(resolved: ResolvedPlan) -> Demand:
    """The shortest feedback loop, drain time and phase of a plan.

    The room above the mark of a PAUSE counts as a drain: it fills while PAUSE is on its way. Where
    nothing controls a queue, the time to drain is that of the smallest whole buffer; where there
    is no queue either, nothing reacts within a phase, but for what has its own way to: transports,
    and programs with theirs, whose queue is that of their host.
    """
    plan = resolved.plan
    loops = [
        link.delay + (link.delay if link.delay_back is None else link.delay_back)
        for link in plan.links.values()
        if any(isinstance(plan.nodes[end], Nic) for end in link.ends)
    ]
    controlled: list[int] = []
    buffers: list[int] = []
    for port in plan.ports():
        node = plan.nodes[port.node]
        if not isinstance(node, Switch):
            continue
        own = node.ports.get(port.name)
        capacity = node.buffer_of(port.name)
        service = own.service_rate if own is not None and own.service_rate else node.service_rate
        rate = service or plan.links[port.link].rate
        buffers.append(capacity * BIT_PS // rate)
        point = resolved.use("congestion_point", port.entity)
        if point is not None:
            controlled.append(_operating(point, rate, capacity) * BIT_PS // rate)
        pause = resolved.use("pause", port.entity)
        if pause is not None:
            incoming = _rate_into(plan, port)
            room = max(capacity - _operating(pause, incoming, 0), 0)
            controlled.append(room * BIT_PS // incoming)
        if node.inputs is not None:
            line = plan.links[port.link].rate
            point, pause = (resolved.use(k, port.input) for k in ("congestion_point", "pause"))
            if point is not None:
                controlled.append(_operating(point, line, node.inputs.buffer) * BIT_PS // line)
            if pause is not None:
                room = max(node.inputs.buffer - _operating(pause, line, 0), 0)
                controlled.append(room * BIT_PS // line)
    phases = [phase.to - phase.from_ for phase in plan.phases.values()]
    shortest_phase = min(phases, default=plan.duration)
    return Demand(
        feedback_loop_ps=min(loops, default=0),
        drain_ps=min(controlled or buffers or _host_queues(resolved), default=shortest_phase),
        shortest_phase_ps=shortest_phase,
    )


def _operating(use: Use, rate: int, otherwise: int) -> int:
    """Octets that an algorithm holds its queue at, as it says; `otherwise` where it does not."""
    said = use.params.operating_queue(rate)
    return otherwise if said is None else said


def _host_queues(resolved: ResolvedPlan) -> list[int]:
    """The times to drain of the NICs' queues, where somebody at both ends answers what comes."""
    programs = any(use.algorithm.programs for use in resolved.uses["traffic"].values())
    if not programs and not resolved.uses.get("transport"):
        return []
    plan = resolved.plan
    nodes = ((port, plan.nodes[port.node]) for port in plan.ports())
    return [
        node.host_queue * BIT_PS // plan.links[port.link].rate
        for port, node in nodes
        if isinstance(node, Nic)
    ]


def _rate_into(plan: Plan, port: Port) -> int:
    """bit/s that can come to a port's queue: what the other links of its node carry."""
    links = plan.links.items()
    others = [link.rate for name, link in links if port.node in link.ends and name != port.link]
    return sum(others) or plan.links[port.link].rate


def achieved_rates(resolved: ResolvedPlan, recording: Recording) -> list[Rate]:
    """Of every queue, what it should have sent while it was never empty.

    What lies between two samples counts as a whole or not at all: it is left out when the queue
    was empty in it, or the sender held by PAUSE, even for an instant, and when its rate changed.
    That is what its service rate lets through, or what its link carries beside the overhead of the
    frames, when that is less.
    """
    longest = max((entry.frame for entry in resolved.plan.traffic.values()), default=0)
    rates = []
    times = recording.times_ps
    links = {port.entity: port.link for port in resolved.plan.ports()}
    ways = {way.sender.entity: way.entity for way in resolved.plan.directions()}
    for column in recording.columns:
        if column.quantity != "service_rate":
            continue
        waiting = recording.column(column.entity, "queue_frames") > 0
        emptied = np.diff(recording.column(column.entity, "times_emptied")) > 0
        way = ways[column.entity]
        held = np.diff(recording.column(way, "paused_ps")) > 0  # it was not to send then
        rate, line = recording.column(column.entity, "service_rate"), recording.column(way, "rate")
        steady = (np.diff(rate) == 0) & (np.diff(line) == 0)  # a change need not meet a sample
        filled = waiting[:-1] & ~emptied & ~held & steady
        octets = np.diff(recording.column(column.entity, "bytes_out"))
        link = resolved.plan.links[links[column.entity]]
        service = rate[:-1].astype(float)
        frames = np.diff(recording.column(column.entity, "frames_out"))
        seconds = np.diff(times) / PS
        carried = line[:-1] * seconds / 8
        due = np.minimum(service * seconds / 8, carried - link.overhead * frames)
        expected = int(due[filled].sum())
        if expected:
            achieved = int(octets[filled].sum())
            stretches = int(np.count_nonzero(np.diff(filled, prepend=False) & filled))
            rates.append(Rate(column.entity, expected, achieved, longest, stretches))
    return rates
