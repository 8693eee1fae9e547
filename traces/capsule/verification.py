"""Verification of a capsule: hashes, a re-run of its plan, comparison of values."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator.batch.experiment import SIMULATED
from orchestrator.batch.parquet_dataset import PARAMETER_POINTS, POINTS
from orchestrator.batch.seed_statistics import HIGHEST
from orchestrator.errors import BadInput, TailbackError
from orchestrator.plan import Plan
from orchestrator.plan.toml_text import parse, write
from orchestrator.progress import Report, silent
from orchestrator.run.frozen_expectations import digest_of_expected
from traces.capsule import rerun
from traces.capsule.capsule_layout import (
    DATA,
    HASHES,
    MOST_JSON,
    MOST_PLAN,
    PLAN_OF,
    RESULT_OF,
    RUN,
    SEEDS,
)
from traces.capsule.capsule_record import Record, environment_here, read_record
from traces.capsule.difference_causes import CapsuleFacts, Cause, causes
from traces.capsule.seed_comparison import (
    as_single_seed_table,
    compare_seeds,
    packed_seeds,
    seeds_here,
)
from traces.capsule.sweep_tables import compare_tables, read_tables
from traces.capsule.tolerance import Tolerance
from traces.capsule.value_comparison import ComparedValue, ComparisonCount, compare_runs
from traces.capsule.zip_archive import Archive, open_archive
from traces.result_schema import Result
from traces.run_reader import parse_object, parse_result

FORMAT = 1
HOLDS, DIFFERS = "holds", "differs"
SAME_AS_PACKED = "with the plan and seed as they were packed, all figures hold: this is the cause"
DIFFERS_FROM_PACKED = "with the plan and seed as they were packed, figures differ as well"


def _discard_message(text: str) -> None:
    """Discard a progress message."""


@dataclass(frozen=True)
class Verified:
    """Result of a verification."""

    capsule: Path
    sha256: str
    record: Record
    tolerance: Tolerance
    files: int
    wrong: dict[str, str]
    count: ComparisonCount
    causes: list[Cause]
    tried: str
    """Result of the plan as it was packed, where the capsule has another."""
    folder: Path | None

    @property
    def holds(self) -> bool:
        """True if every file is as it was packed, and every judged value holds."""
        return not self.wrong and self.count.all_hold

    def as_json(self) -> dict[str, Any]:
        """The result as plain data, for `--json`."""
        return {
            "tailback": FORMAT,
            "capsule": str(self.capsule),
            "sha256": self.sha256,
            "kind": self.record.kind,
            "plan": self.record.name,
            "target": self.record.target,
            "seeds": self.record.seeds,
            "verdict": HOLDS if self.holds else DIFFERS,
            "tolerance": {**asdict(self.tolerance), "text": self.tolerance.text},
            "files": {"count": self.files, "changed": self.wrong},
            **self.count.as_json(),
            "causes": [asdict(one) for one in self.causes],
            "as_packed": self.tried,
            "folder": None if self.folder is None else str(self.folder),
        }


def verify(
    path: Path,
    share: float | None = None,
    how: rerun.RerunOptions = rerun.RerunOptions(),  # noqa: B008  (it is frozen)
    progress: Report = silent,
    say: Callable[[str], None] = _discard_message,
) -> Verified:
    """Verify a capsule on this machine. `share`: accepted relative difference, of the larger one.

    Raises BadInput for what is no capsule, RunFailed for one that cannot be run here.
    """
    with open_archive(path) as archive:
        record, wrong = read_record(archive), _changed(archive)
        several = record.kind == SEEDS or how.seeds is not None
        tolerance = Tolerance.of(record.target, share, several)
        work = {RUN: _of_run, SEEDS: _of_seeds}.get(record.kind, _of_sweep)
        if how.seeds is not None and (record.kind != RUN or record.target == SIMULATED):
            text = "it is for the capsule of one run on real frames; leave it out"
            raise BadInput("--seeds", f"{text} ({record.kind} on {record.target})")
        count, said, tried, folder = work(archive, record, wrong, tolerance, how, progress, say)
        found = causes(record, said, environment_here(), not count.all_hold)
        digest = archive.sha256()
        number = len(archive.sizes)
    return Verified(path, digest, record, tolerance, number, wrong, count, found, tried, folder)


def _changed(archive: Archive) -> dict[str, str]:
    """File -> how it is not as it was packed, by the hashes."""
    said, wrong = archive.hashes(), {}
    for name in archive.sizes:
        if name == HASHES:
            continue
        if name not in said:
            wrong[name] = "came into the capsule after it was packed"
        elif archive.digest(name) != said[name]:
            wrong[name] = "is not as it was packed (its hash is another)"
    wrong |= {name: "is missing" for name in said if name not in archive.sizes}
    return wrong


Work = tuple[ComparisonCount, CapsuleFacts, str, Path | None]


def _of_run(
    archive: Archive,
    record: Record,
    wrong: dict[str, str],
    tolerance: Tolerance,
    how: rerun.RerunOptions,
    progress: Report,
    say: Callable[[str], None],
) -> Work:
    name = PLAN_OF[record.kind]
    text, manifest = archive.text(DATA + name, MOST_PLAN), _manifest(archive)
    packed, data = _result(archive), parse(f"{archive.path}: {name}", text)
    known = packed.model_dump()
    pace = rerun.pace_of(packed.fidelity)

    def compare(plan: Plan, how: rerun.RerunOptions) -> tuple[ComparisonCount, Path | None]:
        if how.seeds is None:
            here, folder = rerun.rerun_plan(plan, how, progress, pace)
            return compare_runs(known, here, tolerance), folder
        some = [(plan.seed + number) % HIGHEST for number in range(how.seeds)]
        found, folder = seeds_here(plan, some, how, say, progress, pace)
        return compare_seeds(as_single_seed_table(plan, known), found, tolerance), folder

    with rerun.unpacked_plan(archive, record, text, name) as plan:
        count, folder = compare(plan, how)
    tried = _as_packed(archive, record, how, compare) if _changed_plan(count, data, record) else ""
    if isinstance(frozen := manifest.get("frozen"), dict):
        count.add(_frozen(frozen, record, data))
    seeds: dict[str, Any] = {name: data.get("seed"), "manifest.json": manifest.get("seed")}
    seeds[RESULT_OF[record.kind]] = packed.seed
    said = CapsuleFacts(data, manifest, {key: [seed] for key, seed in seeds.items()}, wrong)
    return count, said, tried, folder


def _frozen(frozen: dict[str, Any], record: Record, data: dict[str, Any]) -> ComparedValue:
    """Compare the plan's expectations with those its manifest froze before the run."""
    said, found = str(frozen.get("expectations")), digest_of_expected(data)
    name = f"expectations at {str(frozen.get('at'))[:40]}"
    return ComparedValue("frozen", name, said, found, said == found or bool(frozen.get("changed")))


