"""A Linux kernel that routes between two hosts of a run, in a namespace of its own, without static
neighbours. `attempt` is a job of `launch.run_job`."""

from __future__ import annotations

import select
import socket
import struct
import threading
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from orchestrator.assembly.row_index import Indices
from orchestrator.engine.frames.address_index import ip_text
from orchestrator.engine.frames.ipv6_header import ipv6_text
from orchestrator.errors import TailbackError
from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from orchestrator.targets.software.dut.dut_probing import tags_of
from orchestrator.targets.software.linux_syscalls import enter_network
from orchestrator.targets.software.network_namespaces import Machines
from orchestrator.targets.software.raw_sockets import ETH_P_ALL, PACKET_AUXDATA, SOL_PACKET
from orchestrator.testbed.inventory import Testbed
from tests.orchestrator.targets.software.bought import IGNORE_OUTGOING, cable, whole
from tests.patience import PATIENCE_S

LOOK_S = 0.05
OURS = bytes.fromhex("025442")
KNOWN = 0x02 | 0x04 | 0x08 | 0x10
"""NUD_REACHABLE, NUD_STALE, NUD_DELAY, NUD_PROBE (linux/neighbour.h)."""
NEIGHBOUR = {"base_reachable_time_ms": 20, "delay_first_probe_time": 0, "retrans_time_ms": 200}
"""So the router asks again, by unicast, while frames pass (NUD_PROBE)."""


def sysctl(name: str, value: int) -> None:
    """Set a value of this thread's network namespace."""
    Path("/proc/sys/net", name).write_text(str(value))


def forget_neighbours(netlink: IPRoute) -> None:
    """Delete the neighbours of this thread's namespace that have answered or asked."""
    for family in (socket.AF_INET, socket.AF_INET6):
        for one in netlink.get_neighbours(family=family):
            if one["state"] & KNOWN == 0:
                continue
            with suppress(NetlinkError):  # it is gone
                netlink.neigh("del", dst=one.get_attr("NDA_DST"), ifindex=one["ifindex"])


class VlanPort(threading.Thread):
    """A port of the router in some VLANs: it takes their tags off what comes by the cable, and puts
    them on what the router sends, as the kernel's VLAN interfaces do (not every kernel has them).
    Frames with other tags end there."""

    def __init__(self, namespace: int, outer: str, inner: str, tags: bytes) -> None:
        super().__init__(daemon=True)
        self.namespace, self.names, self.tags = namespace, (outer, inner), tags
        self.stop = threading.Event()

    def run(self) -> None:
        enter_network(self.namespace)
        ends = []
        for name in self.names:
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            raw.setsockopt(SOL_PACKET, IGNORE_OUTGOING, 1)
            raw.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            request = struct.pack("iHH8s", socket.if_nametoindex(name), 1, 0, b"")
            raw.setsockopt(SOL_PACKET, 1, request)  # PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC
            raw.bind((name, ETH_P_ALL))
            ends.append(raw)
        while not self.stop.is_set():
            for raw in select.select(ends, [], [], 0.05)[0]:
                octets = whole(raw)
                if raw is ends[1]:
                    ends[0].send(octets[:12] + self.tags + octets[12:])
                elif octets[12 : 12 + len(self.tags)] == self.tags:
                    ends[1].send(octets[:12] + octets[12 + len(self.tags) :])
        for raw in ends:
            raw.close()


class Tap(threading.Thread):
    """Frames of the router's interfaces, both ways, for a pcap file. The router forgets its
    neighbours when they have asked for it, which they do before a run: it has to ask for them."""

    def __init__(self, namespace: int, inner: list[str], path: str) -> None:
        super().__init__(daemon=True)
        self.namespace, self.inner, self.path = namespace, inner, path
        self.stop, self.ready = threading.Event(), threading.Event()

    def run(self) -> None:
        enter_network(self.namespace)
        raws = []
        for name in self.inner:
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
            raw.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            raw.bind((name, ETH_P_ALL))
            raws.append(raw)
        self.ready.set()
        with IPRoute() as netlink, Path(self.path).open("wb") as out:
            out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
            over = False
            while not over:
                over = self.stop.wait(LOOK_S)
                for raw in raws:
                    with suppress(BlockingIOError):
                        while True:
                            octets = whole(raw)
                            out.write(struct.pack("<IIII", 0, 0, len(octets), len(octets)) + octets)
                            if octets[:1] in (b"\xff", b"\x33") and octets[6:9] == OURS:
                                forget_neighbours(netlink)
        for raw in raws:
            raw.close()


