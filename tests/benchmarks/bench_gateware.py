"""Clocks per second of the Verilated testbed: two NICs and a switch, overloaded and idle.

    python tests/benchmarks/bench_gateware.py [runs] [--json]

On one core per CPU second, on two per second. A run lasts 6 ms of network time, 750 000 clocks of
three nodes; the best of `runs` is what the machine can do, the others are what was taken from it
meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from orchestrator.plan import Plan
from orchestrator.run.execute_run import run

PLAN = Path(__file__).parents[1] / "firmware" / "plans" / "overload.toml"
IDLE = [f"traffic.{flow}.start=5.9ms" for flow in ("one", "two")]


def measure(runs: int) -> list[dict[str, Any]]:
    """One row for each load and number of cores; `mhz` is that of the best run."""
    plan = Plan.load(PLAN)
    rows = []
    for load, settings in (("overloaded", []), ("idle", IDLE)):
        for cores, rate in ((1, "clocks_per_cpu_s"), (2, "clocks_per_s")):
            found = []
            for _ in range(runs):
                done = run(plan.with_settings(settings), target="gateware", out=None, cores=cores)
                found.append(done.result["fidelity"][rate] / 1e6)
            rows.append(
                {"load": load, "cores": cores, "rate": rate, "mhz": max(found), "all": found}
            )
    return rows


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="?", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    asked = parser.parse_args()
    rows = measure(asked.runs)
    if asked.json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        each = " ".join(f"{one:.3f}" for one in row["all"])
        print(
            f"{row['load']:12} {row['cores']} cores  {row['mhz']:.3f} MHz {row['rate']}  ({each})"
        )
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
