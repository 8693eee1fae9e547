"""Worker of a lease that drives nodes of a plan: its inputs, samples, live changes."""

from __future__ import annotations

import mmap
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchestrator.live.datapath_options import NIC_STAMPS
from orchestrator.targets.software.worker_process import Worker
from orchestrator.targets.software.worker_stages import CHANGE, HALT
from orchestrator.testbed.agent.agent_messages import Change, Changed, Deploy, Rows
from orchestrator.testbed.agent.hardware_timestamps import open_clock
from orchestrator.testbed.agent.probe_frames import open_on
from orchestrator.testbed.agent.worker_supervisor import SupervisedWorker
from orchestrator.testbed.wire.envelope import CHUNK, Unacceptable

JOB = "orchestrator.targets.software.hosted_nodes_job:host"
PACE = "tailback-pace"
PACE_OCTETS = 16
"""Per thread."""


class NodeWorker(SupervisedWorker):
    """Nodes of one plan in a worker process. `changed` is called after every change."""

    what = "the data-path process"

    def __init__(self, wanted: Deploy, spool: Path, changed: Callable[[], None]) -> None:
        super().__init__(changed)
        self._columns: list[list[int]] = []
        self._rows = 0
        try:
            self._start(wanted, spool)
        except BaseException:
            self.close()
            raise

    def _start(self, wanted: Deploy, spool: Path) -> None:
        nodes: dict[str, dict[str, str]] = {}
        for port, nic in wanted.ports.items():
            node = next((n for n in wanted.nodes if port.startswith(n + ".")), None)
            if node is None:
                raise Unacceptable("port", f"{port} is a port of none of the nodes")
            nodes.setdefault(node, {})[port] = nic
        outside: dict[str, dict[str, Any]] = {}
        for node, ports in nodes.items():
            raw = open_on(list(ports.values()), wanted.hears.get(node))
            self._open.append(raw)
            indices = {port: socket.if_nametoindex(nic) for port, nic in ports.items()}
            outside[node] = {"socket": raw.fileno(), "ports": indices}
        clocks: dict[str, int] = {}
        if wanted.stamps == NIC_STAMPS:
            for port, nic in wanted.ports.items():
                clocks[port] = open_clock(nic)
                self._open.append(clocks[port])
        self.pace = self._pace(wanted)
        self._live = os.memfd_create("tailback-live", os.MFD_CLOEXEC)
        self._open.append(self._live)
        spool.mkdir(parents=True, exist_ok=True, mode=0o700)
        spec = {
            "plan": wanted.plan,
            "nodes": wanted.nodes,
            "ports": outside,
            "threads": wanted.threads,
            "first": wanted.pace.first,
            "of": wanted.pace.threads,
            "pace": self.pace,
            "live": self._live,
            "holds": wanted.pace.holds,
            "crowded": wanted.pace.crowded,
            "core": wanted.pace.core,
            "speed": wanted.ps_per_us,
            "spool": str(spool),
            "stamps": wanted.stamps,
            "launch": wanted.launch,
            "why": wanted.why,
            "clocks": clocks,
        }
        sockets = [there["socket"] for there in outside.values()]
        handed = [*sockets, *clocks.values(), self.pace, self._live]
        self._begin(Worker(JOB, spec, handed=handed))

    def _pace(self, wanted: Deploy) -> int:
        """The memory that the paced threads share: new, or that of another agent's."""
        size = PACE_OCTETS * wanted.pace.threads
        if wanted.pace.holder is None:
            handle = os.memfd_create(PACE, os.MFD_CLOEXEC)
            os.ftruncate(handle, size)
            with mmap.mmap(handle, size) as memory:
                held = bytes(size // 2)
                memory[:] = held + struct.pack("q", -(2**62)) * (size // 16)
        else:
            path = f"/proc/{wanted.pace.holder[0]}/fd/{wanted.pace.holder[1]}"
            try:
                if not os.readlink(path).startswith(f"/memfd:{PACE}"):  # nothing else is opened
                    raise Unacceptable("pace", "what was named is no shared clock of this run")
                handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except OSError as error:
                raise Unacceptable("pace", f"no shared clock there: {error.strerror}") from None
            shared = os.readlink(f"/proc/self/fd/{handle}").startswith(f"/memfd:{PACE}")
            if not shared or os.fstat(handle).st_size != size:
                os.close(handle)
                raise Unacceptable("pace", "what was named is no shared clock of this run")
        self._open.append(handle)
        return handle

    def _news(self, more: dict[str, Any]) -> None:
        self._columns = more.get("columns", self._columns)
        self._rows = more.get("rows", self._rows)
        if CHANGE in more:
            self.changes.append(Changed(**more[CHANGE]))

    def change(self, wanted: Change) -> None:
        """Request a live change from the worker; its answer is among `changes` later."""
        self.order((CHANGE, wanted.change, wanted.number, wanted.step, wanted.at_ps))

    def halt(self) -> None:
        """End the run now; what was measured can be collected."""
        self.order((HALT,))

    def rows(self, after: int) -> tuple[Rows, bytes] | None:
        """The samples behind row `after`, as many as go into a payload; None: nothing new."""
        if not self._rows or not self._columns:
            return None
        with (
            mmap.mmap(self._live, 0, prot=mmap.PROT_READ) as memory,
            memoryview(memory) as octets,
            octets.cast("q") as words,
        ):
            return self._new(words, after + 1)

    def _new(self, words: memoryview, first: int) -> tuple[Rows, bytes] | None:
        threads = len(self._columns)
        each = len(words) // threads if self._exact(words) else 0
        across = each // self._rows  # one word for the time, then the columns
        if across < 2:
            return None
        low, high = first, self._rows  # the first row that some thread has not taken yet
        while low < high:
            middle = (low + high) // 2
            if all(words[place * each + middle] >= 0 for place in range(threads)):
                low = middle + 1
            else:
                high = middle
        count = min(low - first, max(CHUNK // (8 * across * threads), 1))
        if count <= 0:
            return None
        parts = [words[first : first + count]]
        for place in range(threads):
            start = place * each + self._rows + first * (across - 1)
            parts.append(words[start : start + count * (across - 1)])
        header = Rows(first=first, count=count, columns=across - 1, owned=self._columns)
        return header, b"".join(part.tobytes() for part in parts)

    def _exact(self, words: memoryview) -> bool:
        return len(words) % (len(self._columns) * self._rows) == 0
