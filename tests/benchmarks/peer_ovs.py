"""Open vSwitch as a peer: its user space data path between two ports of a network namespace.

A database and a switch of their own, in a folder of their own, told nothing by and telling nothing
to one that the machine may have; they end with the process that started them. All of it runs on one
core, with the priority that our workers take, and sleeps (SIGSTOP) while others are measured, for
its data path spins.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from orchestrator.targets.software.linux_syscalls import die_with_parent
from orchestrator.targets.software.realtime_scheduling import elevate

PROGRAMS = ("ovsdb-server", "ovsdb-tool", "ovs-vswitchd", "ovs-vsctl", "ovs-ofctl", "nsenter")
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
WAYS = {  # what a port's interface is told
    "ovs packet": [],
    "ovs xdp generic": ["type=afxdp", "options:n_rxq=1", "options:xdp-mode=generic"],
    "ovs xdp native": ["type=afxdp", "options:n_rxq=1", "options:xdp-mode=native"],
}
READY_S = 10.0


def lack() -> str | None:
    """What is missing; None: it can be had."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} not found (Debian: apt-get install openvswitch-switch)"
    if not SCHEMA.exists():
        return f"no {SCHEMA}"
    if os.geteuid() != 0:
        return "it is started as root"
    return None


class OpenVSwitch:
    """One switch that forwards from port p0 to p1 of the namespace behind `network`, a path."""

    def __init__(self, way: str, network: str, core: int) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tailback-ovs-"))
        self._processes: list[subprocess.Popen[bytes]] = []
        self._network = network
        self._had: dict[str, int] = {}
        try:
            self._start(way, core)
        except BaseException:
            self.close()
            raise

    def _start(self, way: str, core: int) -> None:
        data, socket = f"{self._folder}/conf.db", f"{self._folder}/db.sock"
        self._do("ovsdb-tool", "create", data, str(SCHEMA))
        self._run(core, "db", "ovsdb-server", data, f"--remote=punix:{socket}")
        self._await(Path(socket))
        to = ("ovs-vsctl", f"--timeout={READY_S:.0f}", f"--db=unix:{socket}")
        self._do(*to, "--no-wait", "init")
        self._run(core, "vs", "ovs-vswitchd", f"unix:{socket}")
        words = ["set", "Open_vSwitch", ".", f"other_config:pmd-cpu-mask={1 << core:#x}"]
        words += ["--", "add-br", "br", "--", "set", "bridge", "br", "datapath_type=netdev"]
        for port in ("p0", "p1"):
            words += ["--", "add-port", "br", port]
            words += ["--", "set", "interface", port, *WAYS[way]] if WAYS[way] else []
        self._do(*to, *words)
        said = self._do(*to, "--columns=name,error", "--format=csv", "list", "interface")
        wrong = [line for line in said.splitlines()[1:] if not line.endswith(",[]")]
        if wrong:
            raise RuntimeError(f"Open vSwitch, {way}: {'; '.join(wrong)}")
        flows = f"unix:{self._folder}/br.mgmt"
        self._do("ovs-ofctl", "del-flows", flows)
        self._do("ovs-ofctl", "add-flow", flows, "in_port=p0,actions=output:p1")
        self._do("ovs-ofctl", "add-flow", flows, "in_port=p1,actions=output:p0")

    def _run(self, core: int, short: str, *words: str) -> None:
        """Start a program that stays."""
        own = [f"--unixctl={self._folder}/{short}.ctl", f"--log-file={self._folder}/{short}.log"]

        def begin() -> None:
            die_with_parent(signal.SIGKILL)
            elevate()
            os.sched_setaffinity(0, {core})

        self._processes.append(
            subprocess.Popen(
                ["nsenter", f"--net={self._network}", *words, *own],
                env=self._environment(),
                preexec_fn=begin,
                start_new_session=True,  # whose priority is raised, too
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    def _do(self, *words: str) -> str:
        done = subprocess.run(
            words, env=self._environment(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{words[0]}: {done.stderr.strip()}")
        return done.stdout

    def _environment(self) -> dict[str, str]:
        folders = dict.fromkeys(("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"), str(self._folder))
        return os.environ | folders

    def _await(self, path: Path) -> None:
        end = time.monotonic() + READY_S
        while not path.exists():
            if time.monotonic() > end:
                raise RuntimeError(f"Open vSwitch: no {path.name} within {READY_S:g} s")
            time.sleep(0.01)

    @property
    def processes(self) -> list[int]:
        """Their numbers."""
        return [one.pid for one in self._processes]

    def had_s(self) -> float:
        """For how long its data path had a core since this was asked last."""
        had: dict[str, int] = {}
        for path in Path(f"/proc/{self._processes[-1].pid}/task").glob("*/schedstat"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                had[path.parent.name] = int(path.read_text().split()[0])
        self._had, before = had, self._had
        return sum(ns - before.get(thread, 0) for thread, ns in had.items()) / 1e9

    def sleep(self) -> None:
        """Let it stand still."""
        self._processes[-1].send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let it go on."""
        self._processes[-1].send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it, and remove its folder."""
        for one in reversed(self._processes):
            one.kill()
            one.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def version() -> str:
    """As it says itself."""
    told = subprocess.run(["ovs-vswitchd", "--version"], capture_output=True, text=True, check=True)
    return told.stdout.split("\n", 1)[0]
