"""Programs of a run, worker's side: namespaces, supervisor process, output and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from orchestrator import python_command
from orchestrator.assembly.row_index import Indices
from orchestrator.engine.frames.address_index import ip_text, mac_text
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.recording import ProgramRun
from orchestrator.targets.software import soft_roce
from orchestrator.targets.software.isolation import Denied
from orchestrator.targets.software.network_namespaces import Machines, host_of

TAG_AND_ETHERNET = 18
ENDING_S = 5.0
HOST_INTERFACE = "p0"
"""Of a namespace of programs, which has one."""


def hosts_of(resolved: ResolvedPlan) -> dict[str, tuple[int, dict[str, str]]]:
    """Node -> MTU and settings of its programs' stack, for every end of traffic of programs.

    Of several entries that end at a node the smallest MTU counts, and ECN when one has it.
    """
    found: dict[str, tuple[int, dict[str, str]]] = {}
    for name, use in resolved.uses["traffic"].items():
        if not use.algorithm.programs:
            continue
        entry = resolved.plan.traffic[name]
        for end in dict.fromkeys(end for pair in entry.pairs for end in pair):
            mtu, settings = found.get(end, (entry.frame, {}))
            ecn = bool(getattr(use.params, "ecn", False)) or settings.get("tcp_ecn") == "1"
            settings = {"tcp_ecn": str(int(ecn))}
            found[end] = (min(mtu, entry.frame - TAG_AND_ETHERNET), settings)
    return found


def _remove(machines: Machines, node: str, name: str) -> None:
    with machines.inside(host_of(node)):
        soft_roce.remove(name)


def rdma_of(resolved: ResolvedPlan) -> list[str]:
    """The nodes whose programs have RDMA."""
    found: dict[str, None] = {}
    for name, use in resolved.uses["traffic"].items():
        if use.algorithm.programs and getattr(use.params, "rdma", False):
            found |= dict.fromkeys(
                end for pair in resolved.plan.traffic[name].pairs for end in pair
            )
    return list(found)


def addresses(plan: Plan) -> dict[str, tuple[str, str]]:
    """The MAC and the IPv4 address of every node's programs."""
    indices = Indices(plan)
    rows = {name: indices.node_address(name) for name in plan.nodes}
    return {name: (mac_text(row), ip_text(row)) for name, row in rows.items()}


@dataclass
class Hosts:
    """The namespaces that programs run in, by node."""

    networks: dict[str, int] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    rdma: dict[str, str] = field(default_factory=dict)
    """Node -> the name of its RDMA device, of those that have one."""

    @classmethod
    def of(cls, resolved: ResolvedPlan, machines: Machines) -> Hosts:
        """Make them all."""
        wanted = hosts_of(resolved)
        known = addresses(resolved.plan) if wanted else {}
        networks = {
            name: machines.add_host(name, known[name], mtu, settings)
            for name, (mtu, settings) in wanted.items()
        }
        return cls(networks, {name: ip for name, (_, ip) in known.items()})

    @contextmanager
    def with_rdma(self, wanted: Sequence[str], machines: Machines) -> Iterator[None]:
        """Have RDMA devices on the interfaces of some nodes' programs. Raises Refused; whatever
        happens, none is left behind."""
        with ExitStack() as made:
            for number, node in enumerate(wanted):
                name = soft_roce.name_of(number)
                with machines.inside(host_of(node)):
                    soft_roce.add(name, HOST_INTERFACE)
                made.callback(_remove, machines, node, name)
                self.rdma[node] = name
            yield


class Programs:
    """The programs of a plan. Start them once, end them once; they never outlive this process."""

    def __init__(self, plan: Plan, hosts: Hosts, cores: Sequence[int] = ()) -> None:
        """`cores` are those that they share, all when none is given."""
        self._plan, self._hosts = plan, hosts
        self._outputs = {
            name: (os.memfd_create(f"{name}.out"), os.memfd_create(f"{name}.err"))
            for name in plan.programs
        }
        self._process: subprocess.Popen[str] | None = None
        self._start_ns = 0
        if plan.programs:
            self._process = subprocess.Popen(
                python_command.module("orchestrator.targets.software.program_supervisor"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[
                    *hosts.networks.values(),
                    *(fd for two in self._outputs.values() for fd in two),
                ],
                text=True,
                env=python_command.environment(),
            )
            if cores:
                os.sched_setaffinity(self._process.pid, cores)

    def start(self, start_ns: int) -> None:
        """Have them started at their times after `start_ns` (CLOCK_MONOTONIC)."""
        self._start_ns = start_ns
        if self._process is None or self._process.stdin is None:
            return
        self._process.stdin.write(json.dumps([self._order(name) for name in self._outputs]) + "\n")
        self._process.stdin.flush()

    def _order(self, name: str) -> dict[str, Any]:
        program = self._plan.programs[name]
        out, err = self._outputs[name]
        stop = None if program.stop is None else self._start_ns + program.stop // 1000
        return {
            "name": name,
            "command": program.words(self._hosts.addresses, self._hosts.rdma),
            "network": self._hosts.networks[program.node],
            "out": out,
            "err": err,
            "start_ns": self._start_ns + program.start // 1000,
            "stop_ns": stop,
        }

    def end(self) -> list[ProgramRun]:
        """End those that still run; what each has written and how it ended."""
        if self._process is None:
            return []
        text, _ = self._process.communicate(timeout=ENDING_S)
        events: dict[str, dict[str, dict[str, Any]]] = {}
        for line in text.splitlines():
            news = json.loads(line)
            if news["event"] == "denied":
                raise Denied("process namespace", OSError(news["code"], os.strerror(news["code"])))
            events.setdefault(news["name"], {})[news["event"]] = news
        return [self._run(name, events.get(name, {})) for name in self._outputs]

    def _run(self, name: str, events: dict[str, dict[str, Any]]) -> ProgramRun:
        out, err = (_content(descriptor) for descriptor in self._outputs[name])
        program = self._plan.programs[name]

        def at(event: str, default: int) -> int:
            return (events[event]["at_ns"] - self._start_ns) * 1000 if event in events else default

        ended = events.get("ended", {})
        waited_ns = ended.get("waited_ns", events.get("waited", {}).get("waited_ns"))
        return ProgramRun(
            name=name,
            node=program.node,
            command=program.words(self._hosts.addresses, self._hosts.rdma),
            start_ps=at("started", program.start),
            end_ps=at("ended", self._plan.duration),
            code=ended.get("code"),
            out=out,
            err=err,
            waited_s=None if waited_ns is None else waited_ns / 1e9,
        )


def _content(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        return file.read()
