"""Stalls planted in runs on real frames: is each told, by its cause, and by what it did?

    python -m tests.trials.stalls --out build/stalls

Two plans; the data path is left alone, stopped as a whole (SIGSTOP), or one of its cores is taken
(a spinner under SCHED_FIFO: root alone may), for 0.5, 10 and 50 ms, again and again. Then the same
with a clock that nobody holds back, in which the long ones must be felt and the queue must be
further off, and without the log, with which the trial must turn red. The tables go to
OUT/stalls.md, all numbers to OUT/stalls.json.

Exit code 1 when a planted stall is missed or told as another; when most of a kind and length are
lost in longer ones of the machine's own; when one that nobody planted is told as a stop; when,
while the clock is held, a loop is said to have felt one or the mean queue is another than in the
simulator; or when a control is not what it must be.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.errors import TailbackError
from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run import execute_run
from orchestrator.targets.software import plan_job
from orchestrator.targets.software.worker_process import Worker
from tests.trials import plans
from tests.trials.lab import ends_on_signals
from tests.trials.stall_table import (
    CORE,
    STOP,
    WITHIN,
    Planted,
    buried,
    false,
    match,
    page,
    unplanted,
)
from tests.trials.stalled_run import BLIND, FREE

DURATION_S, SETTLED_S = 2.0, 0.5
FIRST_S, EVERY_S = 0.2, 0.25
"""Of the machine's time: the first stall of a run, and from one to the next."""
LENGTHS_S = (0.0005, 0.01, 0.05)
PLANS = ("loop", "paused")
NONE = "none"
AGREES = 0.10
"""Share by which mean queues of two targets may differ: as everywhere."""
MOST_PREFERRED = -20
"""As `nice` has it."""


class Planter(threading.Thread):
    """Plants stalls in a run that begins with its start; `done` has them by CLOCK_MONOTONIC."""

    def __init__(self, kind: str, worker: int, core: int) -> None:
        super().__init__(daemon=True)
        self.kind, self.worker, self.core = kind, worker, core
        self.done: list[tuple[float, int, int]] = []
        self.begins_ns = time.monotonic_ns() + plan_job.LEAD_NS

    def run(self) -> None:
        """One after another, until shortly before the end."""
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # of this thread: it is in time
        if self.kind == CORE:
            os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[self.core]})
        number = 0
        while (at_s := FIRST_S + number * EVERY_S) < DURATION_S - 2 * LENGTHS_S[-1]:
            length = LENGTHS_S[number % len(LENGTHS_S)]
            time.sleep(max(self.begins_ns + int(at_s * 1e9) - time.monotonic_ns(), 0) / 1e9)
            plant = self.stop_all if self.kind == STOP else self.take_core
            self.done.append((length, *plant(int(length * 1e9))))
            number += 1

    def stop_all(self, length_ns: int) -> tuple[int, int]:
        os.kill(self.worker, signal.SIGSTOP)
        os.waitid(os.P_PID, self.worker, os.WSTOPPED)  # all threads are: it may take them a while
        begun = time.monotonic_ns()
        time.sleep(length_ns / 1e9)
        ended = time.monotonic_ns()
        os.kill(self.worker, signal.SIGCONT)
        return begun, ended

    def take_core(self, length_ns: int) -> tuple[int, int]:
        begun = now = time.monotonic_ns()
        while now - begun < length_ns:
            now = time.monotonic_ns()
        return begun, now


def prefer(worker: int) -> None:
    """Give a data path the cores before all others: the stalls of this trial are those planted."""
    group = Path(f"/proc/{worker}/autogroup")
    if group.exists():  # not of every kernel
        group.write_text(str(MOST_PREFERRED), encoding="ascii")
    for thread in os.listdir(f"/proc/{worker}/task"):
        os.setpriority(os.PRIO_PROCESS, int(thread), MOST_PREFERRED)


def one(plan: str, kind: str, number: int, fault: str | None = None) -> dict[str, Any]:
    """A run, what was planted in it, and what it told."""
    text = plans.of_kind(plan, f"{DURATION_S:g}s", 1 + number)
    text = Plan.load(text).check(Registry.load()).plan.to_toml()
    planter = None
    with Worker("tests.trials.stalled_run:run", text, fault) as worker:
        for news in worker.reports():
            if news == plan_job.STARTED:
                prefer(worker.process.pid)
            if news == plan_job.STARTED and kind != NONE:
                planter = Planter(kind, worker.process.pid, number % 2)
                planter.start()
        recording: Recording = worker.result
    if planter is not None:
        planter.join()
    start = recording.epoch_ns
    planted = [
        Planted(kind, asked, (begun - start) / 1e9, (ended - start) / 1e9)
        for asked, begun, ended in (planter.done if planter else [])
    ]
    fidelity = recording.fidelity or {}
    told = fidelity["stalls"]
    listed = told.pop("longest")
    return {
        "plan": plan,
        "kind": kind,
        "run": number,
        "fault": fault,
        "verdict": fidelity["verdict"],
        "held": fidelity["held"],
        "told": told,
        "queue_bytes": queue_mean(recording),
        "rows": match(planted, listed),
        "others": unplanted(planted, listed),
    }


def queue_mean(recording: Recording) -> float:
    """Octets at the bottleneck on the mean, from when a loop has settled."""
    names = [(column.entity, column.quantity) for column in recording.columns]
    values = recording.values[:, names.index(("switch.sink", "queue_bytes"))]
    return float(np.mean(values[recording.times_ps >= SETTLED_S * 1e12]))