Comparator = Callable[[Plan, rerun.RerunOptions], tuple[ComparisonCount, Path | None]]
"""Runs a plan, and compares what it comes to with what was packed."""


def _changed_plan(count: ComparisonCount, data: dict[str, Any], record: Record) -> bool:
    return not count.all_hold and data != record.plan


def _as_packed(
    archive: Archive, record: Record, how: rerun.RerunOptions, compare: Comparator
) -> str:
    """Run the record's plan: is the change of the plan the cause?"""
    try:
        with rerun.unpacked_plan(archive, record, write(record.plan), "capsule.json: plan") as plan:
            count, _ = compare(plan, replace(how, out=None))
    except (TailbackError, TypeError) as error:
        return f"the plan as it was packed could not be run: {error}"
    return SAME_AS_PACKED if count.all_hold else DIFFERS_FROM_PACKED


def _of_seeds(
    archive: Archive,
    record: Record,
    wrong: dict[str, str],
    tolerance: Tolerance,
    how: rerun.RerunOptions,
    progress: Report,
    say: Callable[[str], None],
) -> Work:
    name, result = PLAN_OF[record.kind], DATA + RESULT_OF[record.kind]
    text, manifest = archive.text(DATA + name, MOST_PLAN), _manifest(archive)
    seed_results = _object(archive, result)
    each = seed_results.get("seeds")
    rows = [one for one in each if isinstance(one, dict)] if isinstance(each, list) else []
    seeds = _seeds(archive, result, [one.get("seed") for one in rows])
    packed = packed_seeds(archive, seed_results, len(seeds))
    pace = rerun.pace_of(rows[0])

    def compare(plan: Plan, how: rerun.RerunOptions) -> tuple[ComparisonCount, Path | None]:
        here, folder = seeds_here(plan, seeds, how, say, progress, pace)
        return compare_seeds(packed, here, tolerance), folder

    with rerun.unpacked_plan(archive, record, text, name) as plan:
        count, folder = compare(plan, how)
    data = parse(f"{archive.path}: {name}", text)
    tried = _as_packed(archive, record, how, compare) if _changed_plan(count, data, record) else ""
    if isinstance(frozen := manifest.get("frozen"), dict):
        count.add(_frozen(frozen, record, data))
    of_manifest = _seeds(archive, DATA + "manifest.json", manifest.get("seeds"))
    said = CapsuleFacts(data, manifest, {"seeds.json": seeds, "manifest.json": of_manifest}, wrong)
    return count, said, tried, folder


