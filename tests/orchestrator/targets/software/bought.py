"""A bought switch for tests: a namespace of its own with a Linux bridge, or a forwarder that errs.

`attempt` is a job of `launch.run_job`: its worker is root in namespaces of its own, in which the
interfaces are that a run is given; everything goes away with it.
"""

from __future__ import annotations

import random
import select
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute

from orchestrator import python_command
from orchestrator.errors import TailbackError
from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from orchestrator.targets.software.dut import rx_sockets
from orchestrator.targets.software.dut.dut_probing import ETHER_TYPE
from orchestrator.targets.software.linux_syscalls import enter_network
from orchestrator.targets.software.network_namespaces import Machines
from orchestrator.targets.software.raw_sockets import ETH_P_ALL, PACKET_AUXDATA, SOL_PACKET
from orchestrator.testbed.agent import ethtool
from orchestrator.testbed.inventory import Testbed
from tests.patience import PATIENCE_S

PLAN = """
name = "bought"
duration = "0.5s"
[nodes."nic{1,2}"]
kind = "nic"
[nodes.sw]
kind = "external"
as = "switch"
[nodes.sink]
kind = "sink"
[links."up{1,2}"]
ends = ["nic{}", "sw"]
rate = "10Gb/s"
[links.down]
ends = ["sw", "sink"]
rate = "10Gb/s"
[traffic."gen{1,2}"]
plugin = "cbr"
from = "nic{}"
to = "sink"
frame = "1000B"
rate = "2Mb/s"
stop = "0.4s"
"""
"""100 frames of each source."""

PAUSE_TO = bytes.fromhex("0180c2000001 02deadbeef01 8808 0001")
VLAN_VALID = 1 << 4
IGNORE_OUTGOING = 23
SEED = 7


def cable(machines: Machines, device: str, name: str, inner: str, mtu: int) -> None:
    """A veth pair from here to a device's namespace; its end there may be narrower."""
    far = {"ifname": inner, "mtu": mtu, "net_ns_fd": machines.machines[device].descriptor}
    with IPRoute() as netlink:
        netlink.link("add", kind="veth", ifname=name, mtu=9000, peer=far)
    with machines.inside(device), IPRoute() as netlink:
        netlink.link("set", index=netlink.link_lookup(ifname=inner)[0], state="up")


def bridge(machines: Machines, device: str, inner: list[str], name: str = "br0") -> None:
    """A Linux bridge over the ends in a device."""
    with machines.inside(device), IPRoute() as netlink:
        netlink.link("add", kind="bridge", ifname=name)
        index = netlink.link_lookup(ifname=name)[0]
        for one in inner:
            netlink.link("set", index=netlink.link_lookup(ifname=one)[0], master=index)
        netlink.link("set", index=index, state="up")


