"""What a lab holds besides its runs: processes, namespaces, files, states of NICs, routes,
listening sockets, descriptors, threads of agents.

All of it is found by its place, and not by what it says of itself: processes are the lab's
descendants (it adopts those whose parents have ended), files are whatever lies in folders of the
lab's own, and namespaces are those that a descendant is in or has open.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute

from orchestrator.targets.software.linux_syscalls import enter_network
from orchestrator.testbed.agent import ethtool
from tests.trials.lab import Lab

PR_SET_CHILD_SUBREAPER = 36
KERNEL, LISTENS = 2, "0A"
"""`proto` of a route that the kernel made (RTPROT_KERNEL); state of a socket that listens."""
OF_KERNEL = (254, 255)
"""Tables in which the kernel makes routes, each to an interface: main and local."""
SHARED = Path("/dev/shm")
REST_S = 10.0
"""For a run's processes, files and sockets to go away; on a busy machine it takes a while."""


def adopt() -> None:
    """Have processes whose parents end become this process's."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


@dataclass(frozen=True)
class Footprint:
    """See the module."""

    things: dict[str, frozenset[str]]
    """Kind -> what there is of it."""
    descriptors: dict[str, int]
    """Process -> how many it has open."""
    threads: dict[str, int]
    """Agent -> its threads."""

    @classmethod
    def of(cls, lab: Lab) -> Footprint:
        """As it is now."""
        family = descendants()
        known = {process.pid: name for name, process in lab.processes.items()}
        strange = frozenset(_named(pid) for pid in family if pid not in known) - {""}
        return cls(
            {
                "process": strange,
                "zombie": frozenset(_zombies(set(known))),
                "namespace": frozenset().union(*(_namespaces(pid) for pid in (*family, "self"))),
                "file": frozenset(_files(lab)),
                "nic": frozenset(_nics(lab)),
                "route": frozenset(_routes(lab)),
                "socket": frozenset(_listening(lab)),
            },
            {name: _descriptors(pid) for pid, name in known.items()},
            {name: _threads(pid) for pid, name in known.items() if name in lab.hosts},
        )

    def new(self, before: Footprint) -> dict[str, list[str]]:
        """What of each kind is there now and was not before; of NICs, what is otherwise."""
        found = {kind: sorted(rows - before.things[kind]) for kind, rows in self.things.items()}
        return {kind: rows for kind, rows in found.items() if rows}


def descendants() -> list[int]:
    """Every process that came of this one and is alive."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            words = (entry / "stat").read_text().rpartition(")")[2].split()
            if words[0] != "Z":
                children[int(words[1])].append(int(entry.name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        mine = children[waiting.pop()]
        found += mine
        waiting += mine
    return found


def _zombies(parents: set[int]) -> set[str]:
    """Children of these processes that have ended and were not waited for."""
    found = set()
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            words = (entry / "stat").read_text().rpartition(")")[2].split()
            if words[0] == "Z" and int(words[1]) in parents:
                found.add(f"{entry.name} of {words[1]}")
    return found


def end_all() -> None:
    """End what is left of a lab that was closed."""
    for process in descendants():
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _named(process: int) -> str:
    with suppress(OSError):
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        return f"{process}: " + b" ".join(words).decode("utf-8", "replace")[:80].strip()
    return ""


def _namespaces(process: int | str) -> set[str]:
    """Network namespaces that a process is in, or keeps alive by a descriptor."""
    places = [f"/proc/{process}/ns/net"]
    with suppress(OSError):
        places += [f"/proc/{process}/fd/{name}" for name in os.listdir(f"/proc/{process}/fd")]
    found = set()
    for place in places:
        with suppress(OSError):
            if (where := os.readlink(place)).startswith("net:"):
                found.add(where)
    return found


def _files(lab: Lab) -> set[str]:
    found = set()
    for folder in (lab.folder / "state", lab.folder / "tmp"):
        for path in folder.rglob("*"):
            if not path.is_dir():
                found.add(str(path.relative_to(lab.folder)))
    if lab.shared:
        found |= {str(path) for path in SHARED.rglob("*")}
    return found


def _nics(lab: Lab) -> set[str]:
    """Of each NIC what a lease may have changed, one line per setting."""
    found = set()
    for name in lab.hosts:
        with lab.machines._inside(lab.machines.machines[name]), IPRoute() as netlink:
            for link in netlink.get_links():
                nic = link.get("ifname")
                state = {
                    "up": bool(ethtool.flags(nic) & ethtool.UP),
                    "mtu": link.get("mtu"),
                    "promiscuity": link.get("promiscuity"),
                    "master": link.get("master"),
                    "offloads": ethtool.offloads(nic),
                    "qdiscs": _qdiscs(netlink, link["index"]),
                    "addresses": _addresses(netlink, link["index"]),
                }
                silent = Path(f"/proc/sys/net/ipv6/conf/{nic}")
                with suppress(OSError):
                    state["ipv6 off"] = (silent / "disable_ipv6").read_text().strip()
                found |= {f"{name}:{nic} {key} = {value}" for key, value in state.items()}
    return found


def _qdiscs(netlink: IPRoute, index: int) -> list[str]:
    """Queue disciplines that were set: those of the kernel have the handle 0."""
    rows = netlink.get_qdiscs(index=index)
    return sorted(f"{row.get('kind')} {row['handle']:x}" for row in rows if row["handle"])


def _addresses(netlink: IPRoute, index: int) -> list[str]:
    """Addresses of IPv4: those of IPv6 come with a NIC that is up."""
    return sorted(
        str(row.get("address")) for row in netlink.get_addr(index=index, family=socket.AF_INET)
    )


def _routes(lab: Lab) -> set[str]:
    """Routes and rules of each host, but for those that the kernel made by itself."""
    found = set()
    for name in lab.hosts:
        with lab.machines._inside(lab.machines.machines[name]), IPRoute() as netlink:
            for kind, rows in (("route", netlink.get_routes()), ("rule", netlink.get_rules())):
                for row in rows:
                    if kind == "route" and _of_kernel(row):
                        continue
                    to = row.get("dst") or "any"
                    key = f"{row['family']} table {row['table']} type {row.get('type', '-')}"
                    found.add(f"{name}: {kind} {to}/{row['dst_len']} {key}")
    return found


def _of_kernel(route: Any) -> bool:
    """Return whether the kernel made a route for an address or for an interface that is up."""
    own = route["proto"] == KERNEL and route["table"] in OF_KERNEL
    return own and route.get("oif") is not None


def _listening(lab: Lab) -> set[str]:
    """TCP sockets that listen, of each host and of the controller."""
    found = set()
    places = {name: lab.machines.machines[name].descriptor for name in lab.hosts}
    for name, place in (places | {"controller": lab.machines._home}).items():
        enter_network(place)
        try:
            for table in ("tcp", "tcp6"):
                for row in Path(f"/proc/thread-self/net/{table}").read_text().splitlines()[1:]:
                    words = row.split()
                    if words[3] == LISTENS:
                        found.add(f"{name}: {words[1]}")
        finally:
            enter_network(lab.machines._home)
    return found


def _threads(process: int) -> int:
    with suppress(OSError):
        return len(os.listdir(f"/proc/{process}/task"))
    return 0


def _descriptors(process: int) -> int:
    with suppress(OSError):
        return len(os.listdir(f"/proc/{process}/fd"))
    return 0


class Watch:
    """What runs leave in a lab, beyond what was there before the first of them."""

    def __init__(self, lab: Lab) -> None:
        self._lab, self._before = lab, Footprint.of(lab)
        self._least: dict[str, dict[str, int]] = {}
        """Kind -> process -> count."""

    def warm(self) -> None:
        """Caches are filled: from here on no process may have more descriptors, or threads."""
        now = Footprint.of(self._lab)
        self._least = {"descriptor": now.descriptors, "thread": now.threads}

    def forget(self, name: str) -> None:
        """A process of that name is another one now."""
        for least in self._least.values():
            least.pop(name, None)

    def left(self) -> dict[str, list[str]]:
        """What is there that should not be, when nothing more of it goes away."""
        end = time.monotonic() + REST_S
        while True:
            now = Footprint.of(self._lab)
            found = now.new(self._before)
            counts = {"descriptor": now.descriptors, "thread": now.threads}
            for kind, least in self._least.items():
                more = [
                    f"{name}: {least[name]} -> {count}"
                    for name, count in counts[kind].items()
                    if count > least.get(name, count)
                ]
                if more:
                    found[kind] = more
            if not found or time.monotonic() > end:
                for kind, least in self._least.items():
                    self._least[kind] = counts[kind] | least
                return found
            time.sleep(0.1)
