"""What a plan demands of a real-time machine, and which rates it must have reached."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.node.link import BIT_PS
from orchestrator.plan import Nic, Plan, Port, ResolvedPlan, Switch
from orchestrator.plan.catalog import Use
from orchestrator.plan.names import is_ours
from orchestrator.plan.routes import path
from orchestrator.recording import Recording
from orchestrator.run.fidelity import Demand, Rate

PS = 10**12


def demand_of(resolved: ResolvedPlan) -> Demand:
    """The shortest feedback loop, drain time and phase of a plan.

    Where no congestion point holds a queue, a reaction point may, by the delays that it goes by.
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
    holding = {use.params for use in resolved.uses["reaction_point"].values()}
    controlled: list[int] = []
    buffers: list[int] = []
    for port in plan.ports():
        node = plan.nodes[port.node]
        if not isinstance(node, Switch):
            continue
        rate, capacity = serving(plan, node, port)
        if is_ours(plan, port.node):  # a device's buffer is its own affair
            buffers.append(capacity * BIT_PS // rate)
        point = resolved.use("congestion_point", port.entity)
        if point is not None:
            controlled.append(operating(point, rate, capacity) * BIT_PS // rate)
        else:
            said = (params.operating_queue(rate) for params in holding)
            controlled += [octets * BIT_PS // rate for octets in said if octets is not None]
        pause = resolved.use("pause", port.entity)
        if pause is not None:
            incoming = rate_into(plan, port)
            room = max(capacity - operating(pause, incoming, 0), 0)
            controlled.append(room * BIT_PS // incoming)
        if node.inputs is not None:
            line = plan.links[port.link].rate
            point, pause = (resolved.use(k, port.input) for k in ("congestion_point", "pause"))
            if point is not None:
                controlled.append(operating(point, line, node.inputs.buffer) * BIT_PS // line)
            if pause is not None:
                room = max(node.inputs.buffer - operating(pause, line, 0), 0)
                controlled.append(room * BIT_PS // line)
    phases = [phase.to - phase.from_ for phase in plan.phases.values()]
    shortest_phase = min(phases, default=plan.duration)
    margins = _margins(resolved)
    return Demand(
        margin_ps=min(margins, default=None),
        departures=2 * _longest_way(plan) if margins else 0,
        feedback_loop_ps=min(loops, default=0),
        drain_ps=min(controlled or buffers or _host_queues(resolved), default=shortest_phase),
        shortest_phase_ps=shortest_phase,
    )


def _margins(resolved: ResolvedPlan) -> list[int]:
    """What each reaction point that goes by delays bears of them, at the rate of its link."""
    plan, margins = resolved.plan, list[int | None]()
    for port in plan.ports():
        use = resolved.use("reaction_point", port.node)
        if use is not None and isinstance(plan.nodes[port.node], Nic):
            margins.append(use.params.delay_margin(plan.links[port.link].rate))
    return [margin for margin in margins if margin is not None]


def _longest_way(plan: Plan) -> int:
    """Links between the ends of the flow whose way has most of them."""
    table, known = plan.routes(), {port.entity: port for port in plan.ports()}
    ways = {
        (flow.node, member)
        for flow in plan.flows()
        for member in plan.groups.get(flow.destination, [flow.destination])
    }
    found = (path(plan, table, known, *ends) for ends in ways)
    return max((len(way) for way in found if not isinstance(way, str)), default=0)


def serving(plan: Plan, node: Switch, port: Port) -> tuple[int, int]:
    """At what rate the queue of a switch's port is served (bit/s), and its octets."""
    rate = node.service_of(port.name, plan.links[port.link].rate)
    return rate, node.buffer_of(port.name)


def operating(use: Use, rate: int, otherwise: int) -> int:
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


def rate_into(plan: Plan, port: Port) -> int:
    """bit/s that can come to a port's queue: what the other links of its node carry."""
    links = plan.links.items()
    others = [link.rate for name, link in links if port.node in link.ends and name != port.link]
    return sum(others) or plan.links[port.link].rate


def achieved_rates(resolved: ResolvedPlan, recording: Recording) -> list[Rate]:
    """Of every port of a switch, what it should have sent while a queue of it was never empty.

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
    suffixes = [lane.suffix for lane in resolved.plan.lanes()]
    served = [c.entity for c in recording.columns if c.quantity == "service_rate"]
    for port in dict.fromkeys(entity.partition("/")[0] for entity in served):
        lanes, way = [port + suffix for suffix in suffixes], ways[port]
        # its lanes take turns: there was always something to send where one was never empty
        filled = np.any([_was_filled(recording, port, way, suffix) for suffix in suffixes], axis=0)
        rate, line = recording.column(lanes[0], "service_rate"), recording.column(way, "rate")
        filled &= (np.diff(rate) == 0) & (np.diff(line) == 0)  # a change need not meet a sample
        octets = np.diff(sum(recording.column(lane, "bytes_out") for lane in lanes))
        link = resolved.plan.links[links[port]]
        service = rate[:-1].astype(float)
        frames = np.diff(sum(recording.column(lane, "frames_out") for lane in lanes))
        seconds = np.diff(times) / PS
        carried = line[:-1] * seconds / 8
        due = np.minimum(service * seconds / 8, carried - link.overhead * frames)
        expected = int(due[filled].sum())
        if expected:
            achieved = int(octets[filled].sum())
            stretches = int(np.count_nonzero(np.diff(filled, prepend=False) & filled))
            rates.append(Rate(port, expected, achieved, longest, stretches))
    return rates


def _was_filled(recording: Recording, port: str, way: str, suffix: str) -> np.ndarray:
    """Between which samples a lane of a port always had something to send, and was let, bool[n]."""
    waiting = recording.column(port + suffix, "queue_frames") > 0
    emptied = np.diff(recording.column(port + suffix, "times_emptied")) > 0
    held = np.diff(recording.column(way + suffix, "paused_ps")) > 0  # it was not to send then
    filled: np.ndarray = waiting[:-1] & ~emptied & ~held
    return filled