def _of_sweep(
    archive: Archive,
    record: Record,
    wrong: dict[str, str],
    tolerance: Tolerance,
    how: rerun.RerunOptions,
    progress: Report,
    say: Callable[[str], None],
) -> Work:
    name, result = PLAN_OF[record.kind], DATA + RESULT_OF[record.kind]
    text, manifest = archive.text(DATA + name, MOST_PLAN), _manifest(archive)
    seed_results = _object(archive, result)
    seeds = _seeds(archive, result, seed_results.get("seeds"))
    with tempfile.TemporaryDirectory(prefix="tailback-") as temporary:
        packed, here = (Path(temporary) / one for one in ("packed", "here"))
        here.mkdir()
        for one in archive.sizes:
            if one.startswith(f"{DATA}{POINTS}/") or one == DATA + PARAMETER_POINTS:
                archive.unpack(one, packed / one.removeprefix(DATA))
        if not (packed / PARAMETER_POINTS).is_file() or not (packed / POINTS).is_dir():
            raise archive.bad("holds no tables of a sweep")
        with rerun.unpacked_plan(archive, record, text, name) as plan:
            sweep = rerun.sweep_of(plan, seeds)
            room = sweep.most, len(sweep.places), str(archive.path)
            theirs = read_tables(packed, *room)  # bad tables are refused before anything is run
            folder = rerun.rerun_sweep(sweep, how, here, say, progress)
        count = compare_tables(theirs, read_tables(here, *room), tolerance)
    data = parse(f"{archive.path}: {name}", text)
    of_manifest = _seeds(archive, DATA + "manifest.json", manifest.get("seeds"))
    said = CapsuleFacts(data, manifest, {"sweep.json": seeds, "manifest.json": of_manifest}, wrong)
    return count, said, "", folder


def _seeds(archive: Archive, name: str, value: Any) -> list[int]:
    good = isinstance(value, list) and 0 < len(value) <= 10_000
    if not good or not all(type(one) is int and 0 <= one < 1 << 62 for one in value):
        raise BadInput(f"{archive.path}: {name}", "names no seeds; a list of whole numbers is due")
    found: list[int] = value
    return found


def _manifest(archive: Archive) -> dict[str, Any]:
    return _object(archive, DATA + "manifest.json")


def _object(archive: Archive, name: str) -> dict[str, Any]:
    return parse_object(f"{archive.path}: {name}", archive.text(name, MOST_JSON))


def _result(archive: Archive) -> Result:
    name = DATA + RESULT_OF[RUN]
    return parse_result(f"{archive.path}: {name}", archive.text(name, MOST_JSON))
