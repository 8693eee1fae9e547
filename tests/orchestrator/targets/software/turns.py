"""Jobs that turn the loop of one node by hand, with raw sockets at its neighbours."""

from __future__ import annotations

import time
from typing import Any

from orchestrator.plan import Plan
from tests.patience import PATIENCE_S, eventually

FRAMES, LENGTH = 100, 200
BEHIND_NS = 5_000_000
LATE_PLAN_PS, LATE_LEAD_NS = 10**10, 30_000_000
PLAN: dict[str, Any] = {
    "name": "turns",
    "duration": 60 * 10**12,
    "sample_interval": 60 * 10**12,
    "nodes": {
        "nic": {"kind": "nic", "host_queue": 10**6},
        "switch": {"kind": "switch", "buffer": 10**6},
        "sink": {"kind": "sink"},
    },
    "links": {
        "up": {"ends": ["nic", "switch"], "rate": 10**9},
        "down": {"ends": ["switch", "sink"], "rate": 10**12},
    },
    "traffic": {
        "gen": {"plugin": "cbr", "from": "nic", "to": "sink", "frame": LENGTH, "rate": 10**9}
    },
}


def _thread(node: str, horizon_ps: int = 10**18, begun: bool = True) -> tuple[Any, Any]:
    """The thread of one node, its ports open, and all machines; not `begun`: as it is started."""
    from orchestrator.engine.datapath import port_backend
    from orchestrator.registry import Registry
    from orchestrator.targets.software.datapath_thread import Thread
    from orchestrator.targets.software.network_namespaces import Machines
    from orchestrator.targets.software.plan_job import join
    from orchestrator.targets.software.thread_io import Shared

    resolved = Plan(**PLAN).check(Registry.load())
    machines = Machines()
    local = join(resolved.plan, machines)
    thread = Thread(resolved, machines, local, [node], 0, Shared.of(1, horizon_ps))
    if begun:
        port_backend.begin(thread.assembly.world, thread.rig)
    return thread, machines


def _turn(thread: Any) -> int:
    from orchestrator.engine.datapath import realtime_loop

    return int(realtime_loop.loop_iteration(thread.assembly.world, thread.rig, thread.duration))


def burst(control: Any) -> list[tuple[int, int, int]]:
    """Frames wait at a switch when it begins; of each turn that took any in: how many, the frames
    that left, and the system calls that sent them. The last row has what arrived in all, and what
    the loop counted as taken in."""
    import numpy as np

    from orchestrator.engine.datapath import stall_detection
    from orchestrator.engine.datapath.mmsg_batch import UNSENT
    from orchestrator.engine.frames.descriptor_reset import empty_descriptors, reset_descriptor
    from orchestrator.engine.frames.frame_codec import encode
    from orchestrator.engine.records import DATA

    thread, machines = _thread("switch")
    world, rig = thread.assembly.world, thread.rig
    frame, flow = empty_descriptors(1)[0], world.flows[0]
    reset_descriptor(frame, DATA, LENGTH, flow.priority, 0, flow.source, flow.destination)
    octets = np.zeros(LENGTH, np.uint8)
    encode(world.types, frame, octets)
    rig.start_ns[0] = time.monotonic_ns() + 10**12
    _turn(thread)  # compiles, perhaps for longer than the plan lasts; it is long before the start
    rig.start_ns[0] = time.monotonic_ns()
    near = machines.open("nic")
    for _ in range(FRAMES):
        _send(near, octets.tobytes())
    eventually(  # the kernel delivers when it has a core
        lambda: machines.socket_counters("switch")["received"] >= FRAMES, "frames at the switch"
    )
    told = []
    end = time.monotonic() + PATIENCE_S
    while sum(taken for taken, _, _ in told) < FRAMES and time.monotonic() < end:
        before = _counts(rig)
        _turn(thread)
        taken, left, calls = (int(n) for n in _counts(rig) - before)
        if taken:
            told.append((taken, left, calls))
    assert rig.outgoing.state[UNSENT] == 0
    counted = int(rig.stalled[stall_detection.FRAMES])
    return [*told, (machines.interface_counters("sink")[0]["rx_packets"], counted, 0)]


def _counts(rig: Any) -> Any:
    """Frames taken in and put on wires so far, and calls that sent any."""
    import numpy as np

    from orchestrator.engine.datapath.link_counters import RECEIVED, SENT
    from orchestrator.engine.datapath.mmsg_batch import CALLS

    whole = rig.tally.sum(axis=0)
    return np.array([whole[RECEIVED], whole[SENT], rig.outgoing.state[CALLS]])


def _send(raw: Any, octets: bytes) -> None:
    """Through port 0, whose name means nothing in this thread's own namespace."""
    import ctypes
    import struct

    from orchestrator.targets.software.network_namespaces import FIRST_INTERFACE

    address = struct.pack("<HHiHBB8s", 17, 0, FIRST_INTERFACE, 0, 0, 6, bytes(8))
    library = ctypes.CDLL(None, use_errno=True)
    sent = library.sendto(raw.fileno(), octets, len(octets), 0, address, len(address))
    assert sent == len(octets)


def behind(control: Any) -> dict[str, int]:
    """A NIC begins when it should have sent for a while, more than all its outboxes hold: what
    one turn put on the wire, and what of it arrived."""
    from orchestrator.engine.datapath.mmsg_batch import UNSENT

    thread, machines = _thread("nic")
    world, rig = thread.assembly.world, thread.rig
    rig.start_ns[0] = time.monotonic_ns() + 10**12
    _turn(thread)  # compiles; it is long before the start
    rig.start_ns[0] = time.monotonic_ns() - BEHIND_NS
    rig.turn[0] = 0
    _turn(thread)
    return {
        "due": int(rig.progress[0]) // 1_600_000,  # 200 octets at 1 Gb/s
        "sent": int(rig.tally[:, 0].sum()),
        "arrived": machines.interface_counters("switch")[0]["rx_packets"],
        "unsent": int(rig.outgoing.state[UNSENT]),
        "room": world.outbox.shape[1],
        "left": int(world.outbox_count.sum()),
    }