def configure(machines: Machines, plan: Plan, told: dict[str, Any]) -> list[VlanPort]:
    """Addresses and routes of the router: a route to each address behind each of its ports. Returns
    its ports in the plan's VLANs."""
    found = []
    indices, headers = Indices(plan), plan.headers.options()
    six = headers.ip == 6
    family, prefix = (socket.AF_INET6, 128) if six else (socket.AF_INET, 32)
    text = ipv6_text if six else ip_text
    with machines.inside("router"), IPRoute() as netlink:
        sysctl("ipv4/ip_forward", 1)
        sysctl("ipv6/conf/all/forwarding", 1)
        sysctl("ipv6/conf/all/disable_ipv6", 0)
        netlink.link("set", index=1, state="up")
        for host, inner in (("h1", "b-e1"), ("h2", "b-e2")):
            index = netlink.link_lookup(ifname=inner)[0]
            if headers.tags:
                near, far = f"r-{host}", f"v-{host}"
                netlink.link("add", kind="veth", ifname=near, mtu=9000, peer={"ifname": far})
                for name in (far, near):
                    index = netlink.link_lookup(ifname=name)[0]
                    netlink.link("set", index=index, state="up", mtu=9000)
                tags = tags_of(headers)
                found.append(VlanPort(machines.machines["router"].descriptor, inner, far, tags))
            name = netlink.get_links(index)[0].get_attr("IFLA_IFNAME")
            for version, key in product(("ipv4", "ipv6"), NEIGHBOUR):
                sysctl(f"{version}/neigh/{name}/{key}", NEIGHBOUR[key])
            if host in told.get("mute", ()):
                continue
            flags = {"flags": 2} if six else {}  # IFA_F_NODAD
            address = text(indices.port_address(f"r.{host}"))
            netlink.addr("add", index=index, address=address, prefixlen=prefix, **flags)
            rows = [row for row, flow in enumerate(plan.flows()) if flow.node == host]
            for row in [*rows, indices.node_address(host)]:
                netlink.route("add", dst=f"{text(row)}/{prefix}", oif=index, family=family)
    return found


def attempt(control: Any, text: str, told: dict[str, Any]) -> dict[str, Any]:
    """Run a plan with hosts h1 and h2 through a router r. `told`: "pcap" (a path), "mute": hosts
    to whose cable the router has no address, "out": a folder for the run."""
    machines = Machines()
    device = machines.add("router").name
    for name in ("e1", "e2"):
        cable(machines, device, name, f"b-{name}", 9000)
    plan = Plan.load(text)
    ports = configure(machines, plan, told)
    tap = Tap(machines.machines[device].descriptor, ["b-e1", "b-e2"], told["pcap"])
    for thread in (*ports, tap):
        thread.start()
    tap.ready.wait(PATIENCE_S)
    found: dict[str, Any] = {}
    try:
        bed = Testbed().with_cables(["r.h1=e1", "r.h2=e2"])
        done = run(plan, target="software", testbed=bed, out=told.get("out"), report=False)
        found["result"] = done.result
    except TailbackError as error:
        found |= {"error": str(error), "exit": error.exit_code}
    finally:
        for thread in (*ports, tap):
            thread.stop.set()
            thread.join()
    with machines.inside(device):
        snmp = Path("/proc/net/snmp").read_text().split("\nIp: ")[1].split()
        found["forwarded"] = int(snmp[5])
    return found
