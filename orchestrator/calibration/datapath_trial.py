"""Trial: one small plan on the real data path in real time, next to observers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from orchestrator.assembly.recording_builder import Share
from orchestrator.calibration.packet_observer import ObservedFrames, Observer, Offset
from orchestrator.calibration.trial_links import VETH, ObserverPlacement, TrialLinks, close
from orchestrator.engine.datapath import stall_detection
from orchestrator.engine.datapath.realtime_loop import drive
from orchestrator.engine.records import NEVER
from orchestrator.errors import RunFailed
from orchestrator.plan import Plan
from orchestrator.recording import PortCapture
from orchestrator.registry import Registry
from orchestrator.targets.software.datapath_thread import Thread, start
from orchestrator.targets.software.network_namespaces import Machines
from orchestrator.targets.software.packet_backends import PACKETS, Backend
from orchestrator.targets.software.plan_job import join
from orchestrator.targets.software.thread_io import Shared

LEAD_NS = 30_000_000
FLOWING_S, FLOWING_POLL_S = 60.0, 0.001
"""How long the first frame may take to leave the counted port, and how often that is checked."""
QUIET_S = 0.02
"""After the end of a trial, until what is under way has arrived."""
FREE_PS = 10**18
"""A horizon that no trial comes to: its clock is never held back."""


@dataclass
class Outcome:
    """Result of a trial. Times of the run's clock count from `start_ns` of CLOCK_MONOTONIC."""

    start_ns: int
    seen: dict[str, ObservedFrames]
    lateness: np.ndarray
    """Histogram of departures (`orchestrator.engine.histogram`), its last word the longest."""
    captures: list[PortCapture]
    lost: int
    """Frames that an interface or a socket had no room for."""
    apart_ns: int
    """How well the kernel's clock of frames and the run's can be put beside each other."""
    stalled_share: float = 0.0
    """Of the time that the data path ran, the share (0 to 1) that its turns of 50 us and more took,
    of the thread with most: the machine had its core, or the load is more than a core carries."""
    counts: list[tuple[int, int]] = field(default_factory=list)
    """Time (ns) and frames that had left the counted port by then."""


def run_trial(
    plan: Plan,
    groups: Sequence[Sequence[str]],
    *,
    watches: Sequence[ObserverPlacement] = (),
    backends: Mapping[str, Backend] | None = None,
    horizon_ps: int = FREE_PS,
    counted: tuple[str, Sequence[float]] | None = None,
    ground: TrialLinks = VETH,
) -> Outcome:
    """Drive the groups of nodes, a core each, to the end of the plan; other nodes are namespaces
    that only an observer is in.

    `backends`: what carries the frames of the group with a node; packet sockets otherwise.
    `counted`: a port, and how many seconds after its first frame to read how many frames left it:
    the trial ends with the last reading. Raises RunFailed when no frame leaves it.
    """
    resolved = plan.check(Registry.load())
    machines = Machines()
    local = ground.join(resolved.plan, machines)
    shared = Shared.of(len(groups), horizon_ps)
    threads = []
    for number, nodes in enumerate(groups):
        backend = next((b for n, b in (backends or {}).items() if n in nodes), PACKETS)
        arguments = (resolved, machines, local, nodes, number, shared)
        threads.append(Thread(*arguments, outside=ground.outside(nodes), backend=backend))
    observers = {}
    for watch in watches:
        observers[watch.node] = Observer(ground.ring(machines, watch), watch.frames)
    before = Offset.now()
    start_ns = start(threads, LEAD_NS)
    counts = []
    if counted is not None:
        try:
            counts = _readings(threads, *counted)
        finally:
            for thread in threads:
                thread.assembly.world.clock[0].stop = 1
    for thread in threads:
        thread.join()
    ran_ns = time.monotonic_ns() - start_ns
    if any(thread.outcome != 0 for thread in threads):
        raise RunFailed("calibrate: a socket of the data path failed")
    time.sleep(QUIET_S)
    after = Offset.now()
    losses = machines.losses()
    offset = (before.ns + after.ns) // 2
    lateness = np.sum([thread.rig.lateness for thread in threads], axis=0)
    lateness[-1] = max(int(thread.rig.lateness[-1]) for thread in threads)
    outcome = Outcome(
        start_ns=start_ns,
        seen={node: observer.take(offset) for node, observer in observers.items()},
        lateness=lateness,
        captures=[c for t in threads for c in Share.of(t.assembly, t.nodes).captures],
        lost=losses["sockets"] + losses["interfaces"],
        stalled_share=max(int(t.rig.stalled[stall_detection.TIME_NS]) for t in threads) / ran_ns,
        apart_ns=abs(after.ns - before.ns) // 2 + max(before.apart_ns, after.apart_ns),
        counts=counts,
    )
    close(machines)
    return outcome


def _readings(
    threads: Sequence[Thread], port: str, looks: Sequence[float]
) -> list[tuple[int, int]]:
    """Time (ns) and frames that had left a port, so many seconds after its first frame."""
    owner = next(t for t in threads if port.partition(".")[0] in t.nodes)
    row = owner.assembly.world.ports[owner.assembly.indices.port_rows[port]]
    deadline = time.monotonic() + FLOWING_S
    while int(row["frames_out"]) == 0:
        if time.monotonic() > deadline:
            raise RunFailed(f"calibrate: no frame left {port} within {FLOWING_S:g} s")
        time.sleep(FLOWING_POLL_S)
    counts = []
    first = time.monotonic()
    for after_s in looks:
        time.sleep(max(first + after_s - time.monotonic(), 0))
        counts.append((time.monotonic_ns(), int(row["frames_out"])))
    return counts


def rehearse(plan: Plan) -> None:
    """Have the data path compiled, or loaded, before time counts: a trial of no length."""
    resolved = plan.check(Registry.load())
    machines = Machines()
    local = join(resolved.plan, machines)
    nodes = list(resolved.plan.nodes)
    thread = Thread(resolved, machines, local, nodes, 0, Shared.of(1, 0))
    drive(thread.assembly.world, thread.rig, -NEVER)
    machines.close()
