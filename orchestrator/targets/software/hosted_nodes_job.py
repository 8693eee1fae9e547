"""Worker job of an agent: hosts some nodes of a plan; other machines host the others.

Links between its own nodes are veth pairs, as ever; a link to another machine is a named NIC that
the agent has opened and handed over. It waits for the agent to set time 0.
"""

from __future__ import annotations

import dataclasses
import json
import mmap
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.assembly.recording_builder import Share, merged_shares
from orchestrator.engine.datapath.emulation_clock import HOLDS, LONGEST
from orchestrator.engine.datapath.mmsg_batch import UNSENT
from orchestrator.engine.datapath.realtime_loop import drive
from orchestrator.engine.records import NEVER
from orchestrator.errors import RunFailed
from orchestrator.live.command_slots import slot_times
from orchestrator.live.datapath_options import NIC_STAMPS
from orchestrator.live.live_changes import RUN_ENDING
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.algorithm_params import without_files
from orchestrator.registry import Registry
from orchestrator.run import disk_space
from orchestrator.run.engine_compile import compile_lock
from orchestrator.targets.software import frame_lateness, realtime_scheduling, stall_log
from orchestrator.targets.software.borrowed_nics import add_borrowed_nics, outside_of
from orchestrator.targets.software.concurrent_runs import other_runs
from orchestrator.targets.software.control_thread import ControlThread
from orchestrator.targets.software.datapath_thread import Thread
from orchestrator.targets.software.dut.dut_fidelity import foreign
from orchestrator.targets.software.link_end_counters import ends_of
from orchestrator.targets.software.link_guards import LinkGuards
from orchestrator.targets.software.mtu_check import narrow
from orchestrator.targets.software.network_namespaces import Machines
from orchestrator.targets.software.packet_backends import PACKETS, Backend, StampedPackets
from orchestrator.targets.software.phc_tracker import NicClocks
from orchestrator.targets.software.raw_sockets import take_statistics
from orchestrator.targets.software.thread_assignment import shares
from orchestrator.targets.software.thread_io import FREE_RUNNING_PS, Shared, horizon_of
from orchestrator.targets.software.timestamp_sources import TimestampSources
from orchestrator.targets.software.timing_demand import demand_of
from orchestrator.targets.software.worker_stages import (
    BUILDING,
    CHANGE,
    COLLECT,
    COLLECTED,
    COMPILING,
    ENDED,
    READY,
    RUNNING,
)

PACE_WORDS = 2
"""Words per thread in the memory that paced threads share: held, progress."""


@dataclass(frozen=True)
class Spec:
    """Order of an agent to its worker. Descriptors are those that the worker inherited."""

    plan: str
    nodes: list[str]
    ports: dict[str, dict[str, Any]]
    """Node -> {"socket": descriptor, "ports": {port: interface index}}."""
    threads: int
    first: int
    of: int
    """Threads that share the clock: this worker has numbers `first` to `first + threads`."""
    pace: int
    """Descriptor of the memory that they share."""
    live: int
    """Descriptor of the memory that samples are written to."""
    holds: bool
    crowded: bool
    core: int | None
    speed: int
    """Ps of the run per ns of this machine's clock."""
    spool: str
    stamps: str | None = None
    """Who takes times of frames: of `orchestrator.live.datapath_options`."""
    launch: bool = False
    why: str | None = None
    """Why the kernel takes them where NICs might have."""
    clocks: dict[str, int] = field(default_factory=dict)
    """Port -> descriptor of its NIC's clock."""

    def backend(self) -> Backend:
        """Packet back end."""
        if self.stamps is None and not self.launch:
            return PACKETS
        outside = frozenset(f"{node}/nics" for node in self.ports)
        hardware = outside if self.stamps == NIC_STAMPS else frozenset()
        return StampedPackets(
            TimestampSources(True, hardware, outside if self.launch else frozenset())
        )


