"""I/O state of one data path thread: sockets, batches, scratch arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import CLOCK_REALTIME

import numpy as np

from orchestrator.assembly import Assembly
from orchestrator.assembly.route_tables import flood_ports
from orchestrator.engine.datapath import (
    arrival_times,
    departure_times,
    launch_time,
    phc_mapping,
    stall_detection,
)
from orchestrator.engine.datapath.emulation_clock import NS_PER_US, REAL_TIME
from orchestrator.engine.datapath.error_queue import error_messages
from orchestrator.engine.datapath.host_port_io import HOST_BATCH
from orchestrator.engine.datapath.link_counters import WORDS
from orchestrator.engine.datapath.mac_learning import Learning, empty_stations, no_learning
from orchestrator.engine.datapath.mmsg_batch import receiver, sender
from orchestrator.engine.datapath.packet_socket_io import poll_words
from orchestrator.engine.datapath.rig import Rig
from orchestrator.engine.histogram import new_histogram
from orchestrator.engine.records import NEVER, NONE, PORT_SETS, PROGRAMS
from orchestrator.plan import Switch
from orchestrator.targets.software.borrowed_nics import BorrowedMachine
from orchestrator.targets.software.link_guards import LinkGuards, no_guard
from orchestrator.targets.software.neighbour_tables import neighbours_of
from orchestrator.targets.software.network_namespaces import FIRST_INTERFACE, Machines, port_of
from orchestrator.targets.software.packet_backends import PACKETS, Backend

RECEIVE_BATCH = 32
SETS = 1024
"""Of the stations that the switches of a thread know: 8 times as many."""
FREE_RUNNING_PS = 10**18
"""Horizon of a clock that is never held back, however late the threads are."""
LEAST_HORIZON_PS = 10**6
"""Some turns of an idle loop, in the machine's time: a clock that may run ahead by less hardly
moves."""


def horizon_of(asked_ps: int, speed: int) -> int:
    """Horizon of a run's clock (ps of the run), from the horizon that its plan allows.

    A run that is slower than real time takes as little of the machine's time for it as one that is
    not, and so less of its own: no waiter for its clock is in real time, and the delay of a
    stall is dropped from the clock instead.
    """
    slowed = min(speed, REAL_TIME)
    return max(asked_ps * slowed // REAL_TIME, LEAST_HORIZON_PS * slowed // REAL_TIME, 1)


@dataclass
class Shared:
    """State shared by the threads of a run."""

    horizon_ps: int
    held: np.ndarray
    progress: np.ndarray
    speed: int = REAL_TIME
    guards: LinkGuards | None = None
    """Guards of the run's links; None: its frames have no check words."""

    @property
    def horizon_ns(self) -> int:
        """The horizon in the machine's time; none where the clock is never held back."""
        free = self.horizon_ps >= FREE_RUNNING_PS
        return 0 if free else self.horizon_ps * NS_PER_US // self.speed

    @classmethod
    def of(cls, threads: int, horizon_ps: int, speed: int = REAL_TIME) -> Shared:
        """Shared state at the start of a run; `speed` in ps of it per us."""
        horizon_ps = horizon_of(horizon_ps, speed)
        held, progress = np.zeros(threads, np.int64), np.full(threads, -NEVER, np.int64)
        return cls(horizon_ps, held, progress, speed)


def wires_of(local: dict[str, tuple[str, int]], hosts: Sequence[str]) -> list[str]:
    """The ports of these hosts in the order of their wires. `local` maps a port to its host
    and its number there; a host is the emulated machine of a node or its named interfaces."""
    mine = [
        (hosts.index(host), number, port) for port, (host, number) in local.items() if host in hosts
    ]
    return [port for _, _, port in sorted(mine)]


