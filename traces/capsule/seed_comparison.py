"""Verification of runs with several seeds, and of one run by several seeds here."""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from orchestrator.batch.metric_columns import ColumnTable, metric_filter, split_column
from orchestrator.batch.parquet_dataset import POINTS
from orchestrator.batch.seed_statistics import judge_seeds
from orchestrator.batch.seed_table import write_seeds
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.progress import Report
from traces.capsule import rerun
from traces.capsule.capsule_layout import DATA
from traces.capsule.sweep_tables import Tables, compare_tables, read_points
from traces.capsule.tolerance import EXACT, SPREAD, Tolerance
from traces.capsule.value_comparison import (
    EXPECTATION,
    METRIC,
    POINT,
    VERDICT,
    ComparedValue,
    ComparisonCount,
    is_added_here,
)
from traces.capsule.zip_archive import Archive
from traces.compare import agreement_criterion

# Comparison of seed means on real frames, against the spread of the seeds.
#
# No two runs on real frames are equal to the digit. The seeds of both sides show how far runs of a
# plan lie apart; by that their means are compared (Student's t, one variance for both sides). With
# many figures some would differ by chance, so all of them together do in one of 100 verifications.

LEVEL = 0.99
Seed = Mapping[str, float]
"""Column -> number of one seed."""


def compare_spreads(
    packed: Sequence[Seed], here: Sequence[Seed], units: Mapping[str, str]
) -> ComparisonCount:
    """Comparison of every number that either side has."""
    said = {split_column(name)[0] for seed in packed for name in seed}
    names = [
        name
        for name in dict.fromkeys(name for seed in (*packed, *here) for name in seed)
        if not is_added_here(split_column(name)[0], said)
    ]
    count = ComparisonCount()
    for figure in _figures(names, packed, here, units):
        count.add(figure)
    return count


def _figures(
    names: Sequence[str], packed: Sequence[Seed], here: Sequence[Seed], units: Mapping[str, str]
) -> Iterator[ComparedValue]:
    judged = max(len(names), 1)
    for name in names:
        theirs, ours = ([seed[name] for seed in side if name in seed] for side in (packed, here))
        unit, means = units.get(name, ""), (_mean(theirs), _mean(ours))
        if means[0] is None or means[1] is None:
            whole = len(theirs) == len(packed) or len(ours) == len(here)
            yield ComparedValue(METRIC, name, *means, False if whole else None, unit)
            continue
        room = within(theirs, ours, 1 - (1 - LEVEL) / judged)
        yield ComparedValue(
            METRIC, name, *means, _means_agree(name, (means[0], means[1]), room), unit, room
        )


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _means_agree(name: str, means: Sequence[float], room: float | None) -> bool | None:
    """True if two means are equal; None if there is no evidence."""
    metric = split_column(name)[0]
    if means[0] == means[1] or (
        metric in agreement_criterion.RULES and agreement_criterion.RULES[metric](means)
    ):
        return True
    if room is None:
        return False if metric in agreement_criterion.RULES else None
    return abs(means[0] - means[1]) <= room + 1e-12 * max(map(abs, means))


def within(one: Sequence[float], other: Sequence[float], level: float) -> float | None:
    """Largest distance of the means of two samples of one distribution, at a level; None where
    neither shows its spread: a few seeds of which a metric has one value alone (a queue of whole
    frames, say) do not say that a single run beside them had no other."""
    from scipy.special import stdtrit

    freedom = len(one) + len(other) - 2
    if freedom < 1:
        return None
    squares = sum(_squares(side) for side in (one, other))
    if squares == 0 and min(len(one), len(other)) == 1:
        return None
    error = math.sqrt(squares / freedom * (1 / len(one) + 1 / len(other)))
    return float(stdtrit(freedom, (1 + level) / 2)) * error


def _squares(values: Sequence[float]) -> float:
    mean = statistics.fmean(values)
    return math.fsum((value - mean) ** 2 for value in values)


def same_expectation(packed: dict[str, Any], here: dict[str, Any]) -> bool:
    """Same band and same outcome; None where an error bar holds a bound, and where seeds of one
    side do not agree with each other."""
    bands = all(packed.get(key) == here.get(key) for key in ("min", "max", "of_seeds"))
    open_ = any(row.get("uncertain") or 0 < row["met_in"] < row["count"] for row in (packed, here))
    return bands and (open_ or packed["met"] == here["met"])


OWN = ("place", "seed", "verdict")
"""Columns of a table of seeds that are no numbers of a run."""
BAND = ("metric", "of", "phase", "min", "max", "of_seeds")


class Row(BaseModel):
    """An expectation over seeds, as far as it is compared."""

    model_config = ConfigDict(strict=True, extra="ignore")

    metric: str
    of: str
    phase: str
    min: float | None
    max: float | None
    of_seeds: str | None
    met: bool
    uncertain: bool
    met_in: int
    count: int
    values: list[float | None]
    mean: float | None


_ROWS = TypeAdapter(list[Row])


@dataclass(frozen=True)
class Seeds:
    """Results of several seeds: seeds.json, and a row of numbers for each."""

    result: dict[str, Any]
    tables: Tables