def host(control: Any, record: dict[str, Any]) -> None:
    """Build, wait for the start, drive, wait for the order to collect, write the results."""
    spec = Spec(**record)
    control.report((BUILDING, {}))
    with without_files():
        resolved = Plan.load(spec.plan).check(Registry.load())
    machines, local = build_machines(resolved.plan, spec)
    control.report((COMPILING, {}))
    backend = spec.backend()
    demand = demand_of(resolved)
    shared = share(spec, demand.horizon_ps)
    shared.guards = LinkGuards.of(resolved.plan, local, demand.reaction_ps).prefault()
    groups = shares(resolved.plan, spec.threads, spec.nodes)
    with compile_lock():
        rehearse(resolved, machines, local, groups[0])
        threads = [
            Thread(
                *(resolved, machines, local, nodes, spec.first + place, shared),
                slots=slot_times(resolved.plan.duration),
                outside=[outside_of(node) for node in nodes if node in spec.ports],
                backend=backend,
            )
            for place, nodes in enumerate(groups)
        ]
    columns = show(spec, threads)
    for place, thread in enumerate(threads):
        thread.core = None if spec.core is None else spec.core + place
        thread.rig.gives_way[0] = int(spec.crowded)
    met = other_runs()
    clocks = NicClocks(threads, spec.clocks) if spec.clocks else None
    if clocks is not None:
        clocks.begin()
    prepared = realtime_scheduling.prepare()
    attendant = ControlThread(
        control, resolved, threads, lambda record: control.report((RUNNING, {CHANGE: record}))
    )
    control.report((READY, {"columns": columns, "rows": len(threads[0].assembly.world.row_times)}))
    start_ns, rate_ppb = control.orders.get()
    for machine in machines.machines.values():
        if machine.raw is not None:
            take_statistics(machine.raw)
    for thread in threads:
        thread.rig.start_ns[0] = start_ns
        thread.rig.rate_ppb[0] = rate_ppb
        thread.start()
    control.report((RUNNING, {}))
    with without_files():
        attendant.serve()
    for thread in threads:
        thread.join()
    if failed := [thread for thread in threads if thread.outcome != 0]:
        raise RunFailed(f"a socket of {', '.join(failed[0].nodes)} failed in the run")
    clocked = clocks.end() if clocks is not None else {}
    control.report((ENDED, {}))
    met += [one for one in other_runs() if one not in met]
    wait_to_collect(control)
    record = {
        "offloads": {n: m.offloads for n, m in machines.machines.items()},
        "prepared": prepared,
    }
    record["neighbours"] = [one.as_table() for one in met]
    record["narrow"] = narrow(resolved, machines, local)
    if backend.times is not None:
        record["datapath"] = backend.describe() | frame_lateness.lateness_table(threads)
        record["datapath"] |= {"clocks": clocked} if clocked else {}
        record["datapath"] |= {"why": spec.why} if spec.why else {}
    try:
        record["ends"] = ends_of(threads, machines, local)
        record["guarded"] = shared.guards.words(threads)
        write(Path(spec.spool), resolved, spec, machines, threads, record)
    except OSError as error:
        if not disk_space.is_full(error):
            raise
        raise RunFailed(f"no room left on the disk for results in {spec.spool}") from None
    control.report((COLLECTED, {}))


def wait_to_collect(control: Any) -> None:
    """Wait for the order to collect results; a live change is too late then."""
    while (order := control.orders.get())[0] != COLLECT:
        if order[0] == CHANGE:
            control.report((ENDED, {CHANGE: {"number": order[2], "refused": RUN_ENDING}}))


def build_machines(plan: Plan, spec: Spec) -> tuple[Machines, dict[str, tuple[str, int]]]:
    """Emulated machines for the nodes, joined where both ends are here; each port's machine."""
    machines = Machines()
    local: dict[str, tuple[str, int]] = {}
    for name in spec.nodes:
        machines.add(name)
    for way in plan.directions():
        ends = (way.sender, way.receiver)
        if way.sender.forward and all(end.node in spec.nodes for end in ends):
            for end, number in zip(ends, machines.join(ends[0].node, ends[1].node), strict=True):
                local[end.entity] = (end.node, number)
    for node, there in spec.ports.items():
        local |= add_borrowed_nics(machines, node, there)
    return machines, local


def share(spec: Spec, horizon_ps: int) -> Shared:
    """The clock that these threads have in common with those of other agents of this kernel."""
    memory = mmap.mmap(spec.pace, 8 * PACE_WORDS * spec.of)
    words = np.frombuffer(memory, np.int64).reshape(PACE_WORDS, spec.of)
    words[1, spec.first : spec.first + spec.threads] = -NEVER
    horizon = horizon_of(horizon_ps, spec.speed) if spec.holds else FREE_RUNNING_PS
    return Shared(horizon, words[0], words[1], spec.speed)


