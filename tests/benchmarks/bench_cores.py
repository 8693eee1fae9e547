"""One simulated run on several cores beside the same on one: how much sooner it is done.

    python tests/benchmarks/bench_cores.py [--cores 2] [--json] [PLAN[=DURATION] ...]

The two take turns within every repetition. `sooner` is the median of one core's time over that of
several, by the clock on the wall; `busy` is the CPU time of both. Laying out is in neither. What a
run on many cores can come to at the most is told by its windows: `events` of all parts in each, and
`even`, those of the busiest part in all over their mean: `at_most` is the cores over that. With
`--windows` nothing is timed, so that `--cores` may be more than the machine has.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

from rich.console import Console
from rich.table import Table

from orchestrator.assembly import Assembly, assemble
from orchestrator.engine.node.event_loop import simulate
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.registry import Registry
from orchestrator.targets.parallel.parallel_run import ParallelRun
from orchestrator.targets.parallel.partitioning import split

TREE = """
name = "fat-tree-of-1024"
duration = "200us"
fabric = { kind = "fat-tree", k = 16, rate = "100Gb/s", delay = "1us" }

[traffic.all]
plugin = "cbr"
from = "{hosts}"
to = "{hosts}"
pairing = "ring"
rate = "90Gb/s"
"""
PLANS = ["netfpga-fig11=2s", "ibm-rack640=2ms", "tree"]
Row = dict[str, Any]


def resolved(asked: str) -> ResolvedPlan:
    """A shipped plan, or the tree, for as long as it says behind a `=`."""
    name, _, duration = asked.partition("=")
    table = Plan.load(TREE if name == "tree" else Registry.load().plans()[name]).to_table()
    given = {"timeline": [], "phases": {}, "expect": [], "mutant": [], "figure": []}
    return Plan(**(table | given | ({"duration": duration} if duration else {}))).check(
        Registry.load()
    )


def alone(plan: ResolvedPlan) -> tuple[float, float, Assembly]:
    """Seconds on the wall and of CPU, on one core."""
    assembly = assemble(plan)
    wall, cpu = time.perf_counter(), time.process_time()
    simulate(assembly.world, plan.plan.duration + 1, 1 << 62)
    return time.perf_counter() - wall, time.process_time() - cpu, assembly


def together(plan: ResolvedPlan, cores: int) -> tuple[float, float, ParallelRun]:
    """The same on several."""
    several = ParallelRun(plan, split(plan, cores))
    wall, cpu = time.perf_counter(), time.process_time()
    several.run(lambda _: None)
    return time.perf_counter() - wall, time.process_time() - cpu, several


def compare(asked: str, cores: int, repetitions: int) -> Row:
    """Both in turn; a first round warms up and is not kept."""
    plan = resolved(asked)
    ones, others = [], []
    for repetition in range(repetitions + 1):
        one, other = alone(plan), together(plan, cores)
        if repetition > 0:
            ones.append(one[:2])
            others.append(other[:2])
    medians = [statistics.median(column) for column in zip(*ones, strict=True)]
    theirs = [statistics.median(column) for column in zip(*others, strict=True)]
    times = {
        "one_s": medians[0],
        "several_s": theirs[0],
        "sooner": medians[0] / theirs[0],
        "busy": theirs[1] / medians[1],
    }
    return about(plan) | times | windows(other[2])


def about(plan: ResolvedPlan) -> Row:
    """What was run."""
    return {"plan": plan.plan.name, "nodes": len(plan.plan.nodes)}


def windows(several: ParallelRun) -> Row:
    """What the windows of a run in parts tell, when it is over."""
    events = [int(part.world.clock[0].events) for part in several.assemblies]
    even = max(events) * len(events) / sum(events)
    return {
        "cores": len(events),
        "window_us": several.cuts.window / 1e6,
        "events": sum(events) / int(several.states[0][0]),
        "even": even,
        "at_most": len(events) / even,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plans", nargs="*", default=PLANS, metavar="PLAN")
    parser.add_argument("--cores", type=int, default=2, metavar="N")
    parser.add_argument("--repetitions", type=int, default=3, metavar="N")
    parser.add_argument("--windows", action="store_true", help="tell of the windows, time nothing")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    asked = parser.parse_args()
    if asked.windows:
        plans = [resolved(plan) for plan in asked.plans]
        rows = [about(plan) | windows(together(plan, asked.cores)[2]) for plan in plans]
    else:
        rows = [compare(plan, asked.cores, asked.repetitions) for plan in asked.plans]
    if asked.json:
        print(json.dumps(rows, indent=2))
        return
    table = Table(title="One run on several cores")
    for heading in rows[0]:
        table.add_column(heading, justify="left" if heading == "plan" else "right")
    for row in rows:
        table.add_row(*(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
