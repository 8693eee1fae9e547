"""Many runs one after the other on one agent: are descriptors, memory and threads flat?

    python -m tests.trials.endurance --runs 500

A row every ten runs, then a summary. Before each row messages of one more run are meddled with, and
the wire of another loses frames (tests/trials/mischief.py): what held in the first run holds in the
five hundredth. Flat means, for each process, after the first `WARM` runs, in which caches fill:
descriptors and threads are never more than they were in the reading after those; resident memory,
as the median of the last fifth of the readings, is at most `GROWTH` above that of the first fifth.

Exit code 0 when all is flat, nothing was wrong, nothing is left behind (tests/trials/footprint.py),
and of the runs that nothing was done to at least `THROUGH` came through undistorted, as undisturbed
ones do: where they are `invalid`, whatever the cause, the machine was no judge.
tests/trials/planted.py has faults that it finds.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from orchestrator.errors import RunFailed
from orchestrator.plan import Plan
from orchestrator.testbed.controller import controller_client
from tests.trials import mischief, plans
from tests.trials.footprint import Watch, adopt, end_all
from tests.trials.lab import Lab, ends_on_signals
from tests.trials.scenarios import clean
from tests.trials.undisturbed import Undisturbed

WARM = 20
"""Runs before the first reading counts."""
EACH = 10
"""Runs between two readings. They wait at the controller together, which carries out one at a
time; all are over when it is read."""
GROWTH = 0.05
REST_S = 2.0
THROUGH = 0.75
CLEAN_S = 60.0
BUSY = re.compile(r"silent for|no answer|within \d|is gone|\b\d{1,4}\.\d ms ago when it came")
"""Causes of runs that a busy machine may end."""
WHO = ("left", "right", "controller")
PLAN = plans.short("0.02s")


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


def endure(
    control: Any, folder: str, runs: int, each: int = EACH, clean_s: float = CLEAN_S
) -> dict[str, Any]:
    """The job: reports a row per ten runs; returns rows, verdicts, causes. `clean_s`: until what is
    left of runs stays."""
    adopt()
    lab, relay = mischief.bench(Path(folder))
    mischief.begin(lab, relay)
    watch = Watch(lab)
    due = {text: Undisturbed(text) for text in (PLAN, mischief.large())}
    rows: list[dict[str, Any]] = []
    verdicts: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    plan = Plan.load(PLAN)
    for first in range(0, runs, each):
        count = min(each, runs - first)
        wrong: dict[str, list[str]] = {}
        expired = mischief.expired(lab)
        for verdict, cause, where in asyncio.run(_some(lab, plan, count)):
            verdicts[verdict] += 1
            if cause:
                causes[cause] += 1
            if where is not None:
                wrong |= due[PLAN].wrong(where)
            elif not BUSY.search(cause):
                wrong["ended"] = [cause]
        left = clean(lab, within_s=clean_s)
        if not rows:
            watch.warm()
        wrong |= mischief.messages(lab, relay, due[mischief.large()], f"messages{first}")[0]
        wrong |= mischief.lossy_wire(lab, due[mischief.large()], f"wire{first}")[0]
        left |= clean(lab, within_s=clean_s) | watch.left()
        wrong |= mischief.expired_since(lab, expired)
        row: dict[str, Any] = {"run": first + count, "behind": left, "wrong": wrong}
        row |= {who: at_rest(lab.processes[who].pid, rows, who) for who in WHO}
        rows.append(row)
        control.report(row)
    relay.close()
    lab.close()
    end_all()
    return {"rows": rows, "verdicts": dict(verdicts), "causes": dict(causes)}


Ended = tuple[str, str, Path | None]
"""Verdict, what made it invalid, and the folder of a run that came to its end."""


async def _some(lab: Lab, plan: Plan, count: int) -> list[Ended]:
    return list(await asyncio.gather(*(_run(lab, plan) for _ in range(count))))


async def _run(lab: Lab, plan: Plan) -> Ended:
    """Have the plan run."""
    try:
        told = await controller_client.run(
            *("tcp://127.0.0.1:7011", lab.keys("user"), None, plan, False, lab.runs),
            progress=lambda news: None,
            say=lambda line: None,
        )
    except RunFailed as error:
        return "no result", str(error), None
    if told.result is None:
        return "no result", str(told.error), None
    reasons = told.result["fidelity"]["reasons"]
    wrong = [reason for reason in reasons if reason.startswith("invalid")]
    ended = told.result.get("cause")
    cause = ended or (wrong[0].split("(")[0] if wrong else "")
    where = None if ended or told.folder is None else Path(told.folder)
    return told.result["verdict"], cause, where


def show(row: dict[str, Any]) -> str:
    """A row of the table."""
    cells = [f"{row['run']:5}"]
    for who in WHO:
        cells += [f"{value:>11}" for value in row[who].values()]
    return " ".join(cells) + f"  {row['behind'] or '-'} {row['wrong'] or '-'}"


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
    from orchestrator.targets.software.worker_process import Worker

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
    for what, word in (("behind", "left behind"), ("wrong", "wrong")):
        runs = [row["run"] for row in rows if row[what]]
        print(f"something {word} after runs: {runs or 'none'}")
    found = growth(rows)
    for what, first, last, flat in found:
        print(f"{what}: {first:g} -> {last:g}: {'flat' if flat else 'GROWS'}")
    print(f"came through undistorted: {through(told):.0%}, {THROUGH:.0%} must")
    fine = sound(told)
    print("sound" if fine else "NOT SOUND")
    return int(not fine)


def through(told: dict[str, Any]) -> float:
    """The share of runs, of those that nothing was done to, that came through undistorted."""
    verdicts = told["verdicts"]
    return sum(verdicts.get(word, 0) for word in mischief.CAME) / max(sum(verdicts.values()), 1)


def sound(told: dict[str, Any]) -> bool:
    """Whether all is as it should be, see the module."""
    rows = told["rows"]
    flat = all(flat for *_, flat in growth(rows))
    fine = flat and not any(row["behind"] or row["wrong"] for row in rows)
    return fine and through(told) >= THROUGH


if __name__ == "__main__":
    sys.exit(main())
