"""Seeds of one plan: parsing, spread of the values, and the judgement over all seeds."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from typing import Any

from orchestrator.batch.batch_executor import MeasuredPoint
from orchestrator.errors import BadInput, Problem
from orchestrator.plan import Plan
from orchestrator.plan.input_problems import shown
from orchestrator.plan.timeline_tables import least_seed_share
from orchestrator.run.metric_uncertainty import is_uncertain
from orchestrator.run.verdict import INVALID, MET, MISSED, UNCERTAIN, UNJUDGED

FORMAT = 1
"""Version of seeds.json."""
OF_PLAN = "plan"
MOST = 10_000
HIGHEST = 1 << 62
_SEED_RANGE = re.compile(r"(\d{1,19})(?:\.\.(\d{1,19}))?")
ACCEPTED = (
    f"how many (20: seeds 1 to 20), a list of 2 to {MOST} such as 3,5,8..12, or 'plan' for as many "
    "as the plan says is expected"
)


def read_seeds(text: str, plan: Plan) -> list[int]:
    """Parse seeds: `20` for the first twenty, `3,5,8..12` for a list. Raises BadInput."""
    text = text.strip()
    if text == OF_PLAN:
        if plan.seeds is None:
            raise BadInput(plan.source, "it says no number of 'seeds'; name one with --seeds N")
        return list(range(1, plan.seeds + 1))
    if text.isdecimal() and len(text) < 9 and 0 < int(text) <= MOST:
        return list(range(1, int(text) + 1))
    seeds: list[int] = []
    for part in text.split(",") if "," in text or ".." in text else [""]:
        match = _SEED_RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first or last >= HIGHEST or last - first >= MOST:
            raise BadInput("--seeds", [Problem("--seeds", shown(text), ACCEPTED)])
        seeds += range(first, last + 1)
    if len(seeds) > MOST or len(set(seeds)) < len(seeds):
        accepted = f"at most {MOST} seeds, each once, are expected"
        raise BadInput("--seeds", [Problem("--seeds", shown(text), accepted)])
    return seeds


def judge_seeds(plan: Plan, found: Sequence[MeasuredPoint]) -> dict[str, Any]:
    """Judge several seeds of one experiment by the expectations of a plan.

    An expectation is met if it is met with every seed, or by its `of_seeds`. A seed with an invalid
    run makes the whole result invalid, one with an incomplete scheme makes it missed.
    """
    alone = single(plan)
    judged = [one.judged_by(alone) for one in found]
    rows = [
        over_seeds(expect.of_seeds, [rows[at] for rows, _ in judged]) | {"name": expect.name}
        for at, expect in enumerate(plan.expect)
    ]
    subject = found[0].point.subject
    return {
        "tailback": FORMAT,
        "plan": subject.name,
        "title": plan.title,
        "target": subject.target,
        "verdict": _verdict(
            rows,
            [one.row["fidelity"]["verdict"] for one in found],
            incomplete=any("incomplete" in one.row for one in found),
        ),
        "expectations": rows,
        "seeds": [
            {
                "seed": one.point.seed,
                "verdict": verdict,
                "fidelity": one.row["fidelity"]["verdict"],
                "reasons": one.row["fidelity"].get("reasons", []),
                "notes": one.row["notes"],
                **{key: fidelity[key] for key in ("pace",) if key in fidelity},
            }
            for one, (_, verdict) in zip(found, judged, strict=True)
            for fidelity in [one.row["fidelity"]]
        ],
    }


def single(plan: Plan) -> Plan:
    """The plan by which a single seed is judged."""
    expect = [one.model_copy(update={"of_seeds": None}) for one in plan.expect]
    return plan.model_copy(update={"expect": expect})


def over_seeds(of_seeds: str | None, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One expectation over all seeds: spread, number of seeds that meet it, and its verdict.

    A seed without the metric does not meet it, and there is no median then.
    """
    first, values = rows[0], [row["value"] for row in rows]
    known = [value for value in values if value is not None]
    no_bar = any("no_bar" in row for row in rows)
    bars = [_bar(row) for row in rows]
    median = statistics.median(values) if len(known) == len(values) else None
    met_in = sum(row["met"] for row in rows)
    if of_seeds is None:
        met = met_in == len(rows)
        uncertain = not met and all(row["met"] or row.get("uncertain") for row in rows)
    elif (least := least_seed_share(of_seeds)) is not None:
        met = met_in >= least * len(rows)
        likely = met_in + sum(bool(row.get("uncertain")) for row in rows)
        uncertain = not met and likely >= least * len(rows)
    else:
        low, high = first["min"], first["max"]
        off = statistics.median(bars)
        uncertain = median is not None and is_uncertain(median, off, low, high)
        met = not (uncertain or no_bar) and median is not None and _within(median, low, high)
    kept = ("metric", "of", "phase", "min", "max", "unit")
    return {
        **{key: first[key] for key in kept},
        "of_seeds": of_seeds,
        "met": met,
        "uncertain": uncertain,
        "uncertainty": max(bars) if max(bars) < math.inf else None,
        **({"no_bar": True} if no_bar else {}),
        "met_in": met_in,
        "count": len(rows),
        "mean": statistics.fmean(known) if known else None,
        "sd": statistics.stdev(known) if len(known) > 1 else None,
        "median": median,
        "least": min(known, default=None),
        "most": max(known, default=None),
        "values": values,
        "source": first["source"],
        "note": first["note"],
    }


def _bar(row: dict[str, Any]) -> float:
    """Error bar of a row: 0 where no machine was measured, infinite where it is unbounded."""
    off: float | None = row.get("uncertainty", 0.0)
    return math.inf if off is None else off


def _within(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _verdict(rows: Sequence[dict[str, Any]], fidelities: Sequence[str], *, incomplete: bool) -> str:
    if INVALID in fidelities:
        return INVALID
    rows = [row for row in rows if "no_bar" not in row]
    if not rows:
        return UNJUDGED
    if incomplete:
        return MISSED
    if all(row["met"] for row in rows):
        return MET
    return UNCERTAIN if all(row["met"] or row["uncertain"] for row in rows) else MISSED
