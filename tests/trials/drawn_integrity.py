"""Distortions drawn by a seed: is any run that they move taken for a faithful one?

    make integrity DRAW=20 SEED=3

Each draw has a plan, a link, a kind of distortion, its strength and its pattern in time, none of
which is listed beforehand. Metrics of a distorted run are compared with those of control runs of
the same plan, some through a relay that passes all frames on: it is moved where one of them is
off by more than both error bars, five per cent, twice the spread of the control runs, and three
standard deviations over simulated seeds, as a loop on real frames is no two times the same. It is
found where fidelity has a reason that no control run
over the same link has: a relay that is slow on a busy machine finds nothing. The score is two
counts, both of which should be 0: runs that are moved and not found, and quiet runs that are
`invalid`. Survivors are listed with their seed in OUT/drawn.md and OUT/drawn.json; OUT/score.json
is for the page of scores (`python -m tests.scores`).
"""

from __future__ import annotations

import functools
import json
import math
import random
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.errors import RunFailed
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.run.fidelity_thresholds import DEGRADED, INVALID, ORDER, VALID
from orchestrator.run.metric_uncertainty import COUNTS, SETTLING
from orchestrator.run.run_result import measure
from tests.scores import Score, Survivor, write_score
from tests.trials import distortions, frame_changes, integrity, plans
from tests.trials.distorted import BACK, FRAMES, RELAY
from tests.trials.integrity_table import FAILED

CONTROL_RUNS = 2
"""Of each plan, and of each link of it with a relay: the score needs their spread."""
SAMPLE_S = 1e-3
"""Sample interval of the plans."""
SEEDS = 8
"""Of simulated runs of a plan, for the spread of its metrics."""
LEAST_SHARE = 0.05
"""By which a metric is moved at the least."""
CROSSING = (("forward", frame_changes.DATA_FRAMES), (BACK, frame_changes.CONTROL_FRAMES))
TIMES_S = (0.0002, 0.02)
"""Shortest and longest delay and stall that is drawn (of the run)."""
PLACES = {
    "steady": [("up", "forward", "data"), ("down", "forward", "data")],
    "loop": [("up", "forward", "data"), ("down", "forward", "data"), ("up", BACK, "control")],
    "paused": [("up", "forward", "data"), ("down", "forward", "data"), ("up", BACK, "control")],
    "marked": [(link, *crossing) for link in integrity.LINKS for crossing in CROSSING],
    "losses": [(link, *crossing) for link in integrity.LINKS for crossing in CROSSING],
}
"""Of each plan, where frames of a kind go: link, way, frames."""
NAMED = 3
"""Moved metrics that are named of a run."""
Moved = list[tuple[str, float, float, float]]
Row = dict[str, Any]


def drawn(seed: int, number: int) -> Row:
    """The distortion with this number of a seed: the same for every call."""
    draw = random.Random(f"{seed}/{number}")
    what: Row = {
        "run": number,
        "plan": draw.choice(list(plans.DRAWN)),
        "seed": draw.randrange(2**31),
    }
    if draw.random() < 0.3:
        kind = draw.choice([name for name, each in distortions.KINDS.items() if each.rule is None])
        strengths = distortions.KINDS[kind].strengths
        low, high = min(strengths), max(strengths)
        strength = low * (high / low) ** draw.random()
        if distortions.KINDS[kind].unit in ("frames", "each"):
            strength = float(round(strength))
        return what | {"link": draw.choice(integrity.LINKS), "kind": kind, "strength": strength}
    low, high = TIMES_S
    link, way, frames = draw.choice(PLACES[what["plan"]])
    return what | {
        "kind": FRAMES,
        "strength": 1.0,
        "link": link,
        "way": way,
        "frames": frames,
        "action": draw.choice([*frame_changes.CHANGES, *frame_changes.MOVES]),
        "value": low * (high / low) ** draw.random(),
        "pattern": draw.choice(["always", "some", "bursts"]),
    }


def text_of(what: Mapping[str, Any]) -> str:
    """A distortion in a line."""
    if not what["distorted"]:
        return f"{RELAY} on {what['link']}" if what["relayed"] else "quiet"
    if what["kind"] != FRAMES:
        unit = distortions.KINDS[what["kind"]].unit
        return f"{what['kind']} {what['strength']:.3g} {unit} on {what['link']}"
    timed = what["action"] in ("delay", "jitter", "stall")
    value = f" {1e3 * what['value']:.3g} ms" if timed else ""
    way = f"{what['way']} on {what['link']}"
    return f"{what['action']}{value} {what['frames']} {what['pattern']} {way}"


