"""NetFPGA-QCN, figure 11 in full over four machines, and on one: do the two agree?

    python -m tests.trials.paper

Two NIC machines, a switch machine and a sink machine are network namespaces; the same plan then
runs on this machine alone, and `tailback compare` judges. It takes a minute on two idle cores; a
busy machine makes both runs `invalid`, which says nothing about tailback.

Where `compare` finds a difference, simulated seeds tell what it is worth (`compare --seeds`): a
phase that is one single event (the climb after the service rate has risen) differs from seed to
seed by more than `compare` takes for the same.

Exit code 0 when both are `met`, nothing was left behind and the two agree in this sense.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from orchestrator.run.execute_run import run
from orchestrator.targets.software.worker_process import run_job
from tests.trials import plans
from tests.trials.lab import ends_on_signals

SEEDS = "12"
"""Simulated, where the two runs differ."""
QUEUE = ("queue_bytes.mean", "queue_bytes.sd", "utilization", "frames.dropped")


def show(where: str, result: dict[str, Any]) -> None:
    """What came of one of the two runs."""
    fidelity = result["fidelity"]
    print(f"{where}: verdict {result['verdict']}, fidelity {fidelity['verdict']}")
    for reason in [*filter(None, [result.get("cause")]), *fidelity["reasons"]]:
        print(f"    {reason}")
    for row in result["expectations"]:
        if not row["met"]:
            print(f"    missed: {json.dumps(row)}")
    for phase in ("high", "low", "again"):
        port = result["metrics"].get(phase, {}).get("switch.sink", {})
        print(f"    {phase}: " + ", ".join(f"{name} {port.get(name)}" for name in QUEUE))
    if clocks := result.get("clocks"):
        bound, measured = clocks["error_s"] * 1e6, clocks["measured_s"] * 1e6
        print(f"    clocks within {bound:.3g} us; the plan measures {measured:.3g} us")
        for name, estimate in clocks["machines"].items():
            print(f"        {name}: {json.dumps(estimate)}")


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs"), help="where run folders go")
    parser.add_argument("--short", action="store_true", help="its first second: a trial")
    parser.add_argument("--ahead", type=int, default=0, help="seconds between the machines' clocks")
    parser.add_argument("--pace", type=float, default=1.0, help="seconds of the run per second")
    asked = parser.parse_args()
    ends_on_signals()
    plan = plans.figure11(whole=not asked.short)
    print(f"load before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores", flush=True)
    out = asked.out.absolute()
    with tempfile.TemporaryDirectory(prefix="paper-") as folder:
        job = "tests.trials.scenarios:paper"
        across = run_job(job, folder, plan.to_toml(), str(out), asked.ahead, asked.pace)
    result = across["result"]
    if not result.get("metrics"):
        print(f"four machines: exit code {across['code']}: {across['said']}")
        return 1
    show("four machines", result)
    print(f"    left behind: {across['left'] or 'nothing'}", flush=True)
    alone = run(plan, target="software", out=out, pace=asked.pace)
    show("one machine", alone.result)
    print(f"load after: {os.getloadavg()[0]:.2f}", flush=True)
    folders = [result["folder"], str(alone.folder)]
    compared = [sys.executable, "-m", "orchestrator.cli", "compare", *folders, "--seeds", SEEDS]
    agree = subprocess.run(compared).returncode == 0
    sound = result["verdict"] == alone.result["verdict"] == "met" and not across["left"]
    return int(not sound or not agree)


if __name__ == "__main__":
    sys.exit(main())
