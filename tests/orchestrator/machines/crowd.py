"""Many agents with four nodes each, one controller: its share of a core, and how soon it knows.

    python -m tests.orchestrator.machines.crowd --agents 32 --seconds 20

The agents hold leases on their nodes but run no data path: 32 of those would take every core, and
what is measured is the controller. A state counts as known when `machines` shows it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from orchestrator.controller import client
from tests.orchestrator.machines.lab import Lab

TICKS = os.sysconf("SC_CLK_TCK")


def used_s(process: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def crowd(control: Any, folder: str, agents: int, seconds: float) -> dict[str, Any]:
    """The job."""
    lab = Lab(Path(folder))
    for number in range(agents):
        lab.host(f"m{number}")
    for host in lab.hosts:
        lab.agent(host)
    lab.controller(lab.testbed(**{f"m{n}": [f"n{n}-{k}" for k in range(4)] for n in range(agents)}))
    lab.up()
    process = lab.processes["controller"].pid
    before, began = used_s(process), time.monotonic()
    time.sleep(seconds)
    share = (used_s(process) - before) / (time.monotonic() - began)
    lab.kill("m0")
    killed = time.monotonic()

    def state() -> str:
        told = asyncio.run(client.status("tcp://127.0.0.1:7011", lab.keys("user"), None))
        return str({m["name"]: m["state"] for m in told["machines"]}["m0"])

    while state() == "up":
        time.sleep(0.05)
    gone_s = time.monotonic() - killed
    lab.agent("m0")
    back = time.monotonic()
    while state() != "up":
        time.sleep(0.05)
    found = {"agents": agents, "controller_cores": share, "gone_known_s": gone_s}
    found["back_known_s"] = time.monotonic() - back
    lab.close()
    return found


def main() -> int:
    """Run from the command line."""
    from orchestrator.targets.software.launch import run_job

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=20.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crowd-") as folder:
        job = "tests.orchestrator.machines.crowd:crowd"
        print(run_job(job, folder, asked.agents, asked.seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
