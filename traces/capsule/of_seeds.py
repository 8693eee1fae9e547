"""Verification of runs with several seeds, and of one run by several seeds here."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.points.columns import Flat, wanted_by
from orchestrator.points.dataset import POINTS
from orchestrator.points.seed_table import write_seeds
from orchestrator.points.seeds import judge_seeds
from orchestrator.progress import Report
from traces.capsule import again
from traces.capsule.alike import EXACT, SPREAD, Tolerance
from traces.capsule.archive import Archive
from traces.capsule.figures import EXPECTATION, POINT, VERDICT, Count, Figure
from traces.capsule.layout import DATA
from traces.capsule.spread import Seed, of_spread, same_expectation
from traces.capsule.tables import Tables, compare_tables, read_points

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


def packed_seeds(archive: Archive, told: dict[str, Any], count: int) -> Seeds:
    """Seed results in a capsule. Raises BadInput."""
    try:
        rows = [row.model_dump() for row in _ROWS.validate_python(told.get("expectations"))]
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
        result = {"verdict": str(told.get("verdict")), "expectations": rows}
        return Seeds(result, read_points(to, count, str(archive.path)))


def seeds_here(
    plan: Plan,
    seeds: list[int],
    how: again.How,
    say: again.Say,
    progress: Report,
    pace: float | None,
) -> tuple[Seeds, Path | None]:
    """Re-run seed results, and the folder where one is wanted. Raises RunFailed."""
    found = again.seeds_again(plan, seeds, how, say, progress, pace)
    result = judge_seeds(plan, found)
    with tempfile.TemporaryDirectory(prefix="tailback-") as temporary:
        units = write_seeds(Path(temporary), plan, found)
        tables = read_points(Path(temporary), len(seeds), "here")
    return Seeds(result | {"units": units}, tables), again.kept_seeds(plan, found, result, how.out)


def of_seeds(packed: Seeds, here: Seeds, tolerance: Tolerance) -> Count:
    """The figures of several seeds: verdict, expectations, numbers."""
    count = Count()
    for figure in _expectations(packed.result, here.result, tolerance):
        count.add(figure)
    said = str(packed.result.get("verdict")), here.result["verdict"]
    open_ = tolerance.kind != EXACT and ("uncertain" in said or count.all_hold)
    count.add(Figure(VERDICT, "verdict", *said, open_ or said[0] == said[1]))
    if tolerance.kind == SPREAD:
        theirs, ours = (_numbers(one.tables[POINT]) for one in (packed, here))
        count.take(of_spread(theirs, ours, here.result["units"]))
    else:
        count.take(compare_tables(packed.tables, here.tables, tolerance))
    return count


def as_one_seed(plan: Plan, result: dict[str, Any]) -> Seeds:
    """A run of one seed in the form of several, for comparison with them."""
    numbers = Flat(wanted_by([], plan, "--metric")).of(result)
    columns = {name: pa.array([value], pa.float64()) for name, value in numbers.items()}
    rows = [
        row
        | {"met_in": int(row["met"]), "count": 1, "values": [row["value"]], "mean": row["value"]}
        | {"of_seeds": row.get("of_seeds"), "uncertain": bool(row.get("uncertain"))}
        for row in result["expectations"]
    ]
    told = {"verdict": result["verdict"], "expectations": rows}
    return Seeds(told, {POINT: pa.table(columns)})


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
) -> list[Figure]:
    rows, others = packed["expectations"], here["expectations"]
    found = []
    for at in range(max(len(rows), len(others))):
        row = rows[at] if at < len(rows) else None
        other = others[at] if at < len(others) else None
        one = row or other or {}
        name = f"{one['metric']} of {one['of']} in {one['phase']}"
        holds = row is not None and other is not None and _same(row, other, tolerance)
        found.append(Figure(EXPECTATION, name, _told(row), _told(other), holds))
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


def _told(row: dict[str, Any] | None) -> str:
    """An expectation in a few words: "met in 19 of 20 (mean 0.99; 0.9 to any)"."""
    if row is None:
        return "not expected"
    word = "" if row["met"] else "not " if not row["uncertain"] else "uncertain, "
    band = f"{row['min']} to {row['max']}".replace("None", "any")
    return f"{word}met in {row['met_in']} of {row['count']} (mean {row['mean']}; {band})"
