"""Networks of many nodes: frames per CPU second and memory, each in a process of its own.

    python tests/benchmarks/bench_large.py [--json]

`rack640` is the shipped plan `ibm-rack640`: 640 hosts on one switch with queues for every input and
output. `tree` is the largest fat tree that a plan's one line makes, 8 192 hosts, for 1 ms: checked,
laid out, run, and drawn in its report. A frame counts when it was delivered.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

TREE = """
name = "fat-tree-of-8192"
duration = "1ms"
sample_interval = "100us"
fabric = { kind = "fat-tree", k = 32, rate = "10Gb/s", delay = "1us" }

[traffic.all]
plugin = "cbr"
from = "{hosts}"
to = "{hosts}"
pairing = "ring"
rate = "1Gb/s"
"""
Row = dict[str, Any]


def whole(name: str) -> Row:
    """This process does nothing else: its most memory is that of the run."""
    from orchestrator.plan import Plan
    from orchestrator.progress import silent
    from orchestrator.registry import Registry
    from orchestrator.run.execute_run import run

    registry = Registry.load()
    began = time.perf_counter()
    plan = Plan.load(TREE) if name == "tree" else Plan.load(registry.plans()["ibm-rack640"])
    resolved = plan.check(registry)
    checked = time.perf_counter()
    recording = registry.target("simulated").run(resolved, silent)
    simulated = time.perf_counter()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    row: Row = {
        "plan": resolved.plan.name,
        "nodes": len(resolved.plan.nodes),
        "check_s": checked - began,
        "laid_out_and_run_s": simulated - checked,
        "simulated_cpu_s": recording.cpu_s,
        "frames": recording.data_frames,
        "frames_per_cpu_s": recording.data_frames / recording.cpu_s,
        "most_memory_mb": most,
    }
    if name == "tree":
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            run(plan, out=Path(folder))
            row["with_report_s"] = time.perf_counter() - began
        row["most_memory_with_report_mb"] = (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        )
    return row


def measure() -> list[Row]:
    """Both; the second time each, when all is compiled."""
    rows = []
    for name in ("rack640", "tree"):
        words = [sys.executable, __file__, "--alone", name]
        for _ in range(2):
            done = subprocess.run(words, stdout=subprocess.PIPE, check=True, env=os.environ)
        rows.append(json.loads(done.stdout))
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--alone", choices=("rack640", "tree"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(whole(options.alone)))
        return
    rows = measure()
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    table = Table("what", *(row["plan"] for row in rows), title="Networks of many nodes")
    for key in rows[-1]:
        cells = [row.get(key, "") for row in rows]
        table.add_row(key, *(f"{c:.4g}" if isinstance(c, float) else str(c) for c in cells))
    Console().print(table)


if __name__ == "__main__":
    main()
