"""Worker job that holds a local testbed's network: namespaces joined by veth pairs.

It runs in a worker (orchestrator.targets.software.worker_process), in a user namespace of its own
where it
may. Nothing has a name outside: when it ends, and the agents with it, the kernel takes all away.
"""

from __future__ import annotations

import os
import socket
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from orchestrator.targets.software.isolation import Denied
from orchestrator.targets.software.network_namespaces import MTU, Machines


def hold(control: Any, names: list[str], cables: int, descriptor: int) -> None:
    """Make the machines and the cables from the first to the second; hand their namespaces out
    over the socket behind `descriptor` (the user namespace first); stay until the parent ends."""
    machines = Machines()
    made = [machines.add(name) for name in names]
    for machine in made:
        with machines._inside(machine), IPRoute() as netlink:
            netlink.link("set", index=1, state="up")
    left, right = made
    for number in range(1, cables + 1):
        with machines._inside(left), IPRoute() as netlink:
            nic = {"ifname": f"eth{number}", "mtu": MTU}
            try:
                netlink.link("add", kind="veth", peer=nic | {"net_ns_fd": right.descriptor}, **nic)
            except NetlinkError as no:
                raise Denied("veth pair", OSError(no.code, os.strerror(no.code))) from no
    user = os.open("/proc/self/ns/user", os.O_RDONLY)
    with socket.socket(fileno=descriptor) as far:
        socket.send_fds(far, [b"made"], [user, *(machine.descriptor for machine in made)])
        os.close(user)
    control.orders.get()  # none comes: the process ends with its parent