def type_at(octets: bytes) -> int:
    """Where a frame's EtherType stands: behind its VLAN tags, if it has any."""
    at = 12
    while octets[at : at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    return at


def is_of(octets: bytes, kind: int) -> bool:
    """True if the frame has an EtherType."""
    at = type_at(octets)
    return octets[at : at + 2] == struct.pack("!H", kind)


def narrow(inner: str, mtu: int) -> None:
    """Give an interface of the calling thread's namespace an MTU."""
    with IPRoute() as netlink:
        netlink.link("set", index=netlink.link_lookup(ifname=inner)[0], mtu=mtu)


def shape(machines: Machines, device: str, inner: str, **settings: Any) -> None:
    """A token bucket (tc's tbf) before a port of a device."""
    with machines.inside(device), IPRoute() as netlink:
        index = netlink.link_lookup(ifname=inner)[0]
        netlink.tc("add", "tbf", index=index, handle=0x10000, **settings)


def only(kind: int) -> list[rx_sockets.Line]:
    """The filter for frames of a type, whose tag the kernel has taken already."""
    return [
        (rx_sockets.LOAD_HALF, 0, 0, 12),
        (rx_sockets.EQUAL, 1, 0, kind),
        (6, 0, 0, 0),
        (6, 0, 0, 65535),
    ]


class Forwarder(threading.Thread):
    """A learning switch in a device's namespace, which does to data frames what `err` says.

    `err(number, octets)` answers with [(seconds later, octets), ...] to be sent in its place.
    """

    def __init__(
        self,
        machines: Machines,
        device: str,
        inner: list[str],
        err: Callable,
        kind: int | None = None,
    ) -> None:
        """`kind` of the frames that it hears; None: all."""
        super().__init__(daemon=True)
        self.kind = kind
        self.namespace, self.inner, self.err = machines.machines[device].descriptor, inner, err
        self.stop, self.where, self.count = threading.Event(), dict[bytes, int](), 0
        self.waiting: list[tuple[float, int, bytes]] = []

    def run(self) -> None:
        enter_network(self.namespace)
        ports = []
        for name in self.inner:
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            raw.setsockopt(SOL_PACKET, IGNORE_OUTGOING, 1)
            raw.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            request = struct.pack("iHH8s", socket.if_nametoindex(name), 1, 0, b"")
            raw.setsockopt(SOL_PACKET, 1, request)  # PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC
            if self.kind is not None:
                rx_sockets._attach(raw, only(self.kind))
            raw.bind((name, ETH_P_ALL))
            ports.append(raw)
        while not self.stop.is_set():
            for raw in select.select(ports, [], [], 0.0005 if self.waiting else 0.05)[0]:
                self.take(ports, ports.index(raw), whole(raw))
            now = time.monotonic()
            for due in sorted(one for one in self.waiting if one[0] <= now):
                self.waiting.remove(due)
                with suppress(OSError):
                    ports[due[1]].send(due[2])
        for raw in ports:
            raw.close()

    def take(self, ports: list[socket.socket], port: int, octets: bytes) -> None:
        to, source = octets[:6], octets[6:12]
        if to[:5] == PAUSE_TO[:5]:
            if self.err is forwards_pauses:
                self.waiting += [(0.0, n, octets) for n in range(len(ports)) if n != port]
            return
        self.where[source] = port
        known = self.where.get(to) if not to[0] & 1 and self.err is not floods else None
        data = not is_of(octets, ETHER_TYPE) and not to[0] & 1
        self.count += data
        if self.err is strips:  # access ports: nobody's tag comes out
            octets = octets[:12] + octets[type_at(octets) :]
        replies = self.err(self.count, octets) if data else [(0.0, octets)]
        for later, each in replies:
            out = port if each[:5] == PAUSE_TO[:5] else known
            for there in range(len(ports)) if out is None else [out]:
                if there != port or out is not None:
                    self.waiting.append((time.monotonic() + later, there, each))


def whole(raw: socket.socket) -> bytes:
    """A frame with its VLAN tag, which the kernel tells beside it."""
    octets, beside, _, _ = raw.recvmsg(65536, 64)
    for level, kind, told in beside:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, _, _, _, _, tag, protocol = struct.unpack("IIIHHHH", told[:20])
            if status & VLAN_VALID:
                return octets[:12] + struct.pack("!HH", protocol or 0x8100, tag) + octets[12:]
    return octets


def loses(number: int, octets: bytes) -> list[tuple[float, bytes]]:
    """Every tenth frame."""
    return [] if number % 10 == 0 else [(0.0, octets)]


def errs(number: int, octets: bytes) -> list[tuple[float, bytes]]:
    """Of each ten frames one comes twice, one damaged, one 6 ms late; and one is paused for.

    A flow sends every 4 ms: what is late by that comes before the next frame or behind it.
    """
    if number % 10 == 1:
        return [(0.0, octets), (0.0, octets)]
    if number % 10 == 2:
        body = bytearray(octets)
        body[60] ^= 0xFF
        return [(0.0, bytes(body))]
    if number % 10 == 3:
        return [(0.006, octets)]
    if number % 10 == 4:
        return [(0.0, octets), (0.0, PAUSE_TO + struct.pack("!H", 1000) + bytes(42))]
    return [(0.0, octets)]


def is_slow(number: int, octets: bytes) -> list[tuple[float, bytes]]:
    """Everything takes 3 ms."""
    return [(0.003, octets)]


def strips(number: int, octets: bytes) -> list[tuple[float, bytes]]:
    """Takes the VLAN tag off every frame, probes included, as access ports do."""
    return [(0.0, octets)]


def loses_messages(number: int, octets: bytes) -> list[tuple[float, bytes]]:
    """CNMs do not pass it."""
    return [] if is_of(octets, 0x22E7) else [(0.0, octets)]


def doubles(number: int, octets: bytes) -> list[tuple[float, bytes]]:
    """One frame in ten comes twice."""
    return [(0.0, octets)] * (2 if number % 10 == 0 else 1)


def reorders(number: int, octets: bytes) -> list[tuple[float, bytes]]:
    """One frame in ten comes 12 ms later than it would."""
    return [(0.012 if number % 10 == 0 else 0.0, octets)]


def damages(number: int, octets: bytes) -> list[tuple[float, bytes]]:
    """A bit in one frame in ten is another one."""
    return [
        (0.0, octets[:70] + bytes([octets[70] ^ 4]) + octets[71:] if number % 10 == 0 else octets)
    ]


def demotes(number: int, octets: bytes) -> list[tuple[float, bytes]]:
    """Every priority becomes 0, where a tag has one."""
    if type_at(octets) == 12:
        return [(0.0, octets)]
    return [(0.0, octets[:14] + bytes([octets[14] & 0x1F]) + octets[15:])]


def forwards_pauses(number: int, octets: bytes) -> list[tuple[float, bytes]]:
    """PAUSE and PFC go on to the other ports, and hold nothing here."""
    return [(0.0, octets)]


def floods(number: int, octets: bytes) -> list[tuple[float, bytes]]:
    """Everything goes out of every other port, whatever it has learned."""
    return [(0.0, octets)]


def chatters(number: int, octets: bytes) -> list[tuple[float, bytes]]:
    """Of each ten frames three are lost, and behind another one comes LLDP of the device's own."""
    if number % 10 in (1, 3, 5):
        return []
    own = bytes.fromhex("0180c200000e 02deadbeef01 88cc 0207 04") + bytes(47)
    return [(0.0, octets), (0.0, own)] if number % 10 == 2 else [(0.0, octets)]


EVERY = (
    chatters,
    loses,
    errs,
    is_slow,
    strips,
    loses_messages,
    doubles,
    reorders,
    damages,
    demotes,
)
ERRORS = {one.__name__: one for one in (*EVERY, forwards_pauses, floods)}


def attempt(control: Any, text: str, told: dict[str, Any]) -> dict[str, Any]:
    """Run a plan through a device. `told`: "device" bridge or one of ERRORS, "mtu" of its ports,
    "shaped" ports of a bridge with their token buckets, "apart" ports that lead elsewhere,
    "cables" port=interface (e1, e2, ...), "addresses" and "ours" (MTUs) of interfaces.
    Returns the result or the error, what programs wrote, and how interfaces are then."""
    machines = Machines()
    device, names = machines.add("device").name, told.get("interfaces", ["e1", "e2", "e3"])
    random.seed(SEED)
    apart = told.get("apart", [])
    for name in names:
        cable(machines, device, name, f"b-{name}", told.get("mtu", 9000))
    inner = [f"b-{name}" for name in names if name not in apart]
    forwarder = None
    if told.get("device", "bridge") == "bridge":
        bridge(machines, device, inner)
        if told.get("elsewhere"):
            bridge(machines, device, [f"b-{name}" for name in apart], "br1")
        for name, settings in told.get("shaped", {}).items():
            shape(machines, device, f"b-{name}", **settings)
    else:
        forwarder = Forwarder(machines, device, inner, ERRORS[told["device"]])
        forwarder.start()
    with IPRoute() as netlink:
        for name, address in told.get("addresses", {}).items():
            index = netlink.link_lookup(ifname=name)[0]
            netlink.addr("add", index=index, address=address, prefixlen=24)
        for name, mtu in told.get("ours", {}).items():
            netlink.link("set", index=netlink.link_lookup(ifname=name)[0], mtu=mtu)
    before = {name: state(name) for name in names}
    found: dict[str, Any] = {}
    try:
        bed = Testbed().with_cables(told["cables"])
        done = run(Plan.load(text), target="software", testbed=bed, out=None)
        found["result"] = done.result
        found["wrote"] = {one.name: one.out.decode() for one in done.recording.programs}
    except TailbackError as error:
        found |= {"error": str(error), "exit": error.exit_code}
    finally:
        if forwarder is not None:
            forwarder.stop.set()
            forwarder.join()
    found["put back"] = {name: state(name) for name in names} == before
    found["left"] = keepers()
    return found


def killed(control: Any, text: str, folder: str) -> dict[str, Any]:
    """Begin a run through a bridge and kill it by SIGKILL; how the interfaces are then."""
    machines = Machines()
    device, names = machines.add("device").name, ["e1", "e2", "e3"]
    for name in names:
        cable(machines, device, name, f"b-{name}", 9000)
    bridge(machines, device, [f"b-{name}" for name in names])
    before = {name: state(name) for name in names}
    plan = Path(folder, "bought.toml")
    plan.write_text(text)
    cables = [
        word
        for port, name in zip(("nic1", "nic2", "sink"), names, strict=True)
        for word in ("--external", f"sw.{port}={name}")
    ]
    words = ("run", str(plan), "--target", "software", "--no-live", *cables)
    run_of_its_own = subprocess.Popen(
        python_command.module("orchestrator.cli", *words),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def until(reached: Callable[[], bool]) -> bool:
        end = time.monotonic() + PATIENCE_S
        while not reached() and time.monotonic() < end and run_of_its_own.poll() is None:
            time.sleep(0.02)
        return reached()

    found = {"set": until(lambda: all(state(name) != before[name] for name in names))}
    run_of_its_own.kill()
    run_of_its_own.wait()
    end = time.monotonic() + PATIENCE_S
    while keepers() and time.monotonic() < end:
        time.sleep(0.02)
    return found | {
        "put back": {name: state(name) for name in names} == before,
        "left": keepers(),
    }


def state(name: str) -> tuple[Any, ...]:
    """What a run may change of an interface."""
    silent = Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6")
    told = silent.read_text() if silent.exists() else None
    return bool(ethtool.flags(name) & ethtool.UP), ethtool.offloads(name), told


def keepers() -> int:
    """Processes that still keep interfaces of this namespace."""
    here = Path("/proc/self/ns/net").stat()
    count = 0
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with suppress(OSError):
                there = (process / "ns/net").stat()
                count += (
                    there == here and b"nic_guard_process" in (process / "cmdline").read_bytes()
                )
    return count
