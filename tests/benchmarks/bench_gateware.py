"""Clocks per CPU second of the Verilated testbed: two NICs and a switch, overloaded and idle.

    python tests/benchmarks/bench_gateware.py [runs]

A run lasts 6 ms of network time, 750 000 clocks of three nodes. Models whose parts sleep take turns
with the same models where all parts run in every clock, so that a busy machine is so for both; the
best of `runs` is what the machine can do, the others are what was taken from it meanwhile.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from unittest.mock import patch

from firmware.model import build
from orchestrator.plan import Plan
from orchestrator.run.execute import run

PLAN = Path(__file__).parents[1] / "firmware" / "plans" / "overload.toml"
IDLE = [f"traffic.{flow}.start=5.9ms" for flow in ("one", "two")]
BUILDS = {"all awake": "+define+AWAKE", "sleeping": build.GATED}


def clocks_per_s(plan: Plan, gated: str) -> float:
    """Of one run."""
    with patch.object(build, "GATED", gated):
        done = run(plan, target="gateware", out=None)
    return float(done.result["fidelity"]["clocks_per_cpu_s"])


def main() -> None:
    """Print the figures."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    plan = Plan.load(PLAN)
    for title, settings in (("overloaded", []), ("idle", IDLE)):
        found: dict[str, list[float]] = {name: [] for name in BUILDS}
        for _ in range(runs):
            for name, gated in BUILDS.items():
                found[name].append(clocks_per_s(plan.with_settings(settings), gated) / 1e6)
        for name, rates in found.items():
            every = " ".join(f"{rate:.3f}" for rate in rates)
            print(f"{title:12} {name:10} {max(rates):.3f} MHz  ({every})")
        print(f"{title:12} {max(found['sleeping']) / max(found['all awake']):.2f} times")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