def is_relayed(what: Row) -> bool:
    """True for a distortion that takes a relay in the middle of the link."""
    return what["kind"] == FRAMES or distortions.KINDS[what["kind"]].rule is not None


def measured(what: Row, distorted: bool, seed: int, pace: float) -> Row:
    """A run with its verdict and metrics; without its distortion, with no more than its relay."""
    relayed = is_relayed(what)
    done = what if distorted else {"kind": RELAY, "strength": 1.0, "link": what["link"]}
    resolved = Plan.load(plans.of_kind(what["plan"], f"{integrity.DURATION_S:g}s", seed))
    checked = resolved.check(Registry.load())
    began = time.monotonic()
    log = Path(tempfile.mkdtemp()) / "hits"
    log.touch()
    try:
        recording = integrity.ran(
            checked.plan.to_toml(),
            done | {"log": str(log)} if distorted or relayed else {},
            pace,
            1 if relayed else None,
        )
        found = measure(Registry.load(), checked, recording)
        verdict, reasons = found["fidelity"]["verdict"], found["fidelity"]["reasons"]
        metrics, bars = found["metrics"]["run"], (found["uncertainties"] or {}).get("run", {})
    except RunFailed as ended:
        verdict, reasons, metrics, bars = FAILED, [str(ended)], {}, {}
    hits = log.stat().st_size if distorted and what["kind"] == FRAMES else None
    shutil.rmtree(log.parent)
    return what | {
        "hits": hits,
        "distorted": distorted,
        "relayed": relayed,
        "verdict": verdict,
        "reasons": reasons,
        "metrics": metrics,
        "bars": bars,
        "took_s": round(time.monotonic() - began, 1),
    }


@functools.cache
def deviations(plan: str) -> dict[tuple[str, str], float]:
    """Standard deviation of each metric of a plan over simulated seeds, by entity and metric."""
    values: dict[tuple[str, str], list[float]] = {}
    for seed in range(SEEDS):
        text = plans.of_kind(plan, f"{integrity.DURATION_S:g}s", seed + 1)
        done = run(Plan.load(text), target="simulated", out=None)
        for entity, metrics in done.result["metrics"]["run"].items():
            for metric, value in metrics.items():
                if value is not None:
                    values.setdefault((entity, metric), []).append(float(value))
    return {key: statistics.pstdev(seen) for key, seen in values.items()}


def moved(row: Row, quiet: Sequence[Row]) -> Moved:
    """Metrics that a distortion moved, the farthest first: name, value, quiet value, bar."""
    found: Moved = []
    seeds = deviations(row["plan"])
    if row["hits"] == 0:  # no frame came by that it might have hit
        return found
    for entity, values in row["metrics"].items():
        for metric, value in values.items():
            others = [_value(one["metrics"], entity, metric) for one in quiet]
            bars = [_value(one["bars"], entity, metric, 0.0) for one in [row, *quiet]]
            if value is None or not others or None in others or None in bars:
                continue
            mean = sum(others) / len(others)
            bar = bars[0] + max(bars[1:]) + 2 * (max(others) - min(others))
            bar += 3 * seeds.get((entity, metric), 0.0)
            if metric.endswith(SETTLING):  # counted in whole samples
                bar += 2 * SAMPLE_S
            if metric.startswith(COUNTS):
                bar += 3 * math.sqrt(max(mean, value, 1.0))
            off = abs(value - mean)
            if off > max(bar, LEAST_SHARE * abs(mean)):
                found.append((f"{entity} {metric}", value, mean, bar))
    return sorted(found, key=lambda one: -abs(one[1] - one[2]) / max(abs(one[2]), 1e-12))


def _value(table: Mapping[str, Any], entity: str, metric: str, default: Any = None) -> Any:
    return table.get(entity, {}).get(metric, default)


def judged(row: Row, quiet: Sequence[Row], alike: Sequence[Row]) -> Row:
    """A row for the table: without metrics, with those that moved and whether it survived.

    `quiet` are all control runs of its plan, `alike` those over the same link.
    """
    kept = {key: value for key, value in row.items() if key not in ("metrics", "bars")}
    if not row["distorted"]:
        return kept | {"moved": [], "found": False, "survived": False}
    most = moved(row, quiet)
    named = [
        f"{name} {value:.4g} for {mean:.4g} (bar {bar:.2g})" for name, value, mean, bar in most
    ]
    common = {_rule(reason) for one in alike for reason in one["reasons"]}
    found = row["verdict"] == FAILED or any(_rule(one) not in common for one in row["reasons"])
    found = found and row["verdict"] != VALID
    kept |= {"moved": named[:NAMED], "count": len(most), "found": found}
    return kept | {"survived": bool(most) and not found}