def stood_still(control: Any, horizon_ps: int, seconds: float) -> dict[str, int]:
    """A NIC's loop does not go on for a while between two turns: the row that it logs, by name, and
    of how many rows of which floor it is one."""
    from orchestrator.engine.datapath import stall_detection
    from orchestrator.targets.software.realtime_scheduling import schedstat

    thread, _ = _thread("nic", horizon_ps)
    world, rig = thread.assembly.world, thread.rig
    rig.start_ns[0] = time.monotonic_ns() + 10**12
    _turn(thread)  # compiles; it is long before the start
    rig.start_ns[0] = time.monotonic_ns()
    rig.turn[0] = 0
    with schedstat() as rig.stalled[stall_detection.FILE]:
        stall_detection.begin_stall_detection(world, rig, time.monotonic_ns())
        _turn(thread)
        _turn(thread)
        number = int(rig.stalled[stall_detection.COUNT])
        time.sleep(seconds)
        _turn(thread)
    names = ("FROM_NS", "TO_NS", "FROM_PS", "TO_PS", "WORK", "AFTER", "SPAN_NS")
    names += ("SPAN_CPU_NS", "SPAN_SLEPT")
    row = rig.stalls[number]
    found = {name: int(row[getattr(stall_detection, name)]) for name in names}
    return found | {"more": int(rig.stalled[stall_detection.COUNT]) - number}


def stopped(control: Any, seconds: float) -> list[dict[str, int]]:
    """A thread drives a NIC, and the whole process is stopped for a while: the turns it logged."""
    import dataclasses
    import os

    from orchestrator.engine.datapath.realtime_loop import drive
    from orchestrator.engine.records import NEVER
    from orchestrator.targets.software.stall_log import log_of, rows_of, words_of

    rehearsal, _ = _thread("nic", begun=False)
    drive(rehearsal.assembly.world, rehearsal.rig, -NEVER)  # compiles
    thread, _ = _thread("nic", 30_000_000, begun=False)
    thread.rig.start_ns[0] = time.monotonic_ns()
    thread.start()
    while thread.rig.progress[0] <= 0:
        time.sleep(0.001)
    stop_process(os.getpid(), seconds)
    for _turns in range(2):  # a turn is logged at the beginning of the next one
        before = int(thread.rig.progress[0])
        eventually(lambda then=before: int(thread.rig.progress[0]) > then, "another turn")
    thread.assembly.world.clock[0].stop = 1
    thread.join()
    ran = time.monotonic_ns() - int(thread.rig.start_ns[0])
    log = log_of(thread.nodes, words_of(thread), rows_of(thread))
    return [dataclasses.asdict(turn) | {"ran_ns": ran} for turn in log.turns]


def late_thread(control: Any, late_s: float) -> dict[str, int]:
    """Two threads share a clock, and the second enters its loop so much later than the first:
    time 0 less the time at which it did (ns), and what of the run's clock was dropped (ps)."""
    from orchestrator.engine.datapath.realtime_loop import drive
    from orchestrator.engine.records import NEVER
    from orchestrator.registry import Registry
    from orchestrator.targets.software.datapath_thread import Thread, start
    from orchestrator.targets.software.network_namespaces import Machines
    from orchestrator.targets.software.plan_job import join
    from orchestrator.targets.software.thread_io import Shared

    class Late(Thread):
        entered_ns = 0

        def run(self) -> None:
            time.sleep(late_s)
            self.entered_ns = time.monotonic_ns()
            super().run()

    rehearsal, _ = _thread("nic", begun=False)
    drive(rehearsal.assembly.world, rehearsal.rig, -NEVER)  # compiles
    resolved = Plan(**PLAN | {"duration": LATE_PLAN_PS}).check(Registry.load())
    machines = Machines()
    local = join(resolved.plan, machines)
    shared = Shared.of(2, 10**13)
    groups = (Thread, ["nic"]), (Late, ["switch", "sink"])
    threads = [
        kind(resolved, machines, local, nodes, number, shared)
        for number, (kind, nodes) in enumerate(groups)
    ]
    start_ns = start(threads, LATE_LEAD_NS)
    for thread in threads:
        thread.join()
    late = threads[1]
    assert isinstance(late, Late)
    return {"after_ns": start_ns - late.entered_ns, "held_ps": int(shared.held.sum())}


def ended_thread(control: Any) -> str:
    """What `start` raises of a thread that ends before its loop."""
    from orchestrator.errors import RunFailed
    from orchestrator.targets.software.datapath_thread import start

    thread, _ = _thread("nic", begun=False)
    thread.run = lambda: None
    try:
        start([thread], 0)
    except RunFailed as error:
        return str(error)
    return ""


def stop_process(process: int, seconds: float) -> None:
    """Stop a process, which may be this one, for so long from when its last thread has stopped:
    each of them needs a core before it can.
    """
    import subprocess

    running = f"grep -L '^State:.T' /proc/{process}/task/*/status | grep -q ."
    script = f"kill -STOP {process}; while {running}; do sleep 0.001; done; "
    script += f"sleep {seconds}; kill -CONT {process}"
    subprocess.run(["sh", "-c", script], check=True)
