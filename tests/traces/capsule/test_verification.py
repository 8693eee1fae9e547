"""`tailback verify`: all holds of what nobody touched; of the rest it names what was changed."""

from __future__ import annotations

import io
import json
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.run.frozen_expectations import digest_of_expected
from tests.traces.capsule.tampered import Edit, changed, command, text, value, verified
from traces.capsule.sweep_tables import compare_tables
from traces.capsule.tolerance import Tolerance

RESULT, PLAN, MANIFEST = "data/result.json", "data/plan.toml", "data/manifest.json"
USED = ("metrics", "run", "switch.sink", "utilization")
PART = "data/points/part-00000.parquet"


def kinds(found: dict[str, Any], altered: bool = True) -> set[str]:
    return {one["kind"] for one in found["causes"] if one["altered"] is altered}


def texts(found: dict[str, Any], kind: str) -> str:
    return "\n".join(one["text"] for one in found["causes"] if one["kind"] == kind)


def test_an_untouched_run_holds(a_run: Path) -> None:
    code, found = verified(a_run)
    assert (code, found["verdict"]) == (0, "holds")
    assert found["causes"] == found["differ"] == []
    assert found["figures"]["expectation"] == {"hold": 2, "differ": 0, "not_judged": 0}
    assert found["figures"]["metric"]["hold"] > 50
    assert found["figures"]["metric"]["not_judged"] == 0
    said = command("verify", a_run)
    assert "holds" in said.stdout
    assert "exactly" in said.stdout


@pytest.mark.parametrize("rehash", [False, True])
def test_a_changed_parameter_is_named(a_run: Path, rehash: bool) -> None:
    edit = {PLAN: text('rate = "500Mb/s"', 'rate = "400Mb/s"')}
    code, found = verified(changed(a_run, edit, rehash))
    assert (code, found["verdict"]) == (1, "differs")
    assert "traffic.gen.rate is 400Mb/s in plan.toml, 500Mb/s when packed" in texts(
        found, "parameter"
    )
    assert "all figures hold: this is the cause" in found["as_packed"]
    assert bool(found["files"]["changed"]) is not rehash


@pytest.mark.parametrize("rehash", [False, True])
def test_a_changed_seed_is_named(a_run: Path, rehash: bool) -> None:
    code, found = verified(changed(a_run, {PLAN: text("seed = 1\n", "seed = 2\n")}, rehash))
    assert code == 1
    assert texts(found, "seed") == "the seed is 2 in plan.toml, 1 when packed"
    assert "parameter" not in kinds(found)
    assert "this is the cause" in found["as_packed"]


def test_a_changed_seed_of_the_result_is_named(a_run: Path) -> None:
    _, found = verified(changed(a_run, {RESULT: value("seed", to=4)}, rehash=True))
    assert texts(found, "seed") == "the seed is 4 in result.json, 1 when packed"


def test_a_changed_version_is_named(a_run: Path) -> None:
    code, found = verified(changed(a_run, {MANIFEST: value("libraries", "numpy", to="1.0")}))
    assert code == 1
    assert "libraries.numpy is 1.0 in manifest.json" in texts(found, "version")
    assert found["figures"]["metric"]["differ"] == 0


def test_other_versions_here_are_told_and_hold_where_figures_do(a_run: Path) -> None:
    edits = {
        MANIFEST: value("sources", to="0" * 64),
        "capsule.json": value("environment", "sources", to="0" * 64),
    }
    code, found = verified(changed(a_run, edits, rehash=True))
    assert code == 0
    assert kinds(found, altered=False) == {"version"}
    assert "digest of engine, core and plugins was 0000" in texts(found, "version")


@pytest.mark.parametrize("rehash", [False, True])
def test_an_edited_result_is_named(a_run: Path, rehash: bool) -> None:
    code, found = verified(changed(a_run, {RESULT: value(*USED, to=0.75)}, rehash))
    assert code == 1
    assert [one["name"] for one in found["differ"]] == ["utilization of switch.sink in run"]
    assert found["differ"][0]["packed"] == 0.75
    assert kinds(found, altered=not rehash) == {"result"}


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        (value("verdict", to="met"), "verdict"),
        (value("expectations", 1, "met", to=True), "expectation"),
        (value("expectations", 1, "min", to=0.1), "expectation"),
        (value("expectations", 1, "value", to=0.95), "expectation"),
        (value("metrics", "run", "switch.sink", "invented", to=1), "metric"),
    ],
)
def test_every_kind_of_figure_is_looked_at(a_run: Path, edit: Edit, kind: str) -> None:
    if kind == "metric":
        edit = text('"metrics": {', '"metrics": {"later": {"switch.sink": {"utilization": 1}},')
    code, found = verified(changed(a_run, {RESULT: edit}, rehash=True))
    assert code == 1
    assert {one["kind"] for one in found["differ"]} == {kind}


def test_a_stated_tolerance_counts(a_run: Path) -> None:
    _, found = verified(a_run)
    assert found["tolerance"]["kind"] == "exact"
    true = 0.5
    copy = changed(a_run, {RESULT: value(*USED, to=true)}, rehash=True)
    assert verified(copy)[0] == 1
    assert verified(copy, "--tolerance", "30%")[0] == 0
    assert command("verify", copy, "--tolerance", "lots").exit_code == 2


