"""Many agents with four nodes each, one controller: its share of a core, and how soon it knows.

    python -m tests.trials.crowd --agents 32 --seconds 20

Every agent hosts two NICs, a switch and a sink of one plan, with little traffic: what is measured
is the controller, while somebody asks it for all states ten times a second. A state counts as shown
when that answer has it; when it came about is what the agent noted, by the same clock. With
`--idle` no data paths are run: leases and states only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zmq.asyncio

from orchestrator.testbed import curve_keys
from orchestrator.testbed.controller.controller_messages import Status
from orchestrator.testbed.wire.rpc_client import RpcClient, Unanswered
from tests.trials import plans
from tests.trials.lab import Lab, until
from tests.trials.scenarios import submit

TICKS = os.sysconf("SC_CLK_TCK")
ADDRESS = "tcp://127.0.0.1:7011"
LOOK_S = 0.1
QUAD = """
[nodes.a{n}]
kind = "nic"
[nodes.b{n}]
kind = "nic"
[nodes.s{n}]
kind = "switch"
service_rate = "10Mb/s"
buffer = "150KB"
[nodes.k{n}]
kind = "sink"
[links.ua{n}]
ends = ["a{n}", "s{n}"]
rate = "10Mb/s"
[links.ub{n}]
ends = ["b{n}", "s{n}"]
rate = "10Mb/s"
[links.d{n}]
ends = ["s{n}", "k{n}"]
rate = "10Mb/s"
[traffic.t{n}]
plugin = "cbr"
from = "a{n}"
to = "k{n}"
frame = "1500B"
rate = "0.1Mb/s"
"""


def plan(agents: int, seconds: float) -> str:
    """Four nodes on each machine, joined there."""
    head = f'name = "crowd"\nseed = 1\nduration = "{seconds:g}s"\nsample_interval = "100ms"\n'
    return head + "".join(QUAD.format(n=number) for number in range(agents))


def used_s(process: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Looker(threading.Thread):
    """Asks the controller for all states, as a console does; notes when each was first shown."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._folder = folder
        self.shown: dict[tuple[str, str], int] = {}
        """(machine, state) -> wall-clock ns, of the machine and of its part of the run."""
        self.now: dict[str, str] = {}
        self.answers: list[float] = []
        self._over = threading.Event()

    def run(self) -> None:
        asyncio.run(self._look())

    async def _look(self) -> None:
        from orchestrator.testbed.controller.controller_client import controller_key

        context = zmq.asyncio.Context()
        key = controller_key(self._folder, None)
        asker = RpcClient(context, "controller", ADDRESS, key, curve_keys.own(self._folder))
        while not self._over.is_set():
            began = time.monotonic()
            try:
                told, _ = await asker.ask("status", Status(), within_s=60.0)
            except Unanswered:
                continue
            self.answers.append(time.monotonic() - began)
            for row in told["machines"]:
                self.now[row["name"]] = row["state"]
                for state in (row["state"], row["part"]):
                    self.shown.setdefault((row["name"], state), time.time_ns())
            await asyncio.sleep(LOOK_S)
        asker.close()
        context.term()

    def close(self) -> None:
        """Look no longer."""
        self._over.set()
        self.join()


def crowd(control: Any, folder: str, agents: int, seconds: float, idle: bool) -> dict[str, Any]:
    """The job."""
    lab = Lab(Path(folder))
    for number in range(agents):
        lab.host(f"m{number}")
    for host in lab.hosts:
        lab.agent(host)
    nodes = {f"m{n}": [f"{kind}{n}" for kind in "absk"] for n in range(agents)}
    lab.controller(lab.testbed(**nodes))
    lab.up()
    looker = Looker(lab.keys("user"))
    looker.start()
    found: dict[str, Any] = {"agents": agents, "cores_idle": _share(lab, seconds)}
    control.report(found)
    if not idle:
        found |= _running(lab, looker, agents, seconds)
        control.report(found)
    found |= _gone_and_back(lab, looker)
    found["longest_answer_s"] = max(looker.answers)
    looker.close()
    lab.close()
    return found


def _share(lab: Lab, seconds: float) -> float:
    process = lab.processes["controller"].pid
    before, began = used_s(process), time.monotonic()
    time.sleep(seconds)
    return (used_s(process) - before) / (time.monotonic() - began)


def _running(lab: Lab, looker: Looker, agents: int, seconds: float) -> dict[str, Any]:
    name = submit(lab, plan(agents, seconds))
    running = [(host, "running") for host in lab.hosts]
    until(lambda: all(key in looker.shown for key in running), "all running", 1800.0)
    share = _share(lab, seconds / 2)
    code, result, said = lab.ended(name, 3600.0)
    if not result or result.get("cause"):
        raise AssertionError(f"{code} {said}")
    folder = Path(result["folder"])
    epoch_ns = json.loads((folder / "manifest.json").read_text())["epoch_ns"]
    rows = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    lags = [
        (looker.shown[row["entity"], row["detail"]["text"]] - at_ns) / 1e9
        for row in rows
        if (row["entity"], row["detail"].get("text")) in looker.shown
        if (at_ns := epoch_ns + row["time_ps"] // 1000)
    ]
    return {
        "cores_running": share,
        "states": len(lags),
        "shown_s": {"median": sorted(lags)[len(lags) // 2], "longest": max(lags)},
        "fidelity": result["fidelity"]["verdict"],
    }


def _gone_and_back(lab: Lab, looker: Looker) -> dict[str, float]:
    def took(state: Callable[[str], bool]) -> float:
        began = time.monotonic()
        until(lambda: state(looker.now["m0"]), "the state of m0")
        return time.monotonic() - began

    lab.kill("m0")
    gone_s = took(lambda state: state != "up")
    listens = lab.said("m0").count("listens on")
    lab.agent("m0")
    until(lambda: lab.said("m0").count("listens on") > listens, "an agent that listens again")
    return {"gone_shown_s": gone_s, "back_shown_s": took(lambda state: state == "up")}


def main() -> int:
    """Run from the command line."""
    from orchestrator.targets.software.worker_process import Worker

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--idle", action="store_true", help="no data paths")
    asked = parser.parse_args()
    if not asked.idle:
        plans.compile_once()
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="crowd-") as folder:
        job = "tests.trials.crowd:crowd"
        with Worker(job, folder, asked.agents, asked.seconds, asked.idle) as worker:
            for found in worker.reports():
                print(found, flush=True)
            print(worker.result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
