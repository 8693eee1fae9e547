"""From worlds that have run to a recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orchestrator.assembly.assembly import Assembly
from orchestrator.assembly.ideal import Paths, ideal_ps
from orchestrator.engine.node.latency import latency_edges
from orchestrator.engine.node.world import World
from orchestrator.engine.records import NEVER
from orchestrator.engine.workload import ENDLESS
from orchestrator.errors import RunFailed
from orchestrator.recording import Event, MessageTable, PortCapture, Recording


def record(
    target: str,
    shares: Sequence[tuple[Assembly, Sequence[str]]],
    *,
    epoch_ns: int = 0,
    cpu_s: float,
    wall_s: float,
    fidelity: dict[str, Any] | None = None,
) -> Recording:
    """Put together what the worlds of a run measured; each comes with the nodes that it drove.

    All worlds sample at the same instants; a column is taken from the world of its owner.
    """
    first = shares[0][0]
    rows = [int(assembly.world.clock[0].row) for assembly, _ in shares]
    if len(set(rows)) != 1:
        raise RunFailed(
            f"{target}: the parts of the run took {rows} rows of samples; equal numbers were due"
        )
    times = first.world.row_times[: rows[0]]
    worlds = {node: assembly.world for assembly, nodes in shares for node in nodes}
    values = np.empty((rows[0], len(first.probes)), np.int64)
    for position, probe in enumerate(first.probes):
        values[:, position] = worlds[probe.owner].rows[: rows[0], position]
    arrivals = [n for n, p in enumerate(first.probes) if p.column.quantity == "frames_received"]
    keep = np.ones(len(times), bool)
    keep[:-1] = times[1:] != times[:-1]  # a mark on the grid gives two rows: the later one stays
    latency = np.sum([assembly.world.latency_marks for assembly, _ in shares], axis=0)
    captures = [c for assembly, _ in shares for c in _captures(assembly)]
    return Recording(
        target=target,
        times_ps=times[keep],
        columns=[probe.column for probe in first.probes],
        values=values[keep],
        latency={entry: latency[:, row] for entry, row in first.indices.groups.items()},
        latency_marks_ps=np.array(first.marks_ps, np.int64),
        latency_edges_ps=latency_edges(),
        events=_events(first),
        captures=captures,
        epoch_ns=epoch_ns,
        data_frames=int(values[-1, arrivals].sum()),
        cpu_s=cpu_s,
        wall_s=wall_s,
        vanished=sum(int(assembly.world.clock[0].no_descriptor) for assembly, _ in shares),
        fidelity=fidelity,
        messages=_messages(first, worlds),
    )


def _messages(first: Assembly, worlds: dict[str, World]) -> MessageTable | None:
    """The messages that have an end; a completion is taken from the world of its destination."""
    plan = first.resolved.plan
    rows = first.world.messages
    if not len(rows):
        return None
    done, ideal = np.array(rows["done"]), np.zeros(len(rows), np.int64)
    paths = Paths(plan)
    flows = plan.flows()
    for row, flow in enumerate(flows):
        record = first.world.flows[row]
        mine = slice(int(record.first_message), int(record.last_message))
        if mine.start < mine.stop:
            done[mine] = worlds[flow.destination].messages["done"][mine]
            ideal[mine] = ideal_ps(
                paths.of(flow), plan.traffic[flow.entry].frame, rows["octets"][mine]
            )
    kept = rows["octets"] < ENDLESS
    return MessageTable(
        flows=[(flow.entity, flow.entry) for flow in flows],
        flow=np.array(rows["flow"])[kept],
        start_ps=np.array(rows["start"])[kept],
        size=np.array(rows["octets"])[kept],
        done_ps=np.where(done < NEVER, done, -1)[kept],
        ideal_ps=ideal[kept],
    )


def _captures(assembly: Assembly) -> list[PortCapture]:
    found = []
    world = assembly.world
    for slot, entity in enumerate(assembly.capture_ports):
        kept, dropped = (int(count) for count in world.capture_count[slot])
        lengths = world.capture_lengths[slot, :kept]
        sizes = np.where(lengths < 0, ~lengths, lengths)
        port = assembly.indices.ports[entity]
        snap = world.capture_octets.shape[2]
        found.append(
            PortCapture(
                node=port.node,
                port=port.name,
                times_ps=world.capture_times[slot, :kept],
                outgoing=lengths < 0,
                lengths=sizes,
                kept=np.minimum(sizes, snap),
                octets=world.capture_octets[slot, :kept],
                dropped=dropped,
            )
        )
    return found


def _events(assembly: Assembly) -> list[Event]:
    """The timeline as it was carried out, and the phases as they came."""
    plan = assembly.resolved.plan
    events = [
        Event(a.at, a.verb, a.key, {"to": a.to} if a.to is not None else {})
        for a in assembly.resolved.actions
    ]
    events += [Event(phase.from_, "phase", name, {}) for name, phase in plan.phases.items()]
    return sorted(events, key=lambda event: event.time_ps)
