"""Rig of a thread: the sockets, wires and scratch memory that the real-time loop works with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator.engine.datapath.error_queue import Errors
from orchestrator.engine.datapath.frame_guard import Guard
from orchestrator.engine.datapath.mac_learning import Learning
from orchestrator.engine.datapath.mmsg_batch import Batch
from orchestrator.engine.datapath.neighbour_replies import Neighbours
from orchestrator.engine.datapath.xdp_socket_io import Rings


class Rig(NamedTuple):
    """Sockets and wires of one thread's nodes."""

    backend: np.ndarray  # int64[1]: PACKET or XDP, see orchestrator.engine.datapath.port_backend
    sockets: np.ndarray  # int64[k]: descriptors, one per host; -1 where it has rings
    rings: Rings
    polled: np.ndarray  # int64[k + h]: sockets, then host sockets, for `syscalls.look`
    wires: np.ndarray  # int64[n, 3]: socket, interface (row of outgoing.names), port row; by socket
    port_rows: np.ndarray  # int64[k, m]: port row by socket and interface index less `first`
    wire_rows: np.ndarray  # int64[k, m]: wire by socket and interface index, likewise
    tally: np.ndarray  # int64[n, 8]: see orchestrator.engine.datapath.link_counters
    guard: Guard
    latest: np.ndarray  # int64[2, n, flows]: highest sequence sent and received by wire and flow
    incoming: Batch
    arrivals: np.ndarray  # int64[3]: see orchestrator.engine.datapath.arrival_times
    instants: np.ndarray  # int64[3, 2]: clocks of arrivals and of the run at three instants
    waits: np.ndarray  # histogram of what frames waited to be taken in (ps)
    clocks: np.ndarray  # int64[n, 8]: see orchestrator.engine.datapath.phc_mapping
    departures: np.ndarray  # int64[7]: see orchestrator.engine.datapath.departure_times
    left: np.ndarray  # int64[rows, 8]: frames whose times of departure are awaited, likewise
    late: np.ndarray  # histogram of departures' lateness (ps), where it is known
    errors: Errors
    launches: np.ndarray  # int64[3]: see orchestrator.engine.datapath.launch_time
    launched: np.ndarray  # int64[n]: 1 where a wire's frames have launch times
    outgoing: Batch
    lateness: np.ndarray  # histogram (orchestrator.engine.histogram)
    stamp: np.ndarray  # int64[2]: scratch of the clock
    start_ns: np.ndarray  # int64[1]: CLOCK_MONOTONIC at time 0
    thread: np.ndarray  # int64[1]: this thread's number
    turn: np.ndarray  # int64[4]: see orchestrator.engine.datapath.emulation_clock
    horizon: np.ndarray  # int64[1]: ps that a turn may run ahead
    held: np.ndarray  # int64[threads], shared: ps that each thread has held the clock back
    progress: np.ndarray  # int64[threads], shared: ps up to which each thread has come
    host_sockets: np.ndarray  # int64[h]: descriptors of host ports; their wires follow the others
    host_flows: np.ndarray  # int64[h, n]: flows of their nodes' programs; NONE
    host_incoming: Batch
    host_outgoing: Batch
    host_strays: np.ndarray  # int64[h]: frames of programs that go nowhere
    first: np.ndarray  # int64[k]: the least interface index of each socket
    speed: np.ndarray  # int64[1]: ps of the run per us of this machine's clock
    rate_ppb: np.ndarray  # int64[1]: by how much the clock of the run is faster than this one's
    learning: Learning
    neighbours: Neighbours
    gives_way: np.ndarray  # int64[1]: 1 when more threads than cores take turns
    stalled: np.ndarray  # int64[18]: see orchestrator.engine.datapath.stall_detection
    stalls: np.ndarray  # int64[rows, 10]: turns that took long, likewise
    usage: np.ndarray  # int64[18]: scratch for what the kernel says of this thread
    schedstat: np.ndarray  # uint8[64]: likewise
