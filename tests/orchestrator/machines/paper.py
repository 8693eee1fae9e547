"""The NetFPGA paper's figure 11 in full over four machines, and on one: do the two agree?

    python -m tests.orchestrator.machines.paper

Two NIC machines, a switch machine and a sink machine are network namespaces; the same plan then
runs on this machine alone, and `tailback compare` judges. It takes a minute on two idle cores; a
busy machine makes both runs `invalid`, which says nothing about tailback.

Where `compare` finds a difference, seeds of the simulated target tell what it is worth: nothing
disturbs those, so they differ by chance alone. A phase that is one single event (the climb after
the service rate has risen) differs from seed to seed by more than `compare` takes for the same; the
four machines then agree when their figure is one that a seed could have given: within three
standard deviations of the seeds. Where fewer than one in twenty pairs of seeds differ, nothing is
excused.

Exit code 0 when both are `met`, nothing was left behind and the two agree in this sense.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from orchestrator.plan import Plan
from orchestrator.run import run
from orchestrator.targets.software.launch import run_job
from tests.orchestrator.machines import plans
from tests.orchestrator.machines.lab import ends_on_signals
from traces.compare import compare, rule
from traces.compare.found import Difference
from traces.runs import load

SEEDS = 12
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


def by_chance(plan: Plan, differences: list[Difference]) -> bool:
    """Whether the first value of each difference is one that seeds differ to by themselves."""
    if not differences:
        return True
    seeds = [run(plan, target="simulated", seed=seed).result for seed in range(1, SEEDS + 1)]
    sound = True
    for one in differences:
        where = f"{one.phase} {one.entity} {one.metric}"
        known = [result["metrics"][one.phase][one.entity][one.metric] for result in seeds]
        mean, deviation = statistics.fmean(known), statistics.stdev(known)
        pairs = list(itertools.combinations(known, 2))
        apart = sum(not rule.RULES[one.metric](pair) for pair in pairs)
        print(
            f"{where}: {SEEDS} seeds simulated {min(known):.5g} to {max(known):.5g}, {mean:.5g} +- "
            f"{deviation:.3g}; {apart} of their {len(pairs)} pairs differ"
        )
        for who, value in zip(("four machines", "one machine"), one.values, strict=True):
            away = abs((value or 0.0) - mean) / deviation
            print(f"    {who} {value:.5g}: {away:.1f} standard deviations from the seeds' mean")
        away = abs((one.values[0] or 0.0) - mean)
        sound &= away <= 3 * deviation and apart > len(pairs) / 20
    return sound


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
        job = "tests.orchestrator.machines.scenarios:paper"
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
    subprocess.run([sys.executable, "-m", "orchestrator.cli", "compare", *folders])
    compared = compare([load(folder) for folder in folders])
    apart = [one for one in compared.differences if one.agree is False]
    agree = by_chance(plan, apart)
    print(
        f"compare {' '.join(folders)}: {'DISAGREE' if apart else 'agree'}"
        + (f"; as far as seeds do: {'yes' if agree else 'NO'}" if apart else "")
    )
    sound = result["verdict"] == alone.result["verdict"] == "met" and not across["left"]
    return int(not sound or not agree)


if __name__ == "__main__":
    sys.exit(main())
