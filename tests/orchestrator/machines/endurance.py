"""Many runs one after the other on one agent: are descriptors, memory and threads flat?

python -m tests.orchestrator.machines.endurance --runs 500
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from orchestrator.controller import client
from orchestrator.errors import RunFailed
from orchestrator.plan import Plan
from tests.orchestrator.machines import plans
from tests.orchestrator.machines.lab import Lab

WARM = 20
"""Runs before the first reading counts: caches fill."""


def reading(process: int) -> dict[str, int]:
    """Descriptors, threads and resident memory (kB) of a process."""
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines()
    )
    return {
        "descriptors": len(os.listdir(f"/proc/{process}/fd")),
        "threads": int(status["Threads"]),
        "memory_kb": int(status["VmRSS"].split()[0]),
    }


def endure(control: Any, folder: str, runs: int) -> list[dict[str, Any]]:
    """The job: a row per ten runs."""
    lab = Lab(Path(folder))
    lab.host("only")
    agent = lab.agent("only")
    controller_bed = lab.testbed()
    lab.controller(controller_bed)
    lab.up()
    rows: list[dict[str, Any]] = []
    early = 0
    plan = Plan.load(plans.short("0.02s"))
    for number in range(1, runs + 1):
        if cause := _run(lab, plan):  # it counts: an end before time may leak, too
            early += 1
            control.report({"run": number, "ended early": cause})
        if number % 10 == 0 or number == runs:
            row = {
                "run": number,
                "ended early": early,
                "agent": reading(agent.pid),
                "controller": reading(lab.processes["controller"].pid),
            }
            rows.append(row)
            control.report(row)
    lab.close()
    return rows


def _run(lab: Lab, plan: Plan) -> str:
    """Have the plan run; what ended it early."""
    asking = client.run(
        *("tcp://127.0.0.1:7011", lab.keys("user"), None, plan, False, lab.runs),
        progress=lambda news: None,
        say=lambda line: None,
    )
    try:
        told = asyncio.run(asking)
    except RunFailed as error:
        return str(error)
    return str(told.error or (told.result or {}).get("cause") or "")


def main() -> int:
    """Run from the command line."""
    from orchestrator.targets.software.launch import Worker

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    asked = parser.parse_args()
    plans.compile_once()
    with tempfile.TemporaryDirectory(prefix="endurance-") as folder:
        job = "tests.orchestrator.machines.endurance:endure"
        with Worker(job, folder, asked.runs) as worker:
            rows = []
            for row in worker.reports():
                if "agent" in row:
                    rows.append(row)
                print(row, flush=True)
    print(f"{rows[-1]['run']} runs, {rows[-1]['ended early']} of them ended early")
    warm = next((row for row in rows if row["run"] >= WARM), rows[-1])
    for who in ("agent", "controller"):
        grown = {key: rows[-1][who][key] - warm[who][key] for key in warm[who]}
        print(f"{who}: from run {warm['run']} to run {rows[-1]['run']} grown by {grown}")
    return int(rows[-1]["ended early"] == rows[-1]["run"])


if __name__ == "__main__":
    sys.exit(main())
