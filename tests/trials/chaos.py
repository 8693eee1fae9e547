"""One fault at a random moment in each of many short runs; a table of how each of them ended.

    python -m tests.trials.chaos --runs 200 --seed 1

Same seed, same faults at the same moments; `--first 81 --runs 1` is run 81 again. Exit code 1 when
a run left anything behind (tests/trials/footprint.py), hung, ended without its cause being named,
or came through and is not as an undisturbed one (tests/trials/undisturbed.py); when something was
done that must not be (tests/trials/mischief.py); or when fewer than `THROUGH` of all came through.
tests/trials/planted.py has faults that it finds.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from orchestrator.targets.software.linux_syscalls import enter_network, unshare
from orchestrator.testbed.agent import ethtool
from tests.trials import mischief, plans
from tests.trials.footprint import Watch, adopt, end_all
from tests.trials.lab import Lab, ends_on_signals, until
from tests.trials.lossy import RATES, Lossy
from tests.trials.scenarios import clean, restart, submit
from tests.trials.undisturbed import Undisturbed

FAULTS = ("kill agent", "kill controller", "kill data path", "cut link", "disk full")
FAULTS += ("lose", "double", "delay", "swap", "mischief", "lossy wire", "stranger beats")
"""From "lose" to "swap" they happen to messages; several of them at once: "lose+delay"."""
THROUGH = 0.2
"""The share of runs that must come to their end undistorted: where none does, nothing was tried."""
HANG_S = 300.0
"""A run that is not over by then hangs: none of its own deadlines is so long."""
CLEAN_S = 60.0
"""For all of a run to go away; a lease whose controller died lasts for 5 s."""
LATEST_S = 4.0
"""Of a fault after a run was asked for: before it leases, while it runs, when it is over."""
PLAN = plans.short("0.4s")
CLONE_NEWNS, MS_REC_PRIVATE = 0x20000, (1 << 14) | (1 << 18)
STATE_OCTETS = 4_000_000


def chaos(
    control: Any,
    folder: str,
    seed: int,
    runs: range,
    faults: Sequence[str] = FAULTS,
    clean_s: float = CLEAN_S,
) -> list[dict[str, Any]]:
    """The job: a row per run of these numbers. `clean_s`: until what is left of one stays."""
    adopt()
    lab, relay = _lab(Path(folder))
    watch = Watch(lab)
    due = {text: Undisturbed(text) for text in (PLAN, mischief.large())}
    lab.ended(submit(lab, PLAN, "warm"), HANG_S)
    clean(lab, within_s=clean_s)
    watch.warm()
    rows = []
    for number in runs:
        draw = random.Random(f"{seed}/{number}")
        fault = faults[number % len(faults)]
        row = _one(lab, relay, number, fault, draw, due, clean_s)
        if fault in ("kill controller", "stranger beats"):
            watch.forget("controller")
        elif fault.startswith("kill "):
            watch.forget(row["victim"].split()[0])
        row["left"] |= watch.left()
        row["sound"] = row["sound"] and not row["left"] and not row["wrong"]
        rows.append(row)
        control.report(row)
    relay.close()
    lab.close()
    end_all()
    return rows


def _lab(folder: Path) -> tuple[Lab, Lossy]:
    library = ctypes.CDLL(None, use_errno=True)
    unshare(CLONE_NEWNS)
    library.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC_PRIVATE), None)
    lab, relay = mischief.bench(folder)
    lab.shared = not library.mount(b"none", b"/dev/shm", b"tmpfs", ctypes.c_ulong(0), b"mode=1777")
    for name in lab.hosts:
        state = folder / "state" / name
        state.mkdir(parents=True)
        options = f"size={STATE_OCTETS},mode=0700".encode()
        if library.mount(b"none", str(state).encode(), b"tmpfs", ctypes.c_ulong(0), options):
            raise OSError(ctypes.get_errno(), "mount of a small file system")
    mischief.begin(lab, relay)
    return lab, relay


def _one(
    lab: Lab,
    relay: Lossy,
    number: int,
    fault: str,
    draw: random.Random,
    due: dict[str, Undisturbed],
    clean_s: float,
) -> dict[str, Any]:
    moment = round(draw.uniform(0.0, LATEST_S), 2)
    victim = draw.choice(lab.hosts)
    relay.draw = random.Random(draw.random())
    began, expired = time.monotonic(), mischief.expired(lab)
    if fault in ("mischief", "lossy wire"):
        large = due[mischief.large()]
        if fault == "mischief":
            wrong, result = mischief.messages(lab, relay, large, f"run{number}")
        else:
            wrong, result = mischief.lossy_wire(lab, large, f"run{number}")
        left = clean(lab, within_s=clean_s)
        wrong |= mischief.expired_since(lab, expired)
        return _row(number, fault, 0.0, "right", began, result, wrong) | {"left": left}
    name = submit(lab, PLAN, f"run{number}")
    if kinds := set(fault.split("+")) & set(RATES):
        relay.kinds = kinds
        moment = 0.0
    elif fault not in ("kill data path", "stranger beats"):  # these wait until there is one
        if fault == "kill agent" and moment > LATEST_S / 4:  # an agent that holds a lease
            mischief.wait_for_leases(lab, name)
            moment = round(moment / 4, 2)
        time.sleep(moment)
    with ExitStack() as beating:
        if fault == "stranger beats":
            beating.enter_context(mischief.stranger_beats(lab, name))
        happened = _do(lab, fault, victim, moment)
        hung = False
        try:
            code, result, said = lab.ended(name, HANG_S)
        except subprocess.TimeoutExpired as late:
            code, result, said, hung = -1, {}, str(late), True
        relay.kinds = set()
        row = _row(number, fault, moment, victim, began, result, {})
        row["left"] = _repair(lab, relay, fault, victim, clean_s)
    if not happened:
        row["victim"] = f"{victim} (came too late)"
    if not result:
        lines = [line for line in said.splitlines() if line.startswith("tailback: controller")]
        row["verdict"] = "invalid" if code == 3 else f"exit code {code}"
        row["cause"] = lines[-1] if lines else ""
    elif not result.get("cause"):
        row["wrong"] = due[PLAN].wrong(Path(result["folder"]), cut=fault == "cut link")
    if hung:
        row["verdict"], row["cause"] = "hung", said
    named = row["verdict"] in mischief.CAME or bool(row["cause"])
    row["sound"] = row["verdict"] in (*mischief.CAME, "invalid") and named
    return row


def _row(
    number: int,
    fault: str,
    moment: float,
    victim: str,
    began: float,
    result: dict[str, Any],
    wrong: dict[str, list[str]],
) -> dict[str, Any]:
    reasons = result.get("fidelity", {}).get("reasons") or []
    cause = result.get("cause") or next((r for r in reasons if r.startswith("invalid")), "")
    return {
        "run": number,
        "fault": fault,
        "moment_s": moment,
        "victim": victim,
        "verdict": result.get("verdict", "invalid"),
        "cause": re.sub(r"\s+", " ", cause)[:110],
        "took_s": round(time.monotonic() - began, 1),
        "wrong": wrong,
        "sound": True,
    }


def _do(lab: Lab, fault: str, victim: str, moment: float) -> bool:
    """Bring a fault about; False when there was nothing to hit."""
    if fault == "kill agent":
        lab.kill(victim)
    elif fault == "kill controller":
        lab.kill("controller")
    elif fault == "kill data path":
        workers = until(lambda: lab.leftovers()["workers"], "a data path to kill")
        time.sleep(moment)
        for worker in workers[:1]:
            with suppress(ProcessLookupError):
                os.kill(int(worker), signal.SIGKILL)
        return bool(workers)
    elif fault == "cut link":
        enter_network(lab.machines.machines[victim].descriptor)
        try:
            ethtool.set_up("eth1", False)
        finally:
            enter_network(lab.machines._home)
    elif fault == "disk full":
        with suppress(OSError), (lab.folder / "state" / victim / "filler").open("wb") as file:
            while True:
                file.write(bytes(4096))
    return True


def _repair(lab: Lab, relay: Lossy, fault: str, victim: str, clean_s: float) -> dict[str, Any]:
    """Mend what was broken; what is left of the run afterwards."""
    if fault == "disk full":
        (lab.folder / "state" / victim / "filler").unlink(missing_ok=True)
    if fault == "kill agent":
        restart(lab, victim)
    if fault in ("kill controller", "stranger beats"):
        relay.forget.set()
        before = lab.said("controller")
        ups = {host: before.count(f"agent {host}: up") for host in lab.hosts}
        lab.controller(lab.bed)
        for host in lab.hosts:
            until(
                lambda host=host: lab.said("controller").count(f"agent {host}: up") > ups[host],
                "up again",
            )
    return clean(lab, within_s=clean_s)


COLUMNS = ("run", "fault", "moment_s", "victim", "verdict", "took_s", "left", "wrong", "cause")


def show(row: dict[str, Any]) -> str:
    """A row of the table."""
    widths = (4, 16, 8, 24, 8, 7, 6, 6, 0)
    cells = ["-" if row[column] in ({}, "", None) else str(row[column]) for column in COLUMNS]
    return " ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))


def summary(rows: list[dict[str, Any]], took_s: float) -> str:
    """How the runs of each fault ended, and which were not as they should be."""
    lines = [
        f"{'fault':16} {'runs':>5} {'met':>5} {'unjudged':>9}"
        f" {'missed':>7} {'invalid':>8} {'other':>6}  longest"
    ]
    for fault in dict.fromkeys(row["fault"] for row in rows):
        mine = [row for row in rows if row["fault"] == fault]
        words = ("met", "unjudged", "missed", "invalid")
        counts = [sum(row["verdict"] == word for row in mine) for word in words]
        longest = max(row["took_s"] for row in mine)
        cells = [len(mine), *counts, len(mine) - sum(counts)]
        widths = (5, 5, 9, 7, 8, 6)
        numbers = " ".join(str(cell).rjust(w) for cell, w in zip(cells, widths, strict=True))
        lines.append(f"{fault:16} {numbers}  {longest:.1f} s")
    left = [row["run"] for row in rows if row["left"]]
    unsound = [row["run"] for row in rows if not row["sound"]]
    lines.append(f"{len(rows)} runs in {took_s / 60:.1f} min; left something: {left or 'none'}")
    lines.append(f"hung, unnamed, wrong or leaking: {unsound or 'none'}")
    lines.append(f"came through undistorted: {through(rows):.0%}, {THROUGH:.0%} must")
    lines.append("sound" if sound(rows) else "NOT SOUND")
    return "\n".join(lines)


def through(rows: list[dict[str, Any]]) -> float:
    """The share of runs that came to their end undistorted."""
    return sum(row["verdict"] in mischief.CAME for row in rows) / max(len(rows), 1)


def sound(rows: list[dict[str, Any]]) -> bool:
    """Whether all is as it should be, see the module."""
    return all(row["sound"] for row in rows) and through(rows) >= THROUGH


def main() -> int:
    """Run from the command line."""
    from orchestrator.targets.software.worker_process import Worker

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    asked = parser.parse_args()
    ends_on_signals()
    plans.compile_once()
    began = time.monotonic()
    print(" ".join(COLUMNS), flush=True)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        job = "tests.trials.chaos:chaos"
        runs = range(asked.first, asked.first + asked.runs)
        with Worker(job, folder, asked.seed, runs) as worker:
            for row in worker.reports():
                print(show(row), flush=True)
            rows = worker.result
    print(summary(rows, time.monotonic() - began))
    return int(not sound(rows))


if __name__ == "__main__":
    sys.exit(main())
