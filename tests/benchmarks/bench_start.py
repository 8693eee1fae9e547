"""What a user waits for before and beside a simulation, in seconds: of CPUs and on the wall.

    python tests/benchmarks/bench_start.py [--repetitions 5] [--json]

- `first`: `tailback run quickstart` in an empty cache folder: nothing was compiled before, once;
- `version`: `tailback --version`;
- `instant`: a run of one microsecond: what lies before the first event and behind the last one;
- `quickstart`, `p4qcn-fig17`: the command with its report. `simulated_s` is the run's own account
  of its CPU time from the first event to the last.

The figures are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

INSTANT = """
name = "an-instant"
duration = "1us"
[nodes]
source = { kind = "nic" }
sink = { kind = "sink" }
[links]
wire = { ends = ["source", "sink"], rate = "1Gb/s" }
[traffic]
one = { plugin = "cbr", from = "source", to = "sink", rate = "1Gb/s" }
"""
TAILBACK = Path(sys.executable).with_name("tailback")
Row = dict[str, Any]


def took(folder: Path, words: list[str], cache: Path | None = None) -> tuple[float, float]:
    """CPU seconds of a command and its children, and those on the wall."""
    environment = dict(os.environ) | ({"XDG_CACHE_HOME": str(cache)} if cache else {})
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [TAILBACK, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{done.stderr}\ncode {done.returncode} from: tailback {' '.join(words)}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall


def simulated(folder: Path, plan: str) -> float:
    """CPU seconds between the first event and the last, by the latest run of a plan."""
    latest = max((folder / "runs" / plan).glob("*/result.json"), key=lambda path: path.parent.name)
    found: float = json.loads(latest.read_text())["performance"]["cpu_s"]
    return found


def measure(repetitions: int) -> list[Row]:
    """One row per command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "instant.toml").write_text(INSTANT)
        commands = {
            "version": ["--version"],
            "instant": ["run", "instant.toml", "--no-live", "--no-report"],
            "quickstart": ["run", "quickstart", "--no-live"],
            "p4qcn-fig17": ["run", "p4qcn-fig17", "--no-live"],
        }
        first = took(folder, ["run", "quickstart", "--no-live", "--no-report"], folder / "cache")
        rows: list[Row] = [{"what": "first", "cpu_s": first[0], "wall_s": first[1]}]
        for words in commands.values():
            took(folder, words)  # whatever it has to compile is, by now
        turns = [
            {what: took(folder, words) for what, words in commands.items()}
            for _ in range(repetitions)
        ]
        for what in commands:
            cpu, wall = (statistics.median(turn[what][n] for turn in turns) for n in (0, 1))
            row: Row = {"what": what, "cpu_s": cpu, "wall_s": wall}
            if what in ("quickstart", "p4qcn-fig17"):
                row["simulated_s"] = simulated(folder, what)
            rows.append(row)
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N")
    options = parser.parse_args()
    rows = measure(options.repetitions)
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    table = Table("what", "CPU s", "wall s", "simulation, CPU s", title="Before and beside a run")
    for row in rows:
        own = f"{row['simulated_s']:.3f}" if "simulated_s" in row else ""
        table.add_row(row["what"], f"{row['cpu_s']:.2f}", f"{row['wall_s']:.2f}", own)
    Console().print(table)


if __name__ == "__main__":
    main()