def test_a_capture_and_a_new_file_are_told(a_run: Path) -> None:
    code, found = verified(changed(a_run, {"data/events.jsonl": lambda octets: octets + b"{}\n"}))
    assert code == 1
    assert "data/events.jsonl is not as it was packed" in texts(found, "file")


def test_an_extra_file_is_named(a_run: Path) -> None:
    with zipfile.ZipFile(a_run, "a") as file:
        file.writestr("data/captures/extra.txt", b"not packed")
    code, found = verified(a_run)
    assert (code, found["verdict"]) == (1, "differs")
    assert "data/captures/extra.txt came into the capsule after it was packed" in texts(
        found, "file"
    )


def test_a_changed_prediction_differs(a_run: Path) -> None:
    """The manifest has the digest of the expectations that were frozen before the run."""

    def freeze(digest: str, changed_keys: list[str]) -> Edit:
        frozen = {"expectations": digest, "at": "2026-01-01T00:00:00Z", "changed": changed_keys}
        return lambda octets: json.dumps(json.loads(octets) | {"frozen": frozen}).encode()

    with zipfile.ZipFile(a_run) as file:
        right = digest_of_expected(tomllib.loads(file.read(PLAN).decode()))
    for digest, changed_keys, hold in ((right, [], 1), ("0" * 64, [], 0), ("0" * 64, ["min"], 1)):
        copy = changed(a_run, {MANIFEST: freeze(digest, changed_keys)}, rehash=True)
        code, found = verified(copy)
        assert found["figures"]["frozen"]["hold"] == hold
        assert code == 1 - hold


def test_an_untouched_sweep_holds(a_sweep: Path) -> None:
    code, found = verified(a_sweep)
    assert (code, found["causes"]) == (0, [])
    assert found["seeds"] == [3, 5]
    assert found["figures"]["point"] == {"hold": 4, "differ": 0, "not_judged": 0}
    assert found["figures"]["place"]["hold"] == 2


def table(column: str, row: int, to: Any) -> Edit:
    """An edit of one cell of a Parquet table."""

    def edit(octets: bytes) -> bytes:
        found = pq.read_table(io.BytesIO(octets))
        at = found.column_names.index(column)
        cells = found.column(at).to_pylist()
        assert cells[row] != to
        cells[row] = to
        out = io.BytesIO()
        pq.write_table(found.set_column(at, found.field(at), pa.array(cells)), out)
        return out.getvalue()

    return edit


SHARE = "utilization of switch.sink in run"


@pytest.mark.parametrize(
    ("name", "edit", "kind", "said"),
    [
        (PART, table(SHARE, 2, 0.123), "point", "place 1, seed 3"),
        (PART, table("verdict", 0, "invalid"), "point", "place 0, seed 3"),
        (PART, table("seed", 3, 9), "point", "place 1, seed 9"),
        ("data/places.parquet", table(SHARE + " ±", 1, 0.0), "place", "place 1"),
    ],
)
def test_an_edited_table_is_named(
    a_sweep: Path, name: str, edit: Edit, kind: str, said: str
) -> None:
    code, found = verified(changed(a_sweep, {name: edit}, rehash=True))
    assert code == 1
    assert {one["kind"] for one in found["differ"]} == {kind}
    assert any(said in one["name"] for one in found["differ"])
    assert kinds(found, altered=False) == {"result"}


def test_rows_that_stand_twice_are_told() -> None:
    """Where seeds end once an interval is narrow there is room for more rows than are due."""
    here = {"place": [0], "seed": [1], "x": [1.0]}
    twice = {key: cells * 2 for key, cells in here.items()} | {"x": [1.0, 9.0]}
    tables = [
        {"point": pa.table(points), "place": pa.table({"place": [0]})} for points in (twice, here)
    ]
    count = compare_tables(*tables, Tolerance("exact"))
    assert [one.name for one in count.differ] == ["rows that stand twice"]


def test_a_changed_range_and_changed_seeds_of_a_sweep_are_named(a_sweep: Path) -> None:
    edits = {"data/sweep.toml": text("200Mb/s,400Mb/s", "200Mb/s,500Mb/s")}
    code, found = verified(changed(a_sweep, edits, rehash=True))
    assert code == 1
    assert "sweep.over[0] is traffic.gen.rate=200Mb/s,500Mb/s" in texts(found, "parameter")
    assert found["figures"]["point"]["hold"] == 2
    code, found = verified(changed(a_sweep, {"data/sweep.json": value("seeds", to=[3, 6])}, True))
    assert code == 1
    assert texts(found, "seed") == "the seed is 3, 6 in sweep.json, 3, 5 when packed"


def test_what_verify_makes_is_kept_where_it_is_told(a_run: Path, tmp_path: Path) -> None:
    code, found = verified(a_run, "--out", tmp_path / "again")
    assert code == 0
    assert (Path(found["folder"]) / "result.json").is_file()
    assert Path(found["folder"]).parent.parent == tmp_path / "again"
