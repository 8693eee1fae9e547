"""How many frame descriptors a plan can need at once."""

from __future__ import annotations

from orchestrator.node.arrive import PATIENCE_PS
from orchestrator.node.control import PAUSE_OCTETS
from orchestrator.plan import Nic, ResolvedPlan, Switch

CONTROL_PER_PORT = 64
SPARE = 512
BIT_PS = 10**12


def descriptors(resolved: ResolvedPlan) -> int:
    """An upper bound on the frames in host queues, queues and delay lines, control frames included.

    A queue of control frames has no bound of its own; what a port can hold of them is generous,
    and a pool that ran out is counted and makes a run invalid.
    """
    plan = resolved.plan
    shortest = min((entry.frame for entry in plan.traffic.values()), default=PAUSE_OCTETS)
    total = SPARE
    for flow in plan.flows():
        node = plan.nodes[flow.node]
        assert isinstance(node, Nic)
        total += max(node.host_queue, shortest) // plan.traffic[flow.entry].frame + 1
    for port in plan.ports():
        link = plan.links[port.link]
        longest = max(link.delay, link.delay_back or 0)
        longest = max([longest, *_later_delays(resolved)])
        on_the_way = min(link.rate * (longest + PATIENCE_PS) // (8 * BIT_PS), link.buffer)
        total += on_the_way // shortest + CONTROL_PER_PORT
        node_ = plan.nodes[port.node]
        if isinstance(node_, Switch):
            own = node_.ports.get(port.name)
            buffer = own.buffer if own is not None and own.buffer else node_.buffer
            total += max([buffer, *_later_buffers(resolved)]) // shortest + 1
    return total


def _later_delays(resolved: ResolvedPlan) -> list[int]:
    return [a.values["delay"] for a in resolved.actions if a.kind == "link" and "delay" in a.values]


def _later_buffers(resolved: ResolvedPlan) -> list[int]:
    return [a.values["buffer"] for a in resolved.actions if "buffer" in a.values]
