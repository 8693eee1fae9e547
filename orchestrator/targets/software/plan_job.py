"""Worker job of a whole plan: build the machines, drive them in real time, record."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from orchestrator.assembly import record
from orchestrator.engine.datapath.emulation_clock import HOLDS, LONGEST, REAL_TIME
from orchestrator.engine.datapath.mmsg_batch import UNSENT
from orchestrator.engine.datapath.realtime_loop import drive
from orchestrator.engine.records import NEVER
from orchestrator.errors import RunFailed
from orchestrator.live.command_slots import slot_times
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.entity_names import is_ours
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.program_fidelity import with_program_fidelity
from orchestrator.run.run_fidelity import Demand, Measured, advised_pace, judge
from orchestrator.targets.software import frame_lateness, realtime_scheduling, stall_log
from orchestrator.targets.software.backend_selection import ORDINARY, BackendChoice
from orchestrator.targets.software.borrowed_nics import (
    BorrowedMachine,
    Handed,
    add_borrowed_nics,
    outside_of,
)
from orchestrator.targets.software.control_thread import CHANGED, ControlThread
from orchestrator.targets.software.datapath_thread import Thread, start
from orchestrator.targets.software.dut.dut_fidelity import answered, foreign
from orchestrator.targets.software.link_end_counters import crossings_of, ends_of, given_up
from orchestrator.targets.software.link_guards import LinkGuards
from orchestrator.targets.software.mtu_check import narrow, with_narrow
from orchestrator.targets.software.network_namespaces import Machines, port_of
from orchestrator.targets.software.pace_step import SLOWEST
from orchestrator.targets.software.packet_backends import Backend
from orchestrator.targets.software.program_runner import Hosts, Programs, rdma_of
from orchestrator.targets.software.thread_assignment import shares_of_run
from orchestrator.targets.software.thread_io import Shared
from orchestrator.targets.software.timestamp_selection import resolve_timestamps
from orchestrator.targets.software.timing_demand import achieved_rates, demand_of

LEAD_NS = 100_000_000
"""Between the instant at which every thread is in its loop and time 0: the supervisor of programs
and the parent process receive time 0 meanwhile."""
COMPILING, STARTED = "compiling", "started"
NO_DEVICES: Mapping[str, Any] = {}


def join(
    plan: Plan, machines: Machines, devices: Mapping[str, Any] = NO_DEVICES
) -> dict[str, tuple[str, int]]:
    """Make a machine per node and a veth pair per link; where each port of the plan ended up.

    `devices`: of nodes that are cabled to DUTs, their interfaces.
    """
    for name in plan.nodes:
        if is_ours(plan, name):
            machines.add(name)
    local: dict[str, tuple[str, int]] = {}
    for node, there in devices.items():
        local |= add_borrowed_nics(machines, node, there, counted=False)
    for way in plan.directions():
        if way.sender.forward and all(
            is_ours(plan, end.node) for end in (way.sender, way.receiver)
        ):
            left, right = way.sender, way.receiver
            numbers = machines.join(left.node, right.node)
            local[left.entity] = (left.node, numbers[0])
            local[right.entity] = (right.node, numbers[1])
    return local


def run(
    control: Any,
    text: str,
    live: bool = False,
    pace: float = 1.0,
    most: int | None = None,
    carried: BackendChoice = ORDINARY,
    devices: Handed | None = None,
) -> Recording:
    """Run a plan, given as resolved TOML, on emulated machines of this process.

    `live`: its samples are handed out and it is changed as the parent asks. `pace`: seconds of the
    run per second, in steps of 0.001. `most`: cores that threads spin on at most. `carried`: what
    carries its frames. `devices`: sockets of the interfaces that lead to DUTs.
    """
    devices = devices or {}
    resolved = Plan.load(text).check(Registry.load())
    plan = resolved.plan
    machines = Machines()
    local = join(plan, machines, devices)
    carried = resolve_timestamps(carried, machines)
    hosts = Hosts.of(resolved, machines)
    with hosts.with_rdma(rdma_of(resolved), machines):
        return _driven(
            *(control, resolved, machines, local, hosts, carried, devices, live, pace, most)
        )


def _driven(
    control: Any,
    resolved: ResolvedPlan,
    machines: Machines,
    local: dict[str, tuple[str, int]],
    hosts: Hosts,
    carried: BackendChoice,
    devices: Handed,
    live: bool,
    pace: float,
    most: int | None,
) -> Recording:
    """Drive the nodes of a plan, for whom all is made; see `run`."""
    plan = resolved.plan
    cores = sorted(os.sched_getaffinity(0))
    groups = shares_of_run(plan, len(cores), most)
    programs = Programs(plan, hosts, cores[len(groups) :])
    control.report(COMPILING)
    backend = carried.backend()
    rehearse(resolved, machines, local, groups, list(hosts.networks), backend)
    demand = demand_of(resolved)
    slots = slot_times(plan.duration) if live else []
    shared = Shared.of(len(groups), demand.horizon_ps, round(pace * REAL_TIME))
    guards = shared.guards = LinkGuards.of(plan, local, demand.reaction_ps).prefault()
    threads = [
        Thread(
            *(resolved, machines, local, nodes, number, shared, list(hosts.networks), slots),
            outside=[outside_of(node) for node in nodes if node in devices],
            backend=backend,
        )
        for number, nodes in enumerate(groups)
    ]
    spare = len(cores) > len(groups)
    attendant = None
    if live:
        attendant = ControlThread(
            control,
            resolved,
            threads,
            lambda change: control.report((CHANGED, change)),
            spare=spare,
        )
    prepared = realtime_scheduling.prepare()
    for node in devices:  # what was heard so far was none of this run's
        machines.socket_counters(outside_of(node))
        nics = machines.machines[outside_of(node)]
        nics.received = nics.dropped = 0
    start_ns = start(threads, LEAD_NS)
    epoch_ns = time.time_ns() - time.monotonic_ns() + start_ns
    programs.start(start_ns)
    control.report(STARTED)
    if attendant is not None:
        attendant.serve()
    for thread in threads:
        thread.join()
    ran = programs.end()
    if attendant is not None:
        resolved = attendant.changes.resolved
    if failed := [thread for thread in threads if thread.outcome != 0]:
        raise RunFailed(
            f"target software: a socket of {', '.join(failed[0].nodes)} failed in the run"
        )
    recording = _recording(
        *(resolved, machines, local, threads, guards, demand, epoch_ns, prepared)
    )
    recording.datapath = backend.describe() | carried.said | frame_lateness.lateness_table(threads)
    recording.fidelity = (recording.fidelity or {}) | {"datapath": recording.datapath}
    recording.programs = ran
    recording.fidelity = with_program_fidelity(recording.fidelity or {}, ran)
    return recording


def rehearse(
    resolved: ResolvedPlan,
    machines: Machines,
    local: dict[str, tuple[str, int]],
    groups: list[list[str]],
    hosts: Sequence[str],
    backend: Backend,
) -> None:
    """Have the data path compiled, or loaded, before time counts: a run of no length."""
    shared = Shared.of(len(groups), 0)
    rehearsal = Thread(
        *(resolved, machines, local, groups[0], 0, shared, hosts), backend=backend.rehearsing()
    )
    drive(rehearsal.assembly.world, rehearsal.rig, -NEVER)


def _recording(
    resolved: ResolvedPlan,
    machines: Machines,
    local: dict[str, tuple[str, int]],
    threads: list[Thread],
    guards: LinkGuards,
    demand: Demand,
    epoch_ns: int,
    prepared: dict[str, Any],
) -> Recording:
    lost = machines.losses()
    worlds = [thread.assembly.world for thread in threads]
    lost["unsent"] = sum(int(thread.rig.outgoing.state[UNSENT]) for thread in threads)
    lost["no descriptor"] = sum(int(world.clock[0].no_descriptor) for world in worlds)
    lost["not understood"] = max(sum(foreign(thread) for thread in threads), 0)
    lent_ones = [
        name for name, one in machines.machines.items() if isinstance(one, BorrowedMachine)
    ]
    lost["sockets"] += sum(machines.socket_counters(name)["dropped"] for name in lent_ones)
    ran = int(worlds[0].row_times[worlds[0].clock[0].row - 1])  # less where it was stopped
    seconds = ran / 1e12
    pace = float(threads[0].rig.speed[0]) / REAL_TIME
    recording = record(
        "software",
        [(thread.assembly, thread.nodes) for thread in threads],
        epoch_ns=epoch_ns,
        cpu_s=seconds / pace * len(threads),
        wall_s=seconds / pace,
    )
    ends = ends_of(threads, machines, local)
    lost["interfaces"] = given_up(ends.values(), lost["interfaces"], lost["unsent"])
    guarded = guards.results(ran, int(threads[0].rig.horizon[0]), pace)
    crossings = crossings_of(resolved.plan, [ends], ran, guarded)
    lost["between"] = max(lost["between"], sum(one.lost for one in crossings))
    measured = Measured(
        lateness=np.sum([thread.rig.lateness[:-1] for thread in threads], axis=0),
        sent=sum(int(world.ports["frames_out"].sum()) for world in worlds),
        lost=lost,
        capture_lost=0,
        rates=achieved_rates(resolved, recording),
        duration_ps=ran,
        held_ps=[int(thread.rig.held[thread.number]) for thread in threads],
        holds=sum(int(thread.rig.turn[HOLDS]) for thread in threads),
        longest_hold_ps=max(int(thread.rig.turn[LONGEST]) for thread in threads),
        pace=pace,
        crossings=crossings,
        taken_s={
            f"{thread.nodes[0]} and others: {key}": value
            for thread in threads
            for key, value in thread.taken.items()
        },
    )
    longest = max(int(thread.rig.lateness[-1]) for thread in threads)
    measured = dataclasses.replace(measured, lateness=np.append(measured.lateness, longest))
    horizon = float(threads[0].rig.horizon[0]) / 1e12
    recording.fidelity = judge(measured, demand) | {"prepared": prepared, "horizon_s": horizon}
    recording.fidelity["stalls"] = stall_log.stall_fidelity(threads, resolved)
    if not any(thread.hosts for thread in threads):  # programs would not be slower with it
        recording.fidelity["advised_pace"] = advised_pace(measured, demand, SLOWEST)
    recording.fidelity = with_narrow(recording.fidelity, narrow(resolved, machines, local))
    recording.fidelity["answered"] = {
        port: count for thread in threads for port, count in answered(thread).items()
    }
    recording.fidelity["host_ports"] = {
        host: {"dropped": machines.socket_counters(port_of(host))["dropped"], "strays": int(strays)}
        for thread in threads
        for host, strays in zip(thread.hosts, thread.rig.host_strays, strict=True)
    }
    recording.offloads = {name: machine.offloads for name, machine in machines.machines.items()}
    return recording
