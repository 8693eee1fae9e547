"""Timing demands of a plan on a real-time machine, and the rates that its ports must reach."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from orchestrator.plan import Nic, Plan, Port, ResolvedPlan, Switch
from orchestrator.plan.algorithm_params import Params
from orchestrator.plan.entity_names import is_ours
from orchestrator.plan.shortest_paths import path
from orchestrator.plan.time_varying import shortest_trips
from orchestrator.recording import Recording
from orchestrator.run.run_fidelity import Demand, Rate
from orchestrator.targets.software.drain_times import Drains

PS = 10**12


def demand_of(resolved: ResolvedPlan) -> Demand:
    """The shortest feedback loop, drain time and phase of a plan, at any time of its run.

    Where no congestion point holds a queue, a reaction point may, by the delays that it goes by.
    The room above the mark of a PAUSE counts as a drain: it fills while PAUSE is on its way. Where
    nothing controls a queue, the time to drain is that of the smallest whole buffer; where there
    is no queue either, nothing reacts within a phase, but for what has its own way to: transports,
    and programs with theirs, whose queue is that of their host.
    """
    plan, drains, trips = resolved.plan, Drains(resolved), shortest_trips(resolved)
    loops = [
        trips[name]
        for name, link in plan.links.items()
        if any(isinstance(plan.nodes[end], Nic) for end in link.ends)
    ]
    switches = [port for port in plan.ports() if isinstance(plan.nodes[port.node], Switch)]
    holding = {use.params for use in resolved.uses["reaction_point"].values()}
    controlled = [time for port in switches for time in _controlled(drains, port, holding)]
    # a device's buffer is its own affair
    buffers = [drains.of_uncontrolled(port) for port in switches if is_ours(plan, port.node)]
    phases = [phase.to - phase.from_ for phase in plan.phases.values()]
    shortest_phase = min(phases, default=plan.duration)
    margins = _margins(resolved)
    held = controlled or buffers or _host_queues(resolved, drains)
    return Demand(
        margin_ps=min(margins, default=None),
        departures=2 * _longest_path(plan) if margins else 0,
        feedback_loop_ps=min(loops, default=0),
        drain_ps=min(held, default=shortest_phase),
        shortest_phase_ps=shortest_phase,
    )


def _controlled(drains: Drains, port: Port, holding: Iterable[Params]) -> list[int]:
    """The drain times of a switch port's controlled queues: `holding` are those
    who may do so by delays."""
    point = drains.of_point(port)
    found = [drains.of_pause(port), drains.of_input_point(port), drains.of_input_pause(port)]
    found += [drains.of_delays(port, one) for one in holding] if point is None else [point]
    return [time for time in found if time is not None]


def _margins(resolved: ResolvedPlan) -> list[int]:
    """Delay margins of the delay-based reaction points, at the rate of their links."""
    plan, margins = resolved.plan, list[int | None]()
    for port in plan.ports():
        use = resolved.use("reaction_point", port.node)
        if use is not None and isinstance(plan.nodes[port.node], Nic):
            margins.append(use.params.delay_margin(plan.links[port.link].rate))
    return [margin for margin in margins if margin is not None]


def _longest_path(plan: Plan) -> int:
    """Number of links on the longest path of any flow."""
    table, known = plan.routes(), {port.entity: port for port in plan.ports()}
    ways = {
        (flow.node, member)
        for flow in plan.flows()
        for member in plan.groups.get(flow.destination, [flow.destination])
    }
    found = (path(plan, table, known, *ends) for ends in ways)
    return max((len(way) for way in found if not isinstance(way, str)), default=0)


def _host_queues(resolved: ResolvedPlan, drains: Drains) -> list[int]:
    """The drain times of the NICs' queues, where both ends react to received frames."""
    programs = any(use.algorithm.programs for use in resolved.uses["traffic"].values())
    if not programs and not resolved.uses.get("transport"):
        return []
    found = (drains.of_host_queue(port) for port in resolved.plan.ports())
    return [time for time in found if time is not None]


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
        ways_of = [way + suffix for suffix in suffixes] if len(suffixes) > 1 else [way]
        pairs = zip(lanes, ways_of, strict=True)
        filled = np.any([_was_filled(recording, lane, held) for lane, held in pairs], axis=0)
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


def _was_filled(recording: Recording, lane: str, way: str) -> np.ndarray:
    """Mask bool[n] of sample intervals in which a lane of a port was backlogged and permitted to
    send; `way`: its link or, where there are several lanes, the lane of that."""
    waiting = recording.column(lane, "queue_frames") > 0
    emptied = np.diff(recording.column(lane, "times_emptied")) > 0
    held = np.diff(recording.column(way, "paused_ps")) > 0  # it was not to send then
    filled: np.ndarray = waiting[:-1] & ~emptied & ~held
    return filled
