"""Jobs that the tests of the data path's backends run in a worker."""

from __future__ import annotations

import os
import time
from typing import Any

from orchestrator.targets.software.network_namespaces import Machines
from orchestrator.targets.software.packet_backends import PACKETS, Backend
from orchestrator.targets.software.xdp.privileged_setup import Grant
from orchestrator.targets.software.xdp.xdp_backend import Xdp

PAIRS = [(left, right) for left in ("packet", "xdp") for right in ("packet", "xdp")]
"""Backends of the sender and of the receiver."""
PORTS = 4
"""That go by AF_XDP, of these."""


def carry(control: Any, handed: Grant, stride: int) -> None:
    """Send frames (known octets and length) by order, for every pair of backends in turn; tell
    what arrived of each, and how it was counted."""
    from tests.orchestrator.targets.software.rigged import End

    machines = Machines()
    backends: dict[str, Backend] = {"packet": PACKETS, "xdp": Xdp(handed, stride)}
    ends = []
    for number, names in enumerate(PAIRS):
        here, there = f"left{number}", f"right{number}"
        machines.add(here)
        machines.add(there)
        machines.join(here, there)
        ends.append(
            [
                End(machines, host, backends[name])
                for host, name in zip((here, there), names, strict=True)
            ]
        )
    control.report("ready")
    while (frames := control.orders.get()) is not None:
        told = []
        for number, (near, far) in enumerate(ends):
            before = machines.socket_counters(f"right{number}")
            near.send([(0, known, length) for known, length in frames])
            came = far.take(len(frames))
            after = machines.socket_counters(f"right{number}")
            counted = {key: after[key] - before[key] for key in after}
            free = int(near.pool.clock[0].free), int(far.pool.clock[0].free)
            told.append((came, counted, near.rig.outgoing.state.tolist(), free))
        control.report(told)


def hold(control: Any, handed: Grant) -> None:
    """Have a program attached, and stay."""
    from tests.orchestrator.targets.software.rigged import End

    machines = Machines()
    machines.add("a")
    machines.add("b")
    machines.join("a", "b")
    End(machines, "b", Xdp(handed, 2048))
    network = os.readlink(f"/proc/self/fd/{machines.machines['b'].descriptor}")
    control.report(network)
    while True:
        time.sleep(1)


def overflow(control: Any, handed: Grant, frames: int) -> dict[str, Any]:
    """Send more than the receiver's rings hold while it looks away; what it then has, how it was
    counted, and whether it takes frames again."""
    from tests.orchestrator.targets.software.rigged import End

    machines = Machines()
    machines.add("a")
    machines.add("b")
    machines.join("a", "b")
    backend = Xdp(handed, 2048)
    near, far = (End(machines, name, backend) for name in "ab")
    octets = bytes.fromhex("025442000002 025442000001 88b5") + bytes(46)
    for _ in range(0, frames, 100):
        near.send([(0, octets, 60)] * 100)
    first = machines.socket_counters("b")
    losses = machines.losses()
    entries = int(far.rig.rings.rings[0, 0, 4])
    came = len(far.take(entries)) + len(far.take(frames, 0.2))  # all that there is, and no more
    near.send([(0, octets, 60)] * 100)
    return {
        "first": first,
        "losses": losses,
        "came": came,
        "again": len(far.take(100)),
        "counters": machines.socket_counters("b"),
        "entries": entries,
        "unsent": near.rig.outgoing.state.tolist(),
    }


def queues(control: Any, handed: Grant) -> list[list[int]]:
    """Send through each of two queues of a port; the lengths that its peer takes, and what became
    of a frame on a queue that has no socket of ours there."""
    from tests.orchestrator.targets.software.rigged import End

    machines = Machines()
    machines.add("a")
    machines.add("b")
    machines.join("a", "b", queues=2)
    backend = Xdp(handed, 2048)
    near, far = (End(machines, name, backend) for name in "ab")
    octets = bytes.fromhex("025442000002 025442000001 88b5") + bytes(46)
    told = []
    for queue in range(2):
        near.rig.rings.sender[0] = queue
        near.send([(0, octets, 60 + queue), (0, octets, 70 + queue)])
        told.append([length for _, length, _ in far.take(2)])
    return told


def down(control: Any, handed: Grant) -> dict[str, Any]:
    """Send through an interface that is down, and once more when it is up again."""
    from pyroute2 import IPRoute

    from tests.orchestrator.targets.software.rigged import End

    machines = Machines()
    machines.add("a")
    machines.add("b")
    machines.join("a", "b")
    backend = Xdp(handed, 2048)
    near, far = (End(machines, name, backend) for name in "ab")
    octets = bytes.fromhex("025442000002 025442000001 88b5") + bytes(46)
    free = int(near.pool.clock[0].free)
    with machines.inside("a"), IPRoute() as netlink:
        netlink.link("set", index=2, state="down")
    near.send([(0, octets, 60)] * 3)
    unsent, back = int(near.rig.outgoing.state[3]), int(near.pool.clock[0].free)
    with machines.inside("a"), IPRoute() as netlink:
        netlink.link("set", index=2, state="up")
    machines._await_up(machines.machines["a"], 0)
    near.send([(0, octets, 61)])
    return {
        "unsent": unsent,
        "rows_back": back == free,
        "came": [length for _, length, _ in far.take(1)],
    }
