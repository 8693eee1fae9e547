"""A real controller and real agents on the loopback, as processes of their own, for plans that one
machine holds: no namespaces, no privileges."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchestrator import python_command
from orchestrator.testbed import curve_keys

WAIT_S = 600.0
"""For what takes a moment; on a busy machine anything may take much longer."""
LISTENS = " listens on "


def until(what: Callable[[], Any], why: str, within_s: float = WAIT_S) -> Any:
    """Wait for something to be true; its value."""
    end = time.monotonic() + within_s
    while not (found := what()):
        assert time.monotonic() < end, f"not within {within_s:g} s: {why}"
        time.sleep(0.02)
    return found


class Server:
    """A process that serves, and what it has said."""

    def __init__(self, words: list[str], environment: dict[str, str]) -> None:
        self.said: list[str] = []
        self.process = subprocess.Popen(
            python_command.module("orchestrator.cli", *words),
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._hear, daemon=True).start()
        line = until(lambda: next((s for s in self.said if LISTENS in s), ""), f"{words}")
        self.address = line.split(LISTENS)[1].split(",")[0]

    def _hear(self) -> None:
        assert self.process.stderr is not None
        self.said += (line.rstrip() for line in iter(self.process.stderr.readline, ""))

    def heard(self, text: str) -> bool:
        """Whether it has said something like that."""
        return any(text in line for line in self.said)

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """In good order; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT_S)


class Bench:
    """A folder with keys, states and runs; processes by name. Use it in a `with` block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.agents: dict[str, Server] = {}
        self.controller: Server | None = None
        for who in ("controller", "user"):
            curve_keys.make(folder / who, who)
        curve_keys.authorise(folder / "controller", str(folder / "user" / curve_keys.PUBLIC))
        public = str(folder / "controller" / curve_keys.PUBLIC)
        curve_keys.authorise(folder / "user", public, kind=curve_keys.KNOWN)

    def agent(self, name: str, metrics: str = "", **environment: str) -> Server:
        """Start one; with other variables. `metrics`: the address of its endpoint."""
        there = self.folder / name
        if not there.exists():
            curve_keys.make(there, name)
            curve_keys.authorise(there, str(self.folder / "controller" / curve_keys.PUBLIC))
        listen = self.agents[name].address if name in self.agents else "tcp://127.0.0.1:*"
        words = ["agent", "--name", name, "--listen", listen, "--keys", str(there)]
        state = ["--state", str(self.folder / f"{name}-state")]
        more = ["--metrics", metrics] if metrics else []
        one = Server([*words, *state, *more], python_command.environment(**environment))
        self.agents[name] = one
        return one

    def start(self, metrics: str = "", **environment: str) -> str:
        """Start the controller of all agents; its address, once all are up. `metrics`: the address
        of its endpoint."""
        lines = ['name = "lab"']
        for name, one in self.agents.items():
            public = curve_keys.own(self.folder / name).public
            lines += [f"[machines.{name}]", f'address = "{one.address}"', f'key = "{public}"']
        (self.folder / "lab.toml").write_text("\n".join(lines) + "\n")
        words = ["controller", str(self.folder / "lab.toml"), "--listen", "tcp://127.0.0.1:*"]
        words += ["--keys", str(self.folder / "controller"), "--out", str(self.folder / "there")]
        words += ["--metrics", metrics] if metrics else []
        self.controller = Server(words, python_command.environment(**environment))
        for name in self.agents:
            until(lambda name=name: self.heard(f"agent {name}: up"), f"{name} up")
        return self.controller.address

    def heard(self, text: str) -> bool:
        """Whether the controller has said something like that."""
        return self.controller is not None and self.controller.heard(text)

    @property
    def there(self) -> list[str]:
        """Options by which the user reaches the controller."""
        assert self.controller is not None
        return ["--controller", self.controller.address, "--keys", str(self.folder / "user")]

    def tailback(self, *words: object) -> subprocess.Popen[str]:
        """Start a command of the user's."""
        return subprocess.Popen(
            python_command.module("orchestrator.cli", *map(str, words), *self.there),
            env=python_command.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, plan: Path, *more: object) -> tuple[int, dict[str, Any], str]:
        """Run a plan on gateware there; exit code, result, what was said."""
        words = ["run", plan, "--target", "gateware", "--json", "--no-report"]
        out = ["--out", self.folder / "mine"]
        process = self.tailback(*words, *out, *more)
        printed, said = process.communicate(timeout=WAIT_S)
        return process.returncode, json.loads(printed) if printed else {}, said

    def left(self) -> list[str]:
        """What of held plans is still there: processes below agents, files, leases."""
        found = []
        for name, one in self.agents.items():
            for process in Path("/proc").iterdir():
                if process.name.isdigit() and _parent(process) == one.process.pid:
                    found.append(f"{name}: process {process.name}")
            for kind in ("leases", "spool"):
                folder = self.folder / f"{name}-state" / kind
                found += [f"{name}: {path}" for path in folder.glob("*")]
        return found

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *told: object) -> None:
        servers = [*self.agents.values(), *([self.controller] if self.controller else [])]
        for one in servers:
            if one.process.poll() is None:
                one.kill()


def _parent(process: Path) -> int | None:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return None


def workers_of(agent: Server) -> list[int]:
    """The processes in which an agent runs plans."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and _parent(process) == agent.process.pid:
            try:
                if b"agent.plan_process" in (process / "cmdline").read_bytes():
                    found.append(int(process.name))
            except OSError:
                continue
    return found
