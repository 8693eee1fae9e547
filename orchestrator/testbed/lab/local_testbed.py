"""Local testbed of two agents: cables, keys, inventory; the controller is separate.

    with Lab(folder, cables=1) as lab:
        bed = Testbed.load(lab.inventory)

Leaving the block ends the agents, then what holds the machines.
"""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

import tomli_w

from orchestrator import python_command
from orchestrator.errors import Refused
from orchestrator.targets.software.worker_process import Worker
from orchestrator.testbed import curve_keys

MACHINES = ("left", "right")
CONTROLLER, USER = "controller", "user"
MADE_S, ENDING_S = 60.0, 20.0
"""For a busy machine; it takes some tenths of a second."""
MOST_CABLES = 8


class Lab:
    """See the module. `folder` gets keys, the agents' notes and the inventory."""

    def __init__(self, folder: Path, cables: int = 1) -> None:
        self.folder, self.cables = folder.absolute(), cables
        self.inventory = self.folder / "testbed.toml"
        self.agents: dict[str, subprocess.Popen[bytes]] = {}
        self.addresses: dict[str, str] = {}
        self._open = ExitStack()

    def keys(self, who: str) -> Path:
        """Key folder of a user, an agent or the controller."""
        return self.folder / "keys" / who

    def __enter__(self) -> Lab:
        with self._open:
            self._make_keys()
            user, *networks = self._ground()
            for name, network in zip(MACHINES, networks, strict=True):
                self._agent(name, user, network)
            for descriptor in (user, *networks):
                os.close(descriptor)
            self.inventory.write_text(tomli_w.dumps(self._testbed()), encoding="utf-8")
            self._open = self._open.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def _make_keys(self) -> None:
        """Make all key pairs; authorise the controller at the agents, and the user at it."""
        for who in (CONTROLLER, USER, *MACHINES):
            if not (self.keys(who) / curve_keys.OWN).exists():
                curve_keys.make(self.keys(who), who)
        public = {who: str(self.keys(who) / curve_keys.PUBLIC) for who in (CONTROLLER, USER)}
        for name in MACHINES:
            curve_keys.authorise(self.keys(name), public[CONTROLLER])
            curve_keys.authorise(self.keys(name), public[USER], role=curve_keys.ADMINISTER)
        curve_keys.authorise(self.keys(CONTROLLER), public[USER])
        curve_keys.authorise(self.keys(USER), public[CONTROLLER], kind=curve_keys.KNOWN)

    def _ground(self) -> list[int]:
        """Have the machines made; descriptors of their user namespace and network namespaces."""
        near, far = socket.socketpair()
        with near, far:
            near.settimeout(MADE_S)
            job = "orchestrator.testbed.lab.lab_network:hold"
            worker = Worker(job, list(MACHINES), self.cables, far.fileno())
            worker.handed = [far.fileno()]
            worker.drives = False
            self._open.enter_context(worker)
            far.close()
            _, descriptors, _, _ = socket.recv_fds(near, 16, 1 + len(MACHINES))
            if descriptors:
                return list(descriptors)
        try:
            next(worker.reports())
        except Refused as no:
            raise Refused("tailback lab", no.lack, no.remedy) from None
        raise AssertionError("a job that hands nothing out reports why")

    def _agent(self, name: str, user: int, network: int) -> None:
        """Start an agent; it listens on this machine's loopback."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.setblocking(False)
            self.addresses[name] = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
            handed = [listening.fileno(), user, network]
            words = [str(os.getpid()), *map(str, handed), name]
            places = [str(self.keys(name)), str(self.folder / "state" / name)]
            command = python_command.module("orchestrator.testbed.lab.lab_agent", *words, *places)
            process = subprocess.Popen(
                command,
                pass_fds=handed,
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the lab, which ends it in good order
                env=python_command.environment(OPENBLAS_NUM_THREADS="1"),
            )
        self.agents[name] = process
        self._open.callback(_end, process)

    def _testbed(self) -> dict[str, object]:
        """The inventory. It places no nodes: the controller searches a placement."""
        machines = {
            name: {"address": self.addresses[name], "key": curve_keys.own(self.keys(name)).public}
            for name in MACHINES
        }
        ends = {
            f"c{number}": {"ends": [f"{name}:eth{number}" for name in MACHINES]}
            for number in range(1, self.cables + 1)
        }
        return {"name": "lab", "machines": machines, "cables": ends}


def _end(process: subprocess.Popen[bytes]) -> None:
    """As Ctrl-C would; an agent gives back what it has leased."""
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        process.wait(ENDING_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
