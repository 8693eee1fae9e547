"""What a plan demands of a real-time machine, and which rates it must have reached."""

from __future__ import annotations

import numpy as np

from orchestrator.fidelity import Demand, Rate
from orchestrator.node.link import BIT_PS
from orchestrator.plan import Nic, ResolvedPlan, Switch
from orchestrator.recording import Recording

PS = 10**12


def demand_of(resolved: ResolvedPlan) -> Demand:
    """The shortest feedback loop, drain time and phase of a plan."""
    plan = resolved.plan
    loops = [
        link.delay + (link.delay if link.delay_back is None else link.delay_back)
        for link in plan.links.values()
        if any(isinstance(plan.nodes[end], Nic) for end in link.ends)
    ]
    drains = []
    for port in plan.ports():
        node = plan.nodes[port.node]
        use = resolved.use("congestion_point", port.entity)
        if isinstance(node, Switch) and use is not None:
            octets = getattr(use.params, "set_point", node.buffer)
            own = node.ports.get(port.name)
            rate = own.service_rate if own is not None and own.service_rate else node.service_rate
            drains.append(octets * BIT_PS // (rate or plan.links[port.link].rate))
    phases = [phase.to - phase.from_ for phase in plan.phases.values()]
    return Demand(
        feedback_loop_ps=min(loops, default=0),
        drain_ps=min(drains, default=0),
        shortest_phase_ps=min(phases, default=plan.duration),
    )


def achieved_rates(resolved: ResolvedPlan, recording: Recording) -> list[Rate]:
    """Of every queue, what it should have sent between samples that both found it filled."""
    longest = max((entry.frame for entry in resolved.plan.traffic.values()), default=0)
    rates = []
    times = recording.times_ps
    for column in recording.columns:
        if column.quantity != "queue_bytes":
            continue
        waiting = recording.column(column.entity, "queue_bytes") >= 2 * longest
        filled = waiting[:-1] & waiting[1:]
        octets = np.diff(recording.column(column.entity, "bytes_out"))
        service = recording.column(column.entity, "service_rate")[:-1]
        due = service.astype(float) * np.diff(times) / (8 * PS)
        expected = int(due[filled].sum())
        if expected:
            achieved = int(octets[filled].sum())
            rates.append(Rate(column.entity, expected, achieved, longest))
    return rates