def rehearse(
    resolved: ResolvedPlan,
    machines: Machines,
    local: Mapping[str, tuple[str, int]],
    nodes: Sequence[str],
) -> None:
    """Have the data path compiled, or loaded, before time counts: a run of no length."""
    inside = {port: place for port, place in local.items() if place[0] in nodes}
    thread = Thread(resolved, machines, inside, nodes, 0, Shared.of(1, 0))
    drive(thread.assembly.world, thread.rig, -NEVER)


def show(spec: Spec, threads: list[Thread]) -> list[list[int]]:
    """Let samples be written where the agent can read them while the worker runs.

    Per thread: the columns that are its own. The memory holds, thread by thread, the times of the
    rows (-1: not taken yet) and then the rows.
    """
    world = threads[0].assembly.world
    rows, columns = world.rows.shape
    each = 8 * rows * (columns + 1)
    os.ftruncate(spec.live, each * len(threads))
    memory = np.frombuffer(mmap.mmap(spec.live, 0), np.int64)
    mine = []
    for place, thread in enumerate(threads):
        base = place * rows * (columns + 1)
        times = memory[base : base + rows]
        values = memory[base + rows : base + rows * (columns + 1)].reshape(rows, columns)
        times[:] = -1
        realtime_scheduling.prefault(times, values)
        fresh = dataclasses.replace(thread.assembly.world, row_times=times, rows=values)
        thread.assembly.world = fresh
        probes = thread.assembly.probes
        mine.append([n for n, probe in enumerate(probes) if probe.owner in thread.nodes])
    return mine


def write(
    spool: Path,
    resolved: ResolvedPlan,
    spec: Spec,
    machines: Machines,
    threads: list[Thread],
    record: dict[str, Any],
) -> None:
    """Write what was measured: numbers as arrays, the rest as JSON; nothing that is executed."""
    arrays: dict[str, np.ndarray] = {}
    shares = [Share.of(thread.assembly, thread.nodes) for thread in threads]
    whole = merged_shares("target software", shares)
    arrays |= {"times": whole.times, "columns": whole.columns}
    arrays |= {"values": whole.values, "latency": whole.latency}
    worlds = [thread.assembly.world for thread in threads]
    lateness = np.sum([thread.rig.lateness for thread in threads], axis=0)
    lateness[-1] = max(int(thread.rig.lateness[-1]) for thread in threads)
    arrays["lateness"] = lateness
    arrays["stalls"], stalls = stall_log.stall_words(threads, spec.holds)
    for number, capture in enumerate(whole.captures):
        arrays[f"times{number}"] = capture.times_ps
        arrays[f"lengths{number}"] = np.where(capture.outgoing, ~capture.lengths, capture.lengths)
        arrays[f"octets{number}"] = capture.octets
    captures = [
        {"port": f"{capture.node}.{capture.port}", "dropped": capture.dropped}
        for capture in whole.captures
    ]
    inside = [name for name in machines.machines if name in spec.nodes]
    rows_of = [row for name in inside for row in machines.interface_counters(name)]
    sockets = [machines.socket_counters(name) for name in machines.machines]
    first = spec.first == 0
    meta = record | {
        "captures": captures,
        "stalls": stalls,
        "sent": sum(int(world.ports["frames_out"].sum()) for world in worlds),
        "put_on_wires": sum(row["tx_packets"] for row in rows_of),
        "interfaces_lost": sum(row["tx_dropped"] + row["tx_errors"] for row in rows_of),
        "socket_received": sum(counts["received"] for counts in sockets),
        "socket_dropped": sum(counts["dropped"] for counts in sockets),
        "unsent": sum(int(thread.rig.outgoing.state[UNSENT]) for thread in threads),
        "no_descriptor": whole.vanished,
        "foreign": sum(foreign(thread) for thread in threads),
        "held_ps": int(threads[0].rig.held[0]) if first else 0,
        "holds": int(threads[0].rig.turn[HOLDS]) if first else 0,
        "longest_hold_ps": int(threads[0].rig.turn[LONGEST]) if first else 0,
        "taken_s": {
            f"{thread.nodes[0]} and others: {key}": value
            for thread in threads
            for key, value in thread.taken.items()
        },
    }
    np.savez(spool / "part.npz", **arrays)  # type: ignore[arg-type]
    (spool / "part.json").write_text(json.dumps(meta), encoding="utf-8")