def packed_seeds(archive: Archive, result_table: dict[str, Any], count: int) -> Seeds:
    """Seed results in a capsule. Raises BadInput."""
    try:
        rows = [row.model_dump() for row in _ROWS.validate_python(result_table.get("expectations"))]
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        text = f"seeds.json: expectations.{where}: {first['msg']}"
        raise archive.bad(text) from None
    with tempfile.TemporaryDirectory(prefix="tailback-") as temporary:
        to = Path(temporary)
        for one in archive.sizes:
            if one.startswith(f"{DATA}{POINTS}/"):
                archive.unpack(one, to / one.removeprefix(DATA))
        if not (to / POINTS).is_dir():
            raise archive.bad("holds no table of seeds")
        result = {"verdict": str(result_table.get("verdict")), "expectations": rows}
        return Seeds(result, read_points(to, count, str(archive.path)))


def seeds_here(
    plan: Plan,
    seeds: list[int],
    how: rerun.RerunOptions,
    say: rerun.Say,
    progress: Report,
    pace: float | None,
) -> tuple[Seeds, Path | None]:
    """Re-run seed results, and the folder where one is wanted. Raises RunFailed."""
    found = rerun.rerun_seeds(plan, seeds, how, say, progress, pace)
    result = judge_seeds(plan, found)
    with tempfile.TemporaryDirectory(prefix="tailback-") as temporary:
        units = write_seeds(Path(temporary), plan, found)
        tables = read_points(Path(temporary), len(seeds), "here")
    return Seeds(result | {"units": units}, tables), rerun.write_seed_folder(
        plan, found, result, how.out
    )


def compare_seeds(packed: Seeds, here: Seeds, tolerance: Tolerance) -> ComparisonCount:
    """The figures of several seeds: verdict, expectations, numbers."""
    count = ComparisonCount()
    for figure in _expectations(packed.result, here.result, tolerance):
        count.add(figure)
    said = str(packed.result.get("verdict")), here.result["verdict"]
    open_ = tolerance.kind != EXACT and ("uncertain" in said or count.all_hold)
    count.add(ComparedValue(VERDICT, "verdict", *said, open_ or said[0] == said[1]))
    if tolerance.kind == SPREAD:
        theirs, ours = (_numbers(one.tables[POINT]) for one in (packed, here))
        count.take(compare_spreads(theirs, ours, here.result["units"]))
    else:
        count.take(compare_tables(packed.tables, here.tables, tolerance))
    return count


def as_single_seed_table(plan: Plan, result: dict[str, Any]) -> Seeds:
    """A run of one seed in the form of several, for comparison with them."""
    numbers = ColumnTable(metric_filter([], plan, "--metric")).of(result)
    columns = {name: pa.array([value], pa.float64()) for name, value in numbers.items()}
    rows = [
        row
        | {"met_in": int(row["met"]), "count": 1, "values": [row["value"]], "mean": row["value"]}
        | {"of_seeds": row.get("of_seeds"), "uncertain": bool(row.get("uncertain"))}
        for row in result["expectations"]
    ]
    result_table = {"verdict": result["verdict"], "expectations": rows}
    return Seeds(result_table, {POINT: pa.table(columns)})


def _numbers(table: pa.Table) -> list[Seed]:
    """The rows, without what is no number of a run."""
    names = [name for name in table.column_names if name not in OWN]
    if any(str(table.schema.field(name).type) != "double" for name in names):
        raise BadInput(POINTS, "holds columns of seeds that are no numbers")
    return [
        {name: value for name, value in row.items() if value is not None}
        for row in table.select(names).to_pylist()
    ]


def _expectations(
    packed: Mapping[str, Any], here: Mapping[str, Any], tolerance: Tolerance
) -> list[ComparedValue]:
    rows, others = packed["expectations"], here["expectations"]
    found = []
    for at in range(max(len(rows), len(others))):
        row = rows[at] if at < len(rows) else None
        other = others[at] if at < len(others) else None
        one = row or other or {}
        name = f"{one['metric']} of {one['of']} in {one['phase']}"
        holds = row is not None and other is not None and _same(row, other, tolerance)
        found.append(
            ComparedValue(
                EXPECTATION, name, _expectation_text(row), _expectation_text(other), holds
            )
        )
    return found


def _same(row: dict[str, Any], other: dict[str, Any], tolerance: Tolerance) -> bool:
    if any(row[key] != other[key] for key in BAND):
        return False
    if tolerance.kind == SPREAD:
        return same_expectation(row, other)
    pairs = zip(row["values"], other["values"], strict=False)
    alike = len(row["values"]) == len(other["values"]) and all(
        tolerance.numbers(*pair) for pair in pairs
    )
    return alike and (row["met"], row["met_in"]) == (other["met"], other["met_in"])


def _expectation_text(row: dict[str, Any] | None) -> str:
    """An expectation in a few words: "met in 19 of 20 (mean 0.99; 0.9 to any)"."""
    if row is None:
        return "not expected"
    word = "" if row["met"] else "not " if not row["uncertain"] else "uncertain, "
    band = f"{row['min']} to {row['max']}".replace("None", "any")
    return f"{word}met in {row['met_in']} of {row['count']} (mean {row['mean']}; {band})"