def simulated(plan: str) -> float:
    """The same in the simulator, which has no stalls: on the mean of all seeds that are run."""
    texts = (plans.of_kind(plan, f"{DURATION_S:g}s", 1 + number) for number in range(3))
    done = [execute_run.run(Plan.load(text), target="simulated", out=None) for text in texts]
    return float(np.mean([queue_mean(each.recording) for each in done]))


def show(run: dict[str, Any]) -> str:
    """A run in a line."""
    rows = run["rows"]
    told = run["told"]
    return (
        f"{run['plan']:7} {run['kind']:5} {run['fault'] or '':5} {run['verdict']:9} "
        f"{sum(row['found'] for row in rows)} of {len(rows)} found, {told['felt']} felt, "
        f"clock held {run['held']['share']:.1%}, queue {run['queue_bytes']:.0f} B, "
        f"not planted {run['others']}"
    )


def off(run: dict[str, Any], due: float) -> float:
    """By which share the mean queue is another than in the simulator."""
    return abs(float(run["queue_bytes"]) / due - 1)


def wrong(run: dict[str, Any], due: float) -> list[str]:
    """What is not as it must be in a run whose clock is held; `due`: its mean queue."""
    rows = run["rows"]
    found = [
        f"{row['kind']} of {row['asked_s'] * 1e3:g} ms told as {row['told_as']}"
        for row in rows
        if not (row["found"] and row["whole"]) and row["told_as"] != WITHIN
    ]
    found += [f"{false(run['others'])} stops that nobody made"] if false(run["others"]) else []
    found += [f"{run['told']['felt']} stalls felt"] if run["told"]["felt"] else []
    apart = off(run, due)
    return found + ([f"a mean queue that is {apart:.0%} off"] if apart > AGREES else [])


def wrong_when_free(run: dict[str, Any], others: list[dict[str, Any]], due: float) -> list[str]:
    """What is not as it must be where nobody holds the clock: loops feel all that last longer than
    they take to react (2.7 ms, 1.7 ms), and nothing shorter, and the queue is further off than in
    the `others`, whose clock was held."""
    reaction = min(loop["reaction_time_s"] for loop in run["told"]["loops"].values())
    long = sum(row["planted_s"] > 1.1 * reaction for row in run["rows"])
    felt = [row for row in run["rows"] if row["gone_s"] and row["gone_s"] > reaction]
    short = [row for row in felt if row["told_s"] < 0.9 * reaction]
    found = [f"{run['told']['felt']} felt, {long} were due"] if run["told"]["felt"] < long else []
    found += [f"{len(short)} short ones felt"] if short else []
    furthest = max(off(each, due) for each in others)
    return found + ([] if off(run, due) > furthest else ["its queue is as good as the others'"])


def queues(runs: list[dict[str, Any]], due: dict[str, float]) -> str:
    """Mean queues against the simulator's, as Markdown."""
    lines = [
        "| plan | clock | planted | clock held | mean queue | off |",
        "|---|---|---|---|---|---|",
    ]
    told = [run for run in runs if run["fault"] != BLIND]
    for plan, clock, kind in dict.fromkeys((r["plan"], r["fault"], r["kind"]) for r in told):
        mine = [r for r in runs if (r["plan"], r["fault"], r["kind"]) == (plan, clock, kind)]
        shares = [r["held"]["share"] for r in mine]
        octets = sum(r["queue_bytes"] for r in mine) / len(mine)
        most = max(off(r, due[plan]) for r in mine)
        held = f"{min(shares):.0%} to {max(shares):.0%}"
        how = "not held" if clock == FREE else "held"
        lines.append(f"| {plan} | {how} | {kind} | {held} | {octets:.0f} B | {most:.1%} |")
    return "\n".join(lines)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=3, help="of each plan and kind")
    parser.add_argument("--out", type=Path, default=Path("build/stalls"))
    asked = parser.parse_args()
    ends_on_signals()
    if os.geteuid() != 0:
        print("tests.trials.stalls: SCHED_FIFO is root's; run it as root", file=sys.stderr)
        return 2
    try:
        plans.compile_once()
    except TailbackError as refused:
        print(refused, file=sys.stderr)
        return refused.exit_code
    due = {plan: simulated(plan) for plan in PLANS}
    runs, bad = [], []

    def ran(plan: str, kind: str, number: int, fault: str | None) -> dict[str, Any]:
        runs.append(one(plan, kind, number, fault))
        print(show(runs[-1]), flush=True)
        return runs[-1]

    for number in range(asked.runs):
        for plan in PLANS:
            for kind in (NONE, STOP, CORE):
                found = wrong(ran(plan, kind, number, None), due[plan])
                bad += [f"{plan}: {text}" for text in found]
    for plan in PLANS:
        free, blind = ran(plan, STOP, 0, FREE), ran(plan, STOP, 0, BLIND)
        mine = [each for each in runs if each["plan"] == plan and each["fault"] is None]
        found = wrong_when_free(free, mine, due[plan])
        bad += [f"{plan}, nobody holds the clock: {text}" for text in found]
        bad += [] if wrong(blind, due[plan]) else [f"{plan}: green without a log"]
    real = [run for run in runs if run["fault"] is None]
    rows = [row for run in real for row in run["rows"]]
    bad += buried(rows)
    others: dict[str, int] = {}
    for each in real:
        for cause, count in each["others"].items():
            others[cause] = others.get(cause, 0) + count
    words = "\n\n".join([page(rows, others, len(real)), queues(runs, due)])
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "stalls.md").write_text(words + "\n", encoding="utf-8")
    (asked.out / "stalls.json").write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
    print(words, *(f"RED: {text}" for text in bad), sep="\n")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
