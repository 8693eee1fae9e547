"""Clocks per second of the Verilated testbed: two NICs and a switch, overloaded and idle.

    python tests/benchmarks/bench_gateware.py [runs]

On one core per CPU second, on two per second. A run lasts 6 ms of network time, 750 000 clocks of
three nodes; the best of `runs` is what the machine can do, the others are what was taken from it
meanwhile.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from orchestrator.plan import Plan
from orchestrator.run.execute import run

PLAN = Path(__file__).parents[1] / "firmware" / "plans" / "overload.toml"
IDLE = [f"traffic.{flow}.start=5.9ms" for flow in ("one", "two")]


def main() -> None:
    """Print the figures."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    plan = Plan.load(PLAN)
    for title, settings in (("overloaded", []), ("idle", IDLE)):
        for cores, rate in ((1, "clocks_per_cpu_s"), (2, "clocks_per_s")):
            found = []
            for _ in range(runs):
                done = run(plan.with_settings(settings), target="gateware", out=None, cores=cores)
                found.append(done.result["fidelity"][rate])
            each = " ".join(f"{clocks / 1e6:.3f}" for clocks in found)
            print(f"{title:12} {cores} cores  {max(found) / 1e6:.3f} MHz {rate}  ({each})")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