def build(
    assembly: Assembly,
    machines: Machines,
    local: dict[str, tuple[str, int]],
    hosts: Sequence[str],
    thread: int,
    shared: Shared,
    programs: Sequence[str] = (),
    backend: Backend = PACKETS,
) -> Rig:
    """The rig of thread number `thread`, which drives what is on `hosts`; `programs` are those of
    its nodes that programs run on. Its ports are opened by `backend`."""
    world = assembly.world
    wired = wires_of(local, hosts)
    rows = assembly.indices.port_rows
    indices = [machines.machines[host].interfaces or [FIRST_INTERFACE] for host in hosts]
    first = [min(mine) for mine in indices]
    span = 1 + max((max(mine) - min(mine) for mine in indices), default=0)
    every = sorted({index for mine in indices for index in mine})
    port_rows = np.zeros((len(hosts), span), np.int64)
    wire_rows = np.zeros((len(hosts), span), np.int64)
    wires = np.zeros((len(wired), 3), np.int64)
    placed = []
    for wire, port in enumerate(wired):
        host, number = local[port]
        socket = hosts.index(host)
        index = indices[socket][number]
        placed.append((socket, index))
        wires[wire] = (socket, every.index(index), rows[port])
        port_rows[socket, index - first[socket]] = rows[port]
        wire_rows[socket, index - first[socket]] = wire
        borrowed = machines.machines[host]
        if isinstance(borrowed, BorrowedMachine) and port in borrowed.next_hops:
            world.ports["next_hop"][rows[port]] = borrowed.next_hops[port]
    host_ports = [machines.open(port_of(name)).fileno() for name in programs]
    incoming = receiver(world.octets, RECEIVE_BATCH)
    opened = backend.open(machines, hosts, first, placed, incoming)
    asked = np.zeros(arrival_times.WORDS, np.int64)
    times = backend.times
    owners = [hosts[socket] for socket, _ in placed]
    clocks = np.zeros((len(wired), phc_mapping.CLOCKS), np.int64)
    if times is not None:
        asked[arrival_times.REQUESTED], asked[arrival_times.CLOCK] = 1, CLOCK_REALTIME
        clocks[:, phc_mapping.WORD] = [times.word(owner) for owner in owners]
    leave = np.zeros(departure_times.WORDS, np.int64)
    leave[departure_times.REQUESTED] = int(times is not None and times.departures)
    launched = np.array([times is not None and one in times.launched for one in owners], np.int64)
    launch = np.zeros(launch_time.WORDS, np.int64)
    if launched.any():
        launch[launch_time.LEAD] = shorten(world.ports, wires[launched == 1, 2], shared.speed)
    return Rig(
        backend=np.array([backend.number], np.int64),
        sockets=np.array(opened.sockets, np.int64),
        rings=opened.rings,
        polled=poll_words([*opened.sockets, *host_ports]),
        wires=wires,
        port_rows=port_rows,
        wire_rows=wire_rows,
        tally=np.zeros((len(wired), WORDS), np.int64),
        guard=no_guard(len(wired)) if shared.guards is None else shared.guards.wired(wired),
        latest=np.full((2, len(wired), len(world.flows)), NONE, np.int64),
        incoming=incoming,
        arrivals=asked,
        instants=np.zeros((3, 2), np.int64),
        waits=new_histogram(),
        clocks=clocks,
        departures=leave,
        left=np.full(
            (
                departure_times.ROWS if leave[departure_times.REQUESTED] else 1,
                departure_times.COLUMNS,
            ),
            NONE,
        ),
        late=new_histogram(),
        errors=error_messages(RECEIVE_BATCH),
        launches=launch,
        launched=launched,
        outgoing=sender(world.octets, world.outbox.shape[1], every),
        lateness=new_histogram(),
        stamp=np.zeros(2, np.int64),
        start_ns=np.zeros(1, np.int64),
        thread=np.array([thread], np.int64),
        turn=np.array([-NEVER, 0, 0, 0], np.int64),
        horizon=np.array([shared.horizon_ps], np.int64),
        held=shared.held,
        progress=shared.progress,
        host_sockets=np.array(host_ports, np.int64),
        host_flows=_flows_of(assembly, programs),
        host_incoming=receiver(world.octets, HOST_BATCH),
        host_outgoing=sender(world.octets, world.outbox.shape[1], [FIRST_INTERFACE]),
        host_strays=np.zeros(len(programs), np.int64),
        first=np.array(first, np.int64),
        speed=np.array([shared.speed], np.int64),
        rate_ppb=np.zeros(1, np.int64),
        learning=_learning(assembly),
        neighbours=neighbours_of(assembly),
        gives_way=np.zeros(1, np.int64),
        stalled=stall_detection.words(shared.horizon_ns),
        stalls=np.zeros((stall_detection.ROWS, stall_detection.COLUMNS), np.int64),
        usage=np.zeros(stall_detection.USAGE_WORDS, np.int64),
        schedstat=np.zeros(stall_detection.TEXT, np.uint8),
    )


def shorten(ports: np.ndarray, rows: np.ndarray, speed: int) -> int:
    """Take from the delay of launched ports by how much earlier their frames are handed over: so
    much (ps of the run). Such a link has been found
    long enough (`orchestrator.testbed.controller.timestamping`)."""
    lead = launch_time.LEAD_NS * speed // NS_PER_US
    ports["delay"][rows] -= lead
    return lead


def _learning(assembly: Assembly) -> Learning:
    """What the switches of the plan are to learn, and nothing that they know."""
    plan, world, indices = assembly.resolved.plan, assembly.world, assembly.indices
    found = no_learning(len(world.ports))
    floods = flood_ports(plan, indices)
    for place, row in enumerate(floods, len(world.ways) - len(floods)):
        node = plan.nodes[list(indices.nodes)[world.ports[row]["node"]]]
        assert isinstance(node, Switch)
        assert node.mac_learning is not None
        found.floods[row] = PORT_SETS - place
        found.rules[row] = node.mac_learning.ageing_time, node.mac_learning.longest_frame
    return found._replace(stations=empty_stations(SETS)) if floods else found


def _flows_of(assembly: Assembly, hosts: Sequence[str]) -> np.ndarray:
    """The rows of the flows that programs of each host send on, filled up with NONE."""
    flows = assembly.world.flows
    rows = [
        np.flatnonzero(
            (flows["mode"] == PROGRAMS) & (flows["node"] == assembly.indices.nodes[name])
        )
        for name in hosts
    ]
    table = np.full((len(hosts), max(map(len, rows), default=1)), NONE, np.int64)
    for host, mine in enumerate(rows):
        table[host, : len(mine)] = mine
    return table
