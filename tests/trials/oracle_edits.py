"""Score of the oracle: drawn edits of captures, how many are found, how many named rightly.

python -m tests.trials.oracle_edits --draw 100 --seed 1 --out build/oracle-edits.json
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.progress import silent
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from tests.scores import Score, Survivor, write_score
from tests.traces.oracle.drawn_edits import drawn
from traces.oracle.conformance_judge import Settings, judge
from traces.plugin import tailback_run_files


@dataclass(frozen=True)
class Judged:
    """An edit and the oracle's answer to it."""

    name: str
    operator: str
    is_found: bool
    is_named: bool
    reason: str
    """Rule and sentence; of an edit that was not found, that."""


def record(table: dict[str, Any]) -> tuple[ResolvedPlan, Recording]:
    """Run a plan on the simulator."""
    resolved = Plan(**table).check(Registry.load())
    return resolved, Registry.load().target("simulated").run(resolved, silent)


def judged(seed: int) -> Judged:
    """Draw an edit and judge its captures."""
    resolved, recording, edit, operator = drawn(seed, record)
    name = f"{resolved.plan.name}: {edit.what}"
    with tempfile.TemporaryDirectory(prefix="edits-") as folder:
        tailback_run_files(Path(folder), recording, resolved.plan)
        paths = sorted((Path(folder) / "captures").iterdir())
        found = judge(paths, resolved, Settings(only=frozenset({edit.place.node}))).findings
    if not found:
        return Judged(name, operator, False, False, "not found")
    rule, why = found[0].rule, found[0].diagnosis.why
    return Judged(name, operator, True, edit.is_named_by(rule, why), f"{rule}: {why}")


def main() -> int:
    """Exit code 1 below the aims: 98 % found, 90 % named."""
    parser = argparse.ArgumentParser(prog="tests.trials.oracle_edits", description=__doc__)
    parser.add_argument("--draw", type=int, default=100, metavar="N", help="edits to draw")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="seed of the draw")
    parser.add_argument("--first", type=int, default=0, metavar="K", help="begin with edit K")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the score as JSON")
    asked = parser.parse_args()
    rows = []
    for number in range(asked.first, asked.first + asked.draw):
        row = judged(asked.seed * 10_000 + number)
        rows.append(row)
        if not row.is_named:
            print(f"{number}: {row.name}: {row.reason}", flush=True)
    found, named = sum(row.is_found for row in rows), sum(row.is_named for row in rows)
    print(f"{found} of {asked.draw} found, {named} named")
    if asked.out is not None:
        survivors = [Survivor(row.name, row.reason) for row in rows if not row.is_named]
        command = f"make oracle-edits DRAW={asked.draw} SEED={asked.seed}"
        score = Score("oracle", asked.seed, command, asked.draw, found, survivors, named)
        write_score(asked.out, score)
    return int(found < 0.98 * asked.draw or named < 0.9 * asked.draw)


if __name__ == "__main__":
    sys.exit(main())
