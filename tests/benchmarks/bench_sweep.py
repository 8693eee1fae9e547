"""What a point of a sweep costs beyond its simulation: beside a plain multiprocessing loop.

    python tests/benchmarks/bench_sweep.py [PLACES] [SEEDS]

Both run NetFPGA-QCN figure 11 for 2 s at PLACES weights and round trips (8, 16, 24 …) with SEEDS
seeds each, on two processes. The loop (`multiprocessing.Pool`) is handed plans that were checked
before and does nothing but simulate: no metrics, nothing kept, and as in a sweep nothing captured,
which the plan asks for and which cost the loop more than a sweep adds. The sweep plans, simulates,
measures, keeps every number, and writes its tables; figures are left out. CPU time counts (user and
system, children's too), because a busy machine hits both alike, and what starting the processes
costs is taken off: it is that of a sweep, and of a loop, of one point for each process. They take
turns; the median is told. Prints JSON, and each turn on stderr as it ends.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from orchestrator.batch.experiment import NOT_RUN
from orchestrator.batch.stream_executor import process_executor
from orchestrator.batch.sweep_design import Sweep, SweepOptions
from orchestrator.batch.sweep_run import SweepRun, write_sweep
from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.registry import Registry

FIG11 = """
base = "netfpga-fig11"
name = "bench-sweep"
without = ["expect", "mutant", "figure", "timeline", "phases"]
duration = "2s"

[phases.steady]
from = "0.5s"
to = "2s"
"""
JOBS, TURNS = 2, 3
TRIPS = 8
Job = tuple[dict[str, object], int]


def plan() -> Plan:
    """Figure 11 for 2 s, without the steps of its service."""
    return Plan.load(FIG11, Registry.load())


def simulate(job: Job) -> int:
    """One turn of the loop: a checked plan's table and a seed, simulated."""
    table, seed = job
    registry = Registry.load()
    key = json.dumps(table)
    if key not in _checked:
        _checked.clear()
        _checked[key] = Plan(**table).check(registry)  # type: ignore[arg-type]
    recording = registry.target("simulated").run(_checked[key].with_seed(seed, registry), silent)
    return recording.data_frames


_checked: dict[str, object] = {}


def loop(places: int, seeds: int) -> tuple[float, float]:
    """(CPU, wall) seconds of the plain loop."""
    registry = Registry.load()
    swept = _sweep(places, seeds)
    tables = []
    for place in swept.places:
        settings = [s for axis, v in zip(swept.axes, place, strict=True) for s in axis.settings(v)]
        table = swept.plan.with_settings(settings).check(registry).plan.to_table()
        tables.append({key: value for key, value in table.items() if key not in NOT_RUN})
    jobs: list[Job] = [(table, seed) for table in tables for seed in range(1, seeds + 1)]
    begun = _now()
    with multiprocessing.get_context("spawn").Pool(JOBS) as pool:
        for _ in pool.imap_unordered(simulate, jobs, chunksize=seeds):
            pass
        pool.close()
        pool.join()
    return _since(begun)


def sweep(places: int, seeds: int) -> tuple[float, float]:
    """(CPU, wall) seconds of the sweep, with its tables."""
    begun = _now()
    with tempfile.TemporaryDirectory() as folder:
        from orchestrator.batch.result_store import Store

        running = SweepRun(_sweep(places, seeds), Store(Path(folder) / ".points"), JOBS)
        running.run(process_executor(JOBS))
        write_sweep(running, Path(folder))
    return _since(begun)


def _sweep(places: int, seeds: int) -> Sweep:
    trips = min(places, TRIPS)
    weights = ",".join(map(str, range(1, places // trips + 1)))
    over = [f"nodes.switch.congestion_point.weight={weights}"]
    over.append(f"links.up{{1..8}}.delay={','.join(f'{10 * n}us' for n in range(1, trips + 1))}")
    return Sweep.of(plan(), SweepOptions(over=over, seeds=str(seeds)))


def _now() -> tuple[float, float]:
    used = os.times()
    return sum(used[:4]), time.perf_counter()


def _since(begun: tuple[float, float]) -> tuple[float, float]:
    cpu, wall = _now()
    return cpu - begun[0], wall - begun[1]


def main(places: int, seeds: int) -> None:
    """Turns of both, small and large; what a point costs of each."""
    if places % min(places, TRIPS):
        sys.exit(f"PLACES: {places}; a multiple of {TRIPS} is expected")
    loop(1, 1)  # whatever has to be compiled is, by now
    told = []
    for _ in range(TURNS):
        small, large = (loop(JOBS, 1), sweep(JOBS, 1)), (loop(places, seeds), sweep(places, seeds))
        points = places * seeds - JOBS
        plain, ours = ((large[n][0] - small[n][0]) / points for n in (0, 1))
        told.append((plain * 1e3, ours * 1e3, large[1][1] / large[0][1]))
        text = "a point: loop {:.2f} ms, sweep {:.2f} ms; wall, sweep over loop {:.3f}"
        print(text.format(*told[-1]), file=sys.stderr)
    plain, ours = median(t[0] for t in told), median(t[1] for t in told)
    found = {
        "places": places,
        "seeds": seeds,
        "loop_ms_per_point": round(plain, 2),
        "sweep_ms_per_point": round(ours, 2),
        "overhead_ms_per_point": round(median(t[1] - t[0] for t in told), 2),
        "overhead_share": round(median(t[1] / t[0] - 1 for t in told), 3),
        "wall_sweep_over_loop": round(median(t[2] for t in told), 3),
        "turns": [[round(n, 2) for n in t] for t in told],
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main(*(int(word) for word in (*sys.argv[1:], "16", "5")[:2]))
