"""Jobs that run a plan as the target does, and have somebody meddle with one of its links."""

from __future__ import annotations

import socket
import threading
from typing import Any

from pyroute2 import IPRoute

from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.targets.software import plan_job
from orchestrator.targets.software.network_namespaces import FIRST_INTERFACE, Machines
from orchestrator.targets.software.raw_sockets import ETH_P_ALL, PACKET_AUXDATA, SOL_PACKET
from tests.trials.relay import tagged

EVERY = 50


def duplicated(control: Any, text: str, pace: float) -> Recording:
    """Every so many frames that the NIC sends are sent again."""

    def meddle(machines: Machines) -> None:
        with machines._inside(machines.machines["nic"]):
            tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            tap.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            tap.bind(("p0", ETH_P_ALL))
        threading.Thread(target=_repeat, args=(tap,), daemon=True).start()

    return _distorted(meddle, control, text, pace)


def delayed(control: Any, text: str, pace: float) -> Recording:
    """A shaper lies behind the switch's interface to the sink, with room for all that waits."""

    def meddle(machines: Machines) -> None:
        with machines._inside(machines.machines["switch"]), IPRoute() as netlink:
            shaped = {"rate": "20mbit", "burst": 3000, "limit": 4_000_000}
            netlink.tc("add", "tbf", FIRST_INTERFACE + 1, 0x10000, parent=0xFFFFFFFF, **shaped)

    return _distorted(meddle, control, text, pace)


def narrowed(control: Any, text: str, pace: float) -> Recording:
    """The sink's interface takes frames of 1014 octets at most."""

    def meddle(machines: Machines) -> None:
        with machines._inside(machines.machines["sink"]), IPRoute() as netlink:
            netlink.link("set", index=FIRST_INTERFACE, mtu=1000)

    return _distorted(meddle, control, text, pace)


def _distorted(meddle: Any, control: Any, text: str, pace: float) -> Recording:
    honest = plan_job.join

    def join(plan: Plan, machines: Machines, devices: Any) -> dict[str, tuple[str, int]]:
        local = honest(plan, machines, devices)
        meddle(machines)
        return local

    plan_job.join = join
    return plan_job.run(control, text, False, pace)


def _repeat(tap: socket.socket) -> None:
    """Send some of what leaves again; what this socket sends does not come back to it."""
    seen = 0
    while True:
        frame, aside, _, address = tap.recvmsg(2048, 64)
        seen += address[2] == socket.PACKET_OUTGOING
        if address[2] != socket.PACKET_OUTGOING or seen % EVERY:
            continue
        tap.send(tagged(frame, aside))
