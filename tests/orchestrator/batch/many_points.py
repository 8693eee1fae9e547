"""A sweep of many points whose results are made up: planned, stored, read, written and drawn.

    python -m tests.orchestrator.batch.many_points [PLACES] [SEEDS]

Nothing is simulated; each point's numbers are drawn by its seed. Prints JSON: points, seconds of
each part, and the most memory of the process before and after (MB).
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from orchestrator.batch.result_store import Store
from orchestrator.batch.stream_executor import process_executor
from orchestrator.batch.sweep_design import Sweep, SweepOptions
from orchestrator.batch.sweep_run import SweepRun, write_sweep_folder
from tests.orchestrator.batch.made import random_flow

SHARE = "utilization of switch.sink in run"
UNITS = {"utilization": "ratio", "queue_bytes.mean": "B"}


def made_up(place: int, seed: int) -> dict[str, Any]:
    """Numbers that nobody measured."""
    draw = random.Random(place * 100_003 + seed)
    numbers = {"utilization": draw.random(), "queue_bytes.mean": 1e5 * draw.random()}
    return {
        "metrics": {"run": {"switch.sink": numbers}},
        "units": UNITS,
        "fidelity": {"verdict": "valid", "reasons": []},
        "notes": [],
        "cost_s": 0.1,
    }


def peak_mb() -> float:
    """The most memory that this process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def many(side: int, seeds: int, out: Path) -> dict[str, Any]:
    """`side` x `side` places with so many seeds each."""
    over = [f"traffic.gen.rate=1Mb/s..900Mb/s/{side}", f"nodes.switch.buffer=2KB..900KB/{side}"]
    told: dict[str, Any] = {}
    begun = time.monotonic()

    def lap(name: str) -> None:
        nonlocal begun
        told[name] = round(time.monotonic() - begun, 2)
        begun = time.monotonic()

    before = peak_mb()
    wishes = SweepOptions(over, str(seeds), draw=[SHARE], edge=f"{SHARE} > 0.5")
    sweep = Sweep.of(random_flow(), wishes)
    lap("planned_s")
    filler = Store(out / ".points")
    for at in sweep.order():
        for point in sweep.points([at], sweep.seeds):
            filler.put(point, made_up(at, point.seed))
    lap("stored_s")
    running = SweepRun(sweep, Store(out / ".points"), 2)
    assert running.run(process_executor(2))
    lap("found_s")
    result, folder = write_sweep_folder(running, out)
    lap("written_and_drawn_s")
    assert (folder / "map-0.svg").exists()
    return {
        "points": result["points"],
        **told,
        "memory_before_mb": round(before),
        "memory_mb": round(peak_mb()),
        "made_up": True,
    }


def main() -> None:
    side = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(many(side, seeds, Path(folder))))


if __name__ == "__main__":
    main()
