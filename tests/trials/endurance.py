"""Many runs one after the other on one agent: are descriptors, memory and threads flat?

    python -m tests.trials.endurance --runs 500

A row every ten runs, then a summary. Flat means, for the agent and for the controller, after the
first `WARM` runs, in which caches fill: descriptors and threads are never more than they were in
the reading after those; resident memory, as the median of the last fifth of the readings, is at
most `GROWTH` above that of the first fifth.

Exit code 0 when all is flat, every run ended `met`, `missed` or `invalid` with its cause, and
nothing of them is left behind.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from orchestrator.errors import RunFailed
from orchestrator.plan import Plan
from orchestrator.testbed.controller import client
from tests.trials import plans
from tests.trials.lab import Lab, ends_on_signals
from tests.trials.scenarios import clean

WARM = 20
"""Runs before the first reading counts."""
EACH = 10
"""Runs between two readings. They wait at the controller together, which carries out one at a
time; all are over when it is read."""
GROWTH = 0.05
REST_S = 2.0
WHO = ("agent", "controller")


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


def at_rest(process: int, rows: list[dict[str, Any]], who: str) -> dict[str, int]:
    """A reading when the last run's sockets are closed: as soon as there are no more descriptors
    and threads than in any earlier one, or when `REST_S` are over."""
    end = time.monotonic() + REST_S
    while True:
        found = reading(process)
        known = [row[who] for row in rows] or [found]
        least = [min(row[key] for row in known) for key in ("descriptors", "threads")]
        calm = bool(rows) and found["descriptors"] <= least[0] and found["threads"] <= least[1]
        if calm or time.monotonic() > end:
            return found
        time.sleep(0.1)


def endure(control: Any, folder: str, runs: int) -> dict[str, Any]:
    """The job: reports a row per ten runs; returns rows, verdicts, causes, what is left."""
    lab = Lab(Path(folder))
    lab.host("only")
    agent = lab.agent("only")
    lab.controller(lab.testbed())
    lab.up()
    rows: list[dict[str, Any]] = []
    verdicts: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    plan = Plan.load(plans.short("0.02s"))
    for first in range(0, runs, EACH):
        count = min(EACH, runs - first)
        for verdict, cause in asyncio.run(_some(lab, plan, count)):
            verdicts[verdict] += 1
            if cause:
                causes[cause] += 1
        left = clean(lab)
        controller = lab.processes["controller"]
        row = {"run": first + count, "left": left}
        row |= {"agent": at_rest(agent.pid, rows, "agent")}
        row |= {"controller": at_rest(controller.pid, rows, "controller")}
        rows.append(row)
        control.report(row)
    lab.close()
    return {"rows": rows, "verdicts": dict(verdicts), "causes": dict(causes)}


async def _some(lab: Lab, plan: Plan, count: int) -> list[tuple[str, str]]:
    return list(await asyncio.gather(*(_run(lab, plan) for _ in range(count))))


async def _run(lab: Lab, plan: Plan) -> tuple[str, str]:
    """Have the plan run; its verdict, and what made it invalid."""
    try:
        told = await client.run(
            *("tcp://127.0.0.1:7011", lab.keys("user"), None, plan, False, lab.runs),
            progress=lambda news: None,
            say=lambda line: None,
        )
    except RunFailed as error:
        return "no result", str(error)
    if told.result is None:
        return "no result", str(told.error)
    reasons = told.result["fidelity"]["reasons"]
    wrong = [reason for reason in reasons if reason.startswith("invalid")]
    cause = told.result.get("cause") or (wrong[0].split("(")[0] if wrong else "")
    return told.result["verdict"], cause


def show(row: dict[str, Any]) -> str:
    """A row of the table."""
    cells = [f"{row['run']:5}"]
    for who in WHO:
        cells += [f"{value:>11}" for value in row[who].values()]
    return " ".join(cells) + f"  {row['left'] or '-'}"


def growth(rows: list[dict[str, Any]]) -> list[tuple[str, float, float, bool]]:
    """(what, at first, at last, whether that is flat); see the module."""
    warm = [row for row in rows if row["run"] >= WARM] or rows[-1:]
    fifth = max(len(warm) // 5, 1)
    found = []
    for who in WHO:
        for key in ("descriptors", "threads"):
            first, most = warm[0][who][key], max(row[who][key] for row in warm)
            found.append((f"{who}: {key}", first, most, most <= first))
        memory = [row[who]["memory_kb"] for row in warm]
        early, late = statistics.median(memory[:fifth]), statistics.median(memory[-fifth:])
        flat = late <= early * (1 + GROWTH)
        found.append((f"{who}: memory, kB", early, late, flat))
    return found


def main() -> int:
    """Run from the command line."""
    from orchestrator.targets.software.launch import Worker

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    asked = parser.parse_args()
    ends_on_signals()
    plans.compile_once()
    began = time.monotonic()
    print("  run " + " ".join(f"{who:>10}: descriptors, threads, memory kB" for who in WHO))
    with tempfile.TemporaryDirectory(prefix="endurance-") as folder:
        job = "tests.trials.endurance:endure"
        with Worker(job, folder, asked.runs) as worker:
            for row in worker.reports():
                print(show(row), flush=True)
            told = worker.result
    rows, took = told["rows"], time.monotonic() - began
    print(f"{rows[-1]['run']} runs in {took / 60:.1f} min: {told['verdicts']}")
    for cause, count in sorted(told["causes"].items(), key=lambda item: -item[1]):
        print(f"    {count} x {cause}")
    left = [row["run"] for row in rows if row["left"]]
    print(f"something left behind after runs: {left or 'none'}")
    found = growth(rows)
    for what, first, last, flat in found:
        print(f"{what}: {first:g} -> {last:g}: {'flat' if flat else 'GROWS'}")
    sound = not left and all(flat for *_, flat in found) and "no result" not in told["verdicts"]
    print("sound" if sound else "NOT SOUND")
    return int(not sound)


if __name__ == "__main__":
    sys.exit(main())
