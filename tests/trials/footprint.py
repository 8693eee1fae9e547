"""What a lab holds besides its runs: processes, namespaces, files, states of NICs, routes,
listening sockets, descriptors.

All of it is found by its place, and not by what it says of itself: processes are the lab's
descendants (it adopts those whose parents have ended), files are whatever lies in folders of the
lab's own, and namespaces are those that a descendant is in or has open.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pyroute2 import IPRoute

from orchestrator.targets.software.linux_syscalls import enter_network
from orchestrator.testbed.agent import ethtool
from tests.trials.lab import Lab

PR_SET_CHILD_SUBREAPER = 36
KERNEL, LISTENS = 2, "0A"
"""`proto` of a route that the kernel made (RTPROT_KERNEL); state of a socket that listens."""
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

    @classmethod
    def of(cls, lab: Lab) -> Footprint:
        """As it is now."""
        family = descendants()
        known = {process.pid: name for name, process in lab.processes.items()}
        strange = frozenset(_named(pid) for pid in family if pid not in known) - {""}
        return cls(
            {
                "process": strange,
                "namespace": frozenset().union(*(_namespaces(pid) for pid in (*family, "self"))),
                "file": frozenset(_files(lab)),
                "nic": frozenset(_nics(lab)),
                "route": frozenset(_routes(lab)),
                "socket": frozenset(_listening(lab)),
            },
            {name: _descriptors(pid) for pid, name in known.items()},
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
                }
                silent = Path(f"/proc/sys/net/ipv6/conf/{nic}")
                with suppress(OSError):
                    state["ipv6 off"] = (silent / "disable_ipv6").read_text().strip()
                found |= {f"{name}:{nic} {key} = {value}" for key, value in state.items()}
    return found


def _routes(lab: Lab) -> set[str]:
    """Routes and rules of each host, but for those that the kernel made by itself."""
    found = set()
    for name in lab.hosts:
        with lab.machines._inside(lab.machines.machines[name]), IPRoute() as netlink:
            for kind, rows in (("route", netlink.get_routes()), ("rule", netlink.get_rules())):
                for row in rows:
                    if kind == "route" and row["proto"] == KERNEL:
                        continue
                    to = row.get("dst") or "any"
                    key = f"{row['family']} table {row['table']} type {row.get('type', '-')}"
                    found.add(f"{name}: {kind} {to}/{row['dst_len']} {key}")
    return found


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


def _descriptors(process: int) -> int:
    with suppress(OSError):
        return len(os.listdir(f"/proc/{process}/fd"))
    return 0


class Watch:
    """What runs leave in a lab, beyond what was there before the first of them."""

    def __init__(self, lab: Lab) -> None:
        self._lab, self._before = lab, Footprint.of(lab)
        self._least: dict[str, int] = {}

    def warm(self) -> None:
        """Caches are filled: from here on no process may have more descriptors open."""
        self._least = Footprint.of(self._lab).descriptors

    def forget(self, name: str) -> None:
        """A process of that name is another one now."""
        self._least.pop(name, None)

    def left(self) -> dict[str, list[str]]:
        """What is there that should not be, when nothing more of it goes away."""
        end = time.monotonic() + REST_S
        while True:
            now = Footprint.of(self._lab)
            found = now.new(self._before)
            more = [
                f"{name}: {self._least[name]} -> {count}"
                for name, count in now.descriptors.items()
                if count > self._least.get(name, count)
            ]
            if more:
                found["descriptor"] = more
            if not found or time.monotonic() > end:
                self._least = now.descriptors | self._least if self._least else {}
                return found
            time.sleep(0.1)
