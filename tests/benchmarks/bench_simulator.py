"""Frames per CPU second of the simulator beside SimPy and a hand-written C++ loop, in one run.

    python tests/benchmarks/bench_simulator.py [--json]

Contestants take turns within every repetition, so that a machine that slows down slows all of them
down: compare the ratios, not the figures. "tailback fig11" is NetFPGA-QCN, figure 11 with n
saturating sources (QCN, token buckets, sampling); all others simulate one network without any of
that: n constant-rate sources with a link each, a drop-tail bottleneck, a sink. A frame counts when
its fate is settled: delivered, or dropped at the bottleneck.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import peer_cpp
import peer_simpy
import subject
from peer_simpy import Outcome
from rich.console import Console
from rich.progress import track
from rich.table import Table

Contestant = Callable[[int], Outcome]
"""Takes the number of sources."""
Row = dict[str, float | int | str]

SUBJECT = "tailback fig11"


def contestants(folder: Path) -> dict[str, Contestant]:
    """Who takes part. The simulated times give each about half a second of CPU time."""
    program = peer_cpp.build(folder)
    return {
        SUBJECT: lambda sources: subject.simulate(subject.fig11(sources)),
        "tailback, peers' network": lambda sources: subject.simulate(subject.bare(sources, 10_000)),
        "C++ event loop": lambda sources: peer_cpp.run(program, sources, 30_000),
        "SimPy": lambda sources: peer_simpy.run(sources, 1_000),
    }


def measure(
    field: dict[str, Contestant], sources: list[int], repetitions: int
) -> dict[int, dict[str, list[float]]]:
    """Figures by number of sources and contestant; a first round warms up and is not kept."""
    figures: dict[int, dict[str, list[float]]] = {n: {name: [] for name in field} for n in sources}
    turns = [
        (repetition, count, name)
        for repetition in range(repetitions + 1)
        for count in sources
        for name in field
    ]
    for repetition, count, name in track(turns, "measuring", console=Console(stderr=True)):
        outcome = field[name](count)
        if repetition > 0:
            figures[count][name].append((outcome.delivered + outcome.dropped) / outcome.cpu_s)
    return figures


def summary(figures: dict[int, dict[str, list[float]]]) -> list[Row]:
    """One row per number of sources and contestant.

    `ratio` is the median of fig11 over the contestant's; `kept` is the contestant's median over its
    own at the first number of sources.
    """
    rows: list[Row] = []
    first = next(iter(figures.values()))
    for count, by_name in figures.items():
        ours = statistics.median(by_name[SUBJECT])
        for name, values in by_name.items():
            median = statistics.median(values)
            rows.append(
                {
                    "sources": count,
                    "contestant": name,
                    "frames_per_cpu_s": median,
                    "min": min(values),
                    "max": max(values),
                    "ratio": ours / median,
                    "kept": median / statistics.median(first[name]),
                }
            )
    return rows


def table(rows: list[Row]) -> Table:
    """The summary for people."""
    result = Table(title="Frames per CPU second")
    for heading in ("sources", "contestant", "median", "min", "max", "fig11 is", "kept"):
        result.add_column(heading, justify="left" if heading == "contestant" else "right")
    for row in rows:
        figures = (f"{float(row[key]) / 1e6:.3f} M" for key in ("frames_per_cpu_s", "min", "max"))
        ratios = f"{float(row['ratio']):.2f} x", f"{float(row['kept']):.0%}"
        result.add_row(str(row["sources"]), str(row["contestant"]), *figures, *ratios)
    return result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N")
    parser.add_argument("--sources", type=int, nargs="+", default=[8, 64, 512], metavar="N")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(contestants(Path(folder)), options.sources, options.repetitions)
    rows = summary(figures)
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        Console().print(table(rows))


if __name__ == "__main__":
    main()
