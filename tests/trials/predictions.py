"""Does what `--as PROFILE` predicts come true? Unseen plans, simulated, put down, then run.

    python -m tests.trials.predictions --profile mine.json --seed 4 --plans 50

Plans are drawn by the seed (tests/trials/drawn.py). Each is simulated as the machine of the profile
over several seeds; where another run is to be with 95 % is written to OUT/predictions.json, and the
digest of that file is printed, before anything is run on real frames. Then every plan is run on
`software` once, with a seed of its own, and it is counted how many numbers lie within. Runs that
the machine distorted say nothing: they are run again, three times at most, and then left out.
`--predict` ends before the runs, `--run` goes on from the file.

Exit code 1 when less than 90 % or more than 99 % of the intervals cover what came.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from orchestrator.batch.batch_executor import is_storable, run_points
from orchestrator.batch.confidence_interval import prediction_intervals
from orchestrator.batch.experiment import Experiment, Point
from orchestrator.batch.metric_columns import ColumnTable
from orchestrator.batch.realtime_executors import TRIES, plan_of, run_locally
from orchestrator.errors import TailbackError
from orchestrator.plan import Plan
from orchestrator.profile import read_profile
from orchestrator.targets.software.emulate_machine import emulate_machine
from tests.trials import drawn
from tests.trials.lab import ends_on_signals

COLUMNS = (
    "queue_bytes.mean of s.d in steady",
    "utilization of s.d in steady",
    "fct_s.mean of t in steady",
)
"""What is predicted; completion times of plans that have messages."""
RUN_SEED = 1
FIRST_SEED = 1001
"""Of the simulated runs: none of them has the seed of the real one."""
LEAST, MOST = 0.90, 0.99
Row = dict[str, Any]


def chosen(row: Row) -> Row:
    """The numbers of a run that are predicted, by the names of columns."""
    flat = ColumnTable(lambda metric, of, phase: f"{metric} of {of} in {phase}" in COLUMNS).of(row)
    return {name: value for name, value in flat.items() if name in COLUMNS}


def predict(profile: Path, seed: int, plans: int, seeds: int) -> list[Row]:
    """An interval for every number of every plan."""
    told = []
    known = read_profile(profile)
    for number in range(plans):
        table = drawn.plan(seed, number)
        subject = Experiment.of(emulate_machine(Plan(**table), known, profile), None)
        points = [Point(subject, FIRST_SEED + one) for one in range(seeds)]
        found = run_points(points)
        within = prediction_intervals(Plan(**table), found)
        within = {name: within[name] for name in COLUMNS if name in within}
        told.append({"number": number, "plan": table, "within": within})
        print(f"{table['name']}: predicted", file=sys.stderr, flush=True)
    return told


def ran(table: Row) -> tuple[Row, Row]:
    """The numbers of a run on real frames, and its fidelity."""
    plan = Plan(**table, target="software")
    point = Point(Experiment.of(plan, None), RUN_SEED)
    for _ in range(TRIES):
        row = run_locally(plan_of)(point)
        if is_storable(point, row):
            break
    return chosen(row), row["fidelity"]


def compare(told: Row) -> list[Row]:
    """A row for each number: what was predicted, what came, whether it is within."""
    came, fidelity = ran(told["plan"])
    return [
        {
            "plan": told["plan"]["name"],
            "metric": name,
            **within,
            "came": came.get(name),
            "fidelity": fidelity["verdict"],
            "covered": came.get(name) is not None and within["low"] <= came[name] <= within["high"],
        }
        for name, within in told["within"].items()
    ]


def table(rows: list[Row]) -> str:
    """Markdown: each metric's coverage, then what lay outside."""
    said = [row for row in rows if row["fidelity"] != "invalid"]
    lines = ["| metric | intervals | cover | share |", "|---|---|---|---|"]
    for name in (*COLUMNS, "all"):
        mine = [row for row in said if name in (row["metric"], "all")]
        if mine:
            hit = sum(row["covered"] for row in mine)
            lines.append(f"| {name} | {len(mine)} | {hit} | {hit / len(mine):.1%} |")
    grades = Counter({row["plan"]: row["fidelity"] for row in rows}.values())
    lines += ["", "Plans by fidelity: " + ", ".join(f"{n} {g}" for g, n in sorted(grades.items()))]
    lines += [""] + [
        f"- {row['plan']}, {row['metric']}: {row['came']:.6g} is not within "
        f"{row['low']:.6g} to {row['high']:.6g}"
        for row in said
        if not row["covered"] and row["came"] is not None
    ]
    return "\n".join(lines) + "\n"


def share(rows: list[Row]) -> float:
    """Of intervals that cover what came, among runs that say something."""
    said = [row["covered"] for row in rows if row["fidelity"] != "invalid"]
    return sum(said) / len(said) if said else 0.0


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--profile", type=Path, help="a file of `tailback calibrate`")
    parser.add_argument("--seed", type=int, default=4, help="by which plans are drawn")
    parser.add_argument("--plans", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=12, help="simulated runs of each plan")
    parser.add_argument("--predict", action="store_true", help="end before anything is run")
    parser.add_argument("--run", action="store_true", help="go on from what was put down")
    parser.add_argument("--out", type=Path, default=Path("build/predictions"))
    asked = parser.parse_args()
    if not asked.run and asked.profile is None:
        parser.error("--profile FILE is expected, or --run")
    ends_on_signals()
    frozen = asked.out / "predictions.json"
    try:
        if not asked.run:
            asked.out.mkdir(parents=True, exist_ok=True)
            told = predict(asked.profile, asked.seed, asked.plans, asked.seeds)
            frozen.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        octets = frozen.read_bytes()
        when = datetime.datetime.fromtimestamp(frozen.stat().st_mtime, datetime.UTC)
        print(f"put down {when:%F %T}Z, sha256 {hashlib.sha256(octets).hexdigest()}", flush=True)
        if asked.predict:
            return 0
        rows = []
        for one in json.loads(octets):
            rows += compare(one)
            for row in rows[-len(one["within"]) :]:
                print(json.dumps(row), flush=True)
    except TailbackError as refused:
        print(refused, file=sys.stderr)
        return refused.exit_code
    (asked.out / "came.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    (asked.out / "predictions.md").write_text(table(rows), encoding="utf-8")
    print(table(rows))
    return int(not LEAST <= share(rows) <= MOST)


if __name__ == "__main__":
    sys.exit(main())
