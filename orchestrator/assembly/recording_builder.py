"""Recording builder: joins the measurements of a run's parts, from worlds or from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator.assembly.ideal_fct import Paths, ideal_ps
from orchestrator.assembly.marking_histograms import marking_tables
from orchestrator.assembly.message_schedules import entry_lengths
from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.sample_columns import Probe, rows_at_distinct_times
from orchestrator.assembly.source_activity import rates_set, sources_on
from orchestrator.assembly.telemetry_space import headers
from orchestrator.assembly.timeline_commands import marks
from orchestrator.assembly.world_assembly import Assembly
from orchestrator.engine import kernel_guards
from orchestrator.engine.node.latency_histogram import latency_edges
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NEVER
from orchestrator.engine.workload import ENDLESS
from orchestrator.errors import BadInput, RunFailed
from orchestrator.plan import Port, ResolvedPlan
from orchestrator.plan.entity_names import flow_scheduler_holder, is_ours
from orchestrator.plan.external_nodes import facing
from orchestrator.plan.metric_registry import REMOVED
from orchestrator.plan.row_order import in_row_order
from orchestrator.plan.timeline_actions import injected_frames
from orchestrator.recording import Event, MessageTable, PortCapture, Recording


@dataclass
class Share:
    """Measurements of one part of a run. All parts sample at the same instants.

    `times` int64[n]; `columns` int64[m], which of the plan's columns are its own; `values`
    int64[n, m]; `latency` int64[marks, rows, bins], of the traffic entries and of
    what congestion points mark; `vanished`: frames lost for want of a
    descriptor.
    """

    name: str
    """For people: whose it is."""
    times: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    latency: np.ndarray
    captures: list[PortCapture]
    vanished: int

    @classmethod
    def of(cls, assembly: Assembly, nodes: Sequence[str]) -> Share:
        """Of a world that has run, and the nodes that it drove."""
        world, probes = assembly.world, assembly.probes
        kernel_guards.refuse_fault()
        _refuse_unannounced(assembly)
        rows = int(world.clock[0].row)
        mine = set(nodes)
        own = [n for n, probe in enumerate(probes) if probe.owner in mine]
        values = world.rows[:rows]
        return cls(
            name=f"the part with {nodes[0]}",
            times=world.row_times[:rows],
            columns=np.array(own, np.int64),
            values=values if len(own) == len(probes) else values[:, own],
            latency=world.latency_marks,
            captures=_captures(assembly),
            vanished=int(world.clock[0].no_descriptor),
        )


def _refuse_unannounced(assembly: Assembly) -> None:
    """Raises RunFailed for frames that a congestion point took away without saying that it may.

    They are in no sample, so nothing that was counted would add up.
    """
    queues = assembly.world.queues
    taken = [queues[one.record_field] for one in REMOVED]
    rows = np.flatnonzero(np.logical_or.reduce(taken)).tolist()
    names = list(assembly.indices.queues) if rows else []
    plan, of = assembly.resolved.plan, assembly.indices.port_of
    devices = {name for e, every in assembly.indices.buffers.items() for name in every
               if not is_ours(plan, of[e].node)} if rows else set()  # fmt: skip
    rows = [row for row in rows if names[row] not in devices]
    counted = {(p.column.entity, p.field) for p in assembly.probes} if rows else set()
    for name, queue in ((names[row], queues[row]) for row in rows):
        for one in REMOVED:
            number = int(queue[one.record_field])
            if number and (name, one.record_field) not in counted:
                sentence = one.removed.format(number)
                raise RunFailed(f"{name}: its congestion point {sentence}")


def merged_shares(target: str, shares: Sequence[Share]) -> Share:
    """Several parts as one. Raises RunFailed for parts that did not sample alike."""
    first = shares[0]
    for share in shares[1:]:
        if not np.array_equal(share.times, first.times):
            raise RunFailed(
                f"{target}: {first.name} and {share.name} took {len(first.times)} and "
                f"{len(share.times)} rows of samples; the same ones were due"
            )
    if len(shares) == 1:
        return first
    return Share(
        name=first.name,
        times=first.times,
        columns=np.concatenate([share.columns for share in shares]),
        values=np.concatenate([share.values for share in shares], axis=1),
        latency=np.sum([share.latency for share in shares], axis=0),
        captures=[capture for share in shares for capture in share.captures],
        vanished=sum(share.vanished for share in shares),
    )


def build(
    target: str,
    resolved: ResolvedPlan,
    indices: Indices,
    wanted: Sequence[Probe],
    shares: Sequence[Share],
    *,
    epoch_ns: int,
    cpu_s: float,
    wall_s: float,
    messages: MessageTable | None = None,
    fidelity: dict[str, Any] | None = None,
    given_up: bool = False,
) -> Recording:
    """Put together what the parts of a run measured; `wanted` are the columns of its plan.

    `given_up`: the samples of the shares are not read any more, so that they may be moved.
    """
    whole = merged_shares(target, shares)
    values = whole.values
    if not np.array_equal(whole.columns, np.arange(len(wanted))):
        values = np.zeros((len(whole.times), len(wanted)), np.int64)
        values[:, whole.columns] = whole.values
    if lacking := set(range(len(wanted))) - set(whole.columns.tolist()):
        column = wanted[min(lacking)].column
        raise RunFailed(f"{target}: no part sampled {column.quantity} of {column.entity}")
    arrivals = [n for n, p in enumerate(wanted) if p.column.quantity == "frames_received"]
    delivered = int(values[-1, arrivals].sum())
    times, values = rows_at_distinct_times(whole.times, values, in_place=given_up)
    return Recording(
        target=target,
        times_ps=times,
        columns=[probe.column for probe in wanted],
        values=values,
        latency={entry: whole.latency[:, row] for entry, row in indices.groups.items()},
        marking=marking_tables(resolved, indices, whole.latency),
        latency_marks_ps=np.array(marks(resolved.plan), np.int64),
        latency_edges_ps=latency_edges(),
        events=_events(resolved),
        captures=whole.captures,
        epoch_ns=epoch_ns,
        data_frames=delivered,
        cpu_s=cpu_s,
        wall_s=wall_s,
        vanished=whole.vanished,
        fidelity=fidelity,
        messages=messages,
        on=sources_on(resolved),
        changes=rates_set(resolved, indices),
        facing=facing(resolved.plan),
    )


def record(
    target: str,
    shares: Sequence[tuple[Assembly, Sequence[str]]],
    *,
    epoch_ns: int = 0,
    cpu_s: float,
    wall_s: float,
    fidelity: dict[str, Any] | None = None,
    given_up: bool = False,
) -> Recording:
    """The recording of worlds of this process; each comes with the nodes that it drove. Raises
    BadInput where a scheduler chose a priority that had nothing to send.

    `given_up`: the rows of these worlds are not read any more, the recording may take them.
    """
    first = shares[0][0]
    for assembly, _ in shares:
        _refuse_unready_choices(assembly)
    worlds = {node: assembly.world for assembly, nodes in shares for node in nodes}
    return build(
        target,
        first.resolved,
        first.indices,
        first.probes,
        [Share.of(assembly, nodes) for assembly, nodes in shares],
        epoch_ns=epoch_ns,
        cpu_s=cpu_s,
        wall_s=wall_s,
        messages=_messages(first, worlds),
        fidelity=fidelity,
        given_up=given_up,
    )


def _refuse_unready_choices(assembly: Assembly) -> None:
    """Raises BadInput for a scheduler that chose a lane or a flow which could not send."""
    names = {row: entity for entity, row in assembly.indices.port_rows.items()}
    for row in assembly.world.schedulers:
        if row.unready:
            port = assembly.indices.ports[names[int(row.port)]]
            ends = (port.entity, port.node, flow_scheduler_holder(port.node))
            use = next(filter(None, (assembly.resolved.use("scheduler", end) for end in ends)))
            which, chosen = (
                ("flow scheduler", "class") if row.of_flows else ("scheduler", "priority")
            )
            raise BadInput(
                f"{which} {use.algorithm.name!r} at {port.entity}",
                f"its kernel 'choose' named a {chosen} that could not send, {int(row.unready)} "
                "times; one whose bit in scheduler.ready is set is expected",
            )


def _messages(first: Assembly, worlds: dict[str, World]) -> MessageTable | None:
    """The messages that have an end; a completion is taken from the world of its destination, when
    it began from that of its source."""
    plan = in_row_order(first.resolved.plan)
    rows = first.world.messages
    if not len(rows):
        return None
    done, start = np.array(rows["done"]), np.array(rows["start"])
    ideal = np.zeros(len(rows), np.int64)
    paths = Paths(plan)
    flows = plan.flows()
    for row, flow in enumerate(flows):
        record = first.world.flows[row]
        mine = slice(int(record.first_message), int(record.last_message))
        if mine.start < mine.stop:
            done[mine] = worlds[flow.destination].messages["done"][mine]
            start[mine] = worlds[flow.node].messages["start"][mine]
            frame, octets = entry_lengths(first.resolved, flow.entry)
            none_of_it = headers(int(record.stamps), octets)
            ideal[mine] = ideal_ps(paths.of(flow), frame, none_of_it, rows["octets"][mine])
    kept = rows["octets"] < ENDLESS
    return MessageTable(
        flows=[(flow.entity, flow.entry) for flow in flows],
        flow=np.array(rows["flow"])[kept],
        start_ps=np.where(start < NEVER, start, -1)[kept],
        size=np.array(rows["octets"])[kept],
        done_ps=np.where(done < NEVER, done, -1)[kept],
        ideal_ps=ideal[kept],
        round=np.array(rows["round"])[kept],
        step=np.array(rows["step"])[kept],
    )


def _captures(assembly: Assembly) -> list[PortCapture]:
    found = []
    world = assembly.world
    for slot, entity in enumerate(assembly.capture_ports):
        kept, dropped = (int(count) for count in world.capture_count[slot])
        times, octets = world.capture_times[slot, :kept], world.capture_octets[slot, :kept]
        lengths = world.capture_lengths[slot, :kept]
        found.append(captured(assembly.indices.ports[entity], times, lengths, octets, dropped))
    return found


def captured(
    port: Port,
    times: np.ndarray,
    lengths: np.ndarray,
    octets: np.ndarray,
    dropped: int,
    comment: str = "",
) -> PortCapture:
    """The frames of a port as its world keeps them: outgoing ones with ~length."""
    sizes = np.where(lengths < 0, ~lengths, lengths)
    return PortCapture(
        node=port.node,
        port=port.name,
        times_ps=times,
        outgoing=lengths < 0,
        lengths=sizes,
        kept=np.minimum(sizes, octets.shape[1]),
        octets=octets,
        dropped=dropped,
        comment=comment,
    )


def _events(resolved: ResolvedPlan) -> list[Event]:
    """The timeline as it was carried out, and the phases as they came."""
    events = [
        Event(a.at, a.verb, a.key, {"to": a.to} if a.to is not None else injected_frames(a))
        for a in resolved.actions
    ]
    phases = resolved.plan.phases.items()
    events += [Event(phase.from_, "phase", name, {}) for name, phase in phases]
    return sorted(events, key=lambda event: event.time_ps)