def _rule(reason: str) -> str:
    """A reason without its numbers."""
    return re.sub(r"[\d.]+(e[+-]\d+)?", "#", reason)


def rows_of(draws: int, first: int, seed: int, pace: float) -> Iterator[Row]:
    """The runs of a trial, as each ends."""
    controls: dict[tuple[str, str], list[Row]] = {}
    for number in range(first, first + draws):
        what = drawn(seed, number)
        key = what["plan"], what["link"] if is_relayed(what) else ""
        if key not in controls:
            controls[key] = [measured(what, False, seed, pace) for _ in range(CONTROL_RUNS)]
            yield from (judged(one, [], []) for one in controls[key])
        mine = [one for (plan, _), ran in controls.items() if plan == key[0] for one in ran]
        usable = [one for one in mine if one["verdict"] in (VALID, DEGRADED)]
        usable = usable or [one for one in mine if one["verdict"] != FAILED]
        yield judged(measured(what, True, seed, pace), usable, controls[key])


def is_quiet(row: Row) -> bool:
    """True for a run that nothing was done to."""
    return not row["distorted"] and not row["relayed"]


def show(row: Row) -> str:
    """A line as a run ends."""
    what = text_of(row)
    mark = "  <== survived" if row["survived"] else ""
    most = row["moved"][0] if row["moved"] else "-"
    reason = row["reasons"][0][:100] if row["reasons"] else "-"
    return f"{row['run']:3} {row['plan']:7} {what:45} {row['verdict']:9}{mark}  {most}  {reason}"


def page(rows: Sequence[Row], how: str) -> str:
    """The score as Markdown."""
    grades = [*ORDER, FAILED]
    groups = {
        "moved": [row for row in rows if row["distorted"] and row["moved"]],
        "not moved": [row for row in rows if row["distorted"] and not row["moved"]],
        "quiet": [row for row in rows if is_quiet(row)],
        RELAY: [row for row in rows if not row["distorted"] and row["relayed"]],
    }
    lines = [f"# Drawn distortions ({how})", "", "| | runs | " + " | ".join(grades) + " |"]
    lines.append("| --- |" + " --- |" * (1 + len(grades)))
    for name, group in groups.items():
        counts = [str(sum(row["verdict"] == grade for row in group)) for grade in grades]
        lines.append(f"| {name} | {len(group)} | " + " | ".join(counts) + " |")
    survivors = [row for row in rows if row["survived"]]
    blamed = [row for row in groups["quiet"] if row["verdict"] in (INVALID, FAILED)]
    score = f"Moved and not found: {len(survivors)} of {len(groups['moved'])}."
    lines += ["", f"{score} Quiet and invalid: {len(blamed)} of {len(groups['quiet'])}.", ""]
    for row in [*survivors, *blamed]:
        lines.append(f"- draw {row['run']}: {show(row).strip()}")
    return "\n".join(lines).rstrip() + "\n"


def score_of(rows: Sequence[Row], draw: str, seed: int) -> Score:
    """The score of distorted runs that moved a figure, for the page of scores."""
    moved = [row for row in rows if row["distorted"] and row["moved"]]
    lost = [Survivor(text_of(row), f"moves {row['moved'][0]}") for row in moved if row["survived"]]
    command = f"make integrity {draw}"
    return Score("frames", seed, command, len(moved), len(moved) - len(lost), lost)


def trial(draws: int, first: int, seed: int, pace: float, out: Path) -> int:
    """Run a trial and write its score; 1 where a run was not judged as it should be."""
    rows = []
    for row in rows_of(draws, first, seed, pace):
        rows.append(row)
        print(show(row), flush=True)
    out.mkdir(parents=True, exist_ok=True)
    words = page(rows, f"seed {seed}, {draws} draws from number {first}, pace {pace:g}")
    (out / "drawn.md").write_text(words, encoding="utf-8")
    record = {"seed": seed, "first": first, "draws": draws, "pace": pace, "rows": rows}
    (out / "drawn.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(words)
    if any(row["distorted"] and row["moved"] for row in rows):
        write_score(out / "score.json", score_of(rows, f"DRAW={draws} SEED={seed}", seed))
    blamed = [row for row in rows if is_quiet(row) and row["verdict"] in (INVALID, FAILED)]
    return int(any(row["survived"] for row in rows) or bool(blamed))
