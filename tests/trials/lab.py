"""Machines of a testbed as network namespaces of one worker process, joined by veth cables.

Use it in a job of `orchestrator.targets.software.worker_process.run_job`: the worker is root in a
user
namespace of its own, and whatever is left of a lab goes away with it. Every host has an address of
its own on a cable to where the controller is; NICs are ordinary interfaces with ordinary names.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute

from orchestrator.run.partial_runs import partial_folders
from orchestrator.targets.software.linux_syscalls import enter_network
from orchestrator.targets.software.network_namespaces import Machines
from orchestrator.testbed import curve_keys

WAIT_S = 180.0
"""For what takes a moment; on a busy machine anything may take much longer."""
MARK = "TAILBACK_LAB"
"""In the environment of everything that a lab started, with a value of its own."""


def until(what: Callable[[], Any], why: str, within_s: float = WAIT_S) -> Any:
    """Wait for something to be true; its value."""
    end = time.monotonic() + within_s
    while not (found := what()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {within_s:g} s: {why}")
        time.sleep(0.02)
    return found


def ends_on_signals() -> None:
    """Have SIGTERM and SIGHUP end this program as SIGINT does: its temporary folder goes then."""

    def end(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


class Lab:
    """See the module. Everything it writes goes to `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex
        self.machines = Machines()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.hosts: list[str] = []
        self.nice = 0
        """Of what is started here, against the data paths: 10 gives those the cores that they would
        have on real machines, where only they raise their priority; 0 is quicker to answer."""
        self.shifts: dict[str, int] = {}
        """By how many seconds a host's clock is ahead."""
        self.runs = folder / "runs"
        """Where run folders go."""
        self.bed = folder / "lab.toml"
        self.cables: dict[str, tuple[str, str]] = {}
        self.shared = False
        """True where /dev/shm is of this lab alone."""
        with IPRoute() as netlink:
            netlink.link("set", index=1, state="up")
        (folder / "tmp").mkdir(parents=True, exist_ok=True)
        self.keys("controller")
        self.keys("user")
        curve_keys.authorise(self.keys("controller"), str(self.keys("user") / curve_keys.PUBLIC))
        public = str(self.keys("controller") / curve_keys.PUBLIC)
        curve_keys.authorise(self.keys("user"), public, kind=curve_keys.KNOWN)

    def keys(self, who: str) -> Path:
        """The folder of somebody's keys, made when it is not there."""
        folder = self.folder / "keys" / who
        if not (folder / curve_keys.OWN).exists():
            curve_keys.make(folder, who)
        return folder

    def host(self, name: str) -> None:
        """Add a machine, reachable from the controller."""
        self.hosts.append(name)
        number = len(self.hosts)
        machine = self.machines.add(name)
        with IPRoute() as netlink:
            peer = {"ifname": "ctl", "net_ns_fd": machine.descriptor}
            netlink.link("add", kind="veth", ifname=f"ctl{number}", peer=peer)
            _address(netlink, f"ctl{number}", f"10.77.{number}.1")
        with self.machines._inside(machine), IPRoute() as netlink:
            netlink.link("set", index=1, state="up")
            _address(netlink, "ctl", f"10.77.{number}.2")
        curve_keys.authorise(self.keys(name), str(self.keys("controller") / curve_keys.PUBLIC))

    def cable(self, left: str, right: str, mtu: int = 9000) -> None:
        """Join two NICs, "host:nic"."""
        (a, nic_a), (b, nic_b) = (end.split(":") for end in (left, right))
        far = {"ifname": nic_b, "mtu": mtu, "net_ns_fd": self.machines.machines[b].descriptor}
        with self.machines._inside(self.machines.machines[a]), IPRoute() as netlink:
            netlink.link("add", kind="veth", ifname=nic_a, mtu=mtu, peer=far)
        self.cables[f"c{len(self.cables) + 1}"] = (left, right)

    def wire(self, left: str, right: str, mtu: int = 9000) -> None:
        """Join two NICs, "host:nic", by a wire that can lose frames without either end noticing:
        a bridge between them, see `lose`."""
        name = f"wire{len(self.cables) + 1}"
        with IPRoute() as netlink:
            netlink.link("add", kind="bridge", ifname=name)
            inner = [name]
            for number, end in enumerate((left, right)):
                host, nic = end.split(":")
                far = {
                    "ifname": nic,
                    "mtu": mtu,
                    "net_ns_fd": self.machines.machines[host].descriptor,
                }
                inner.append(f"{name}-{number}")
                netlink.link("add", kind="veth", ifname=inner[-1], mtu=mtu, peer=far)
            bridge = netlink.link_lookup(ifname=name)[0]
            for one in inner:
                silent = Path(f"/proc/sys/net/ipv6/conf/{one}/disable_ipv6")
                if silent.exists():
                    silent.write_text("1")
                index = netlink.link_lookup(ifname=one)[0]
                if index != bridge:
                    netlink.link("set", index=index, master=bridge)
                netlink.link("set", index=index, mtu=mtu, state="up")
        self.cables[f"c{len(self.cables) + 1}"] = (left, right)

    def lose(self, losing: bool, number: int = 1) -> None:
        """Have a wire lose all frames, or none any more."""
        with IPRoute() as netlink:
            index = netlink.link_lookup(ifname=f"wire{number}")[0]
            netlink.link("set", index=index, state="down" if losing else "up")

    def address(self, name: str) -> str:
        """Where a host's agent listens."""
        return f"tcp://10.77.{self.hosts.index(name) + 1}.2:7010"

    def testbed(self, name: str = "lab", **nodes: list[str]) -> Path:
        """Write testbed.toml; which nodes belong on which host."""
        lines = [f'name = "{name}"']
        for host in self.hosts:
            public = curve_keys.own(self.keys(host)).public
            lines += [f"[machines.{host}]", f'address = "{self.address(host)}"']
            lines += [f'key = "{public}"', f"nodes = {json.dumps(nodes.get(host, []))}"]
        for cable, ends in self.cables.items():
            lines += [f"[cables.{cable}]", f"ends = {json.dumps(ends)}"]
        path = self.folder / f"{name}.toml"
        path.write_text("\n".join(lines) + "\n")
        return path

    def start(self, name: str, host: str | None, *arguments: str) -> subprocess.Popen[bytes]:
        """Start `tailback` on a host (None: where the controller is); its words go to a file."""
        where = self.machines._home if host is None else self.machines.machines[host].descriptor
        inside = Path(__file__).with_name("inside.py")
        shift = self.shifts.get(host or "", 0)
        command = [sys.executable, str(inside), str(where), str(shift), str(self.nice)]
        process = subprocess.Popen(
            [*command, sys.executable, "-m", "orchestrator.cli", *arguments],
            pass_fds=[where],
            stdout=(self.folder / f"{name}.out").open("wb"),
            stderr=(self.folder / f"{name}.err").open("ab"),
            stdin=subprocess.DEVNULL,
            env={
                **os.environ,
                MARK: self.mark,
                "XDG_CONFIG_HOME": str(self.folder / "none"),
                "TMPDIR": str(self.folder / "tmp"),
            },
        )
        self.processes[name] = process
        return process

    def agent(self, name: str, *more: str) -> subprocess.Popen[bytes]:
        """Start a host's agent."""
        state = self.folder / "state" / name
        options = ["--listen", self.address(name), "--name", name, "--keys", str(self.keys(name))]
        return self.start(name, name, "agent", *options, "--state", str(state), *more)

    def controller(self, bed: Path, port: int = 7011, name: str = "controller") -> str:
        """Start a controller; its address."""
        address = f"tcp://127.0.0.1:{port}"
        options = ["--listen", address, "--keys", str(self.keys("controller"))]
        self.start(name, None, "controller", str(bed), *options, "--out", str(self.runs))
        return address

    def run(self, plan: Path, *more: str, name: str = "run", port: int = 7011) -> str:
        """Start `tailback run --controller`; its name among the processes."""
        options = ["--controller", f"tcp://127.0.0.1:{port}", "--keys", str(self.keys("user"))]
        options += ["--out", str(self.runs)]  # where the controller has them: nothing to be fetched
        (self.folder / f"{name}.err").unlink(missing_ok=True)
        self.start(name, None, "run", str(plan), *options, "--json", "--no-report", *more)
        return name

    def ended(self, name: str, within_s: float = 600.0) -> tuple[int, dict[str, Any], str]:
        """Wait for a run: exit code, result, what it said."""
        process = self.processes.pop(name)
        try:
            code = process.wait(within_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        text = (self.folder / f"{name}.out").read_text()
        return code, json.loads(text) if text.startswith("{") else {}, self.said(name)

    def said(self, name: str) -> str:
        """What a process has said on stderr."""
        return (self.folder / f"{name}.err").read_text()

    def up(self, name: str = "controller") -> None:
        """Wait until the controller has all agents."""
        for host in self.hosts:
            until(
                lambda host=host: f"agent {host}: up" in self.said(name),
                f"agent {host} up: {self.said(name)}",
            )

    def kill(self, name: str) -> None:
        """SIGKILL."""
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def close(self) -> dict[str, int]:
        """End everything in good order; exit codes by name."""
        codes = {}
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.terminate()
        for name, process in self.processes.items():
            codes[name] = process.wait(WAIT_S)
        self.processes.clear()
        return codes

    def leftovers(self) -> dict[str, list[str]]:
        """What of a run is still there, by kind."""
        mine = os.getpid()
        kinds = ("workers", "interfaces", "sockets", "files", "leases", "runs")
        found: dict[str, list[str]] = {kind: [] for kind in kinds}
        found["runs"] = [str(path) for path in partial_folders(self.runs)]
        for folder in Path("/proc").iterdir():
            with suppress(OSError):
                if (
                    folder.name.isdigit()
                    and int(folder.name) != mine
                    and b"software.worker_main" in (folder / "cmdline").read_bytes()
                    and f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes()
                ):
                    found["workers"].append(folder.name)
        for name in self.hosts:
            with self.machines._inside(self.machines.machines[name]), IPRoute() as netlink:
                expected = {
                    end.split(":")[1]
                    for ends in self.cables.values()
                    for end in ends
                    if end.split(":")[0] == name
                } | {"lo", "ctl"}
                names = {link.get("ifname") for link in netlink.get_links()}
                found["interfaces"] += [f"{name}:{extra}" for extra in names ^ expected]
            found["sockets"] += self._packet_sockets(name)
            for kind, folder in (("files", "spool"), ("leases", "leases")):
                with suppress(FileNotFoundError):
                    left = os.listdir(self.folder / "state" / name / folder)
                    found[kind] += [f"{name}:{path}" for path in left]
        return found

    def _packet_sockets(self, name: str) -> list[str]:
        """Packet sockets in a host's namespace: those of NICs in use."""
        enter_network(self.machines.machines[name].descriptor)
        try:
            rows = Path("/proc/thread-self/net/packet").read_text().splitlines()[1:]
            return [f"{name}: {row.split()[-1]}" for row in rows]
        finally:
            enter_network(self.machines._home)


def _address(netlink: IPRoute, name: str, address: str) -> None:
    index = netlink.link_lookup(ifname=name)[0]
    netlink.addr("add", index=index, address=address, prefixlen=24)
    netlink.link("set", index=index, state="up")
