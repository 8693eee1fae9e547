"""Capsules of several seeds: all holds of what nobody touched; of the rest it names the change."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.run.execute_run import run
from tests.orchestrator.batch.made import random_flow
from tests.traces.capsule.conftest import HALF
from tests.traces.capsule.tampered import Edit, changed, command, text, value, verified
from tests.traces.capsule.test_verification import kinds, texts

PLAN, RESULT, MANIFEST = "data/plan.toml", "data/seeds.json", "data/manifest.json"
PART = "data/points/part-00000.parquet"
USED = "utilization of switch.sink in run"


def table(change: dict[str, list[Any]]) -> Edit:
    """An edit of columns of the table of seeds."""

    def edit(octets: bytes) -> bytes:
        read = pq.read_table(io.BytesIO(octets))
        for name, values in change.items():
            read = read.set_column(
                read.column_names.index(name), name, pa.array(values, read.schema.field(name).type)
            )
        out = io.BytesIO()
        pq.write_table(read, out)
        return out.getvalue()

    return edit


def test_untouched_seeds_hold(some_seeds: Path, tmp_path: Path) -> None:
    code, found = verified(some_seeds, "--out", tmp_path / "runs")
    assert (code, found["verdict"], found["kind"]) == (0, "holds", "seeds")
    assert found["causes"] == found["differ"] == []
    assert found["seeds"] == [3, 5, 8]
    assert found["figures"]["expectation"] == {"hold": 1, "differ": 0, "not_judged": 0}
    assert found["figures"]["point"] == {"hold": 3, "differ": 0, "not_judged": 0}
    again = command("pack", found["folder"], "--out", tmp_path / "again.zip")
    assert again.exit_code == 0, again.output


def test_a_table_of_seeds_has_the_numbers_of_runs(packed_seeds: Path) -> None:
    (folder,) = packed_seeds.parent.glob("*/*-seeds")
    rows = {row["seed"]: row for row in pq.read_table(folder / "points").to_pylist()}
    assert list(rows) == [3, 5, 8]
    for seed, row in rows.items():
        alone = run(random_flow(expect=[HALF]), seed=seed, out=None).result
        assert row[USED] == alone["metrics"]["run"]["switch.sink"]["utilization"]
        assert row["verdict"] == alone["verdict"]


@pytest.mark.parametrize("rehash", [False, True])
def test_a_changed_parameter_is_named(some_seeds: Path, rehash: bool) -> None:
    edit = {PLAN: text('rate = "500Mb/s"', 'rate = "400Mb/s"')}
    code, found = verified(changed(some_seeds, edit, rehash))
    assert code == 1
    assert "traffic.gen.rate is 400Mb/s in plan.toml, 500Mb/s when packed" in texts(
        found, "parameter"
    )
    assert "this is the cause" in found["as_packed"]


def test_a_changed_seed_is_named(some_seeds: Path) -> None:
    edit = {RESULT: value("seeds", 1, "seed", to=6), PART: table({"seed": [3, 6, 8]})}
    code, found = verified(changed(some_seeds, edit, rehash=True))
    assert code == 1
    assert texts(found, "seed") == "the seed is 3, 6, 8 in seeds.json, 3, 5, 8 when packed"
    assert found["figures"]["point"] == {"hold": 2, "differ": 1, "not_judged": 0}


def test_a_changed_version_is_named(some_seeds: Path) -> None:
    code, found = verified(changed(some_seeds, {MANIFEST: value("libraries", "numpy", to="1.0")}))
    assert code == 1
    assert "libraries.numpy is 1.0 in manifest.json" in texts(found, "version")
    assert found["figures"]["point"]["differ"] == 0


@pytest.mark.parametrize(
    ("edit", "kind", "name"),
    [
        ({PART: table({USED: [0.5, 0.75, 0.5]})}, "point", USED),
        ({RESULT: value("expectations", 0, "values", 1, to=0.75)}, "expectation", "utilization"),
        ({RESULT: value("expectations", 0, "max", to=0.99)}, "expectation", "utilization"),
        ({RESULT: value("expectations", 0, "met_in", to=2)}, "expectation", "utilization"),
        ({RESULT: value("verdict", to="missed")}, "verdict", "verdict"),
    ],
)
@pytest.mark.parametrize("rehash", [False, True])
def test_a_changed_result_is_named(
    some_seeds: Path, edit: dict[str, Edit], kind: str, name: str, rehash: bool
) -> None:
    code, found = verified(changed(some_seeds, edit, rehash))
    assert code == 1
    assert kind in {one["kind"] for one in found["differ"]}
    assert any(name in one["name"] for one in found["differ"])
    assert "result" in kinds(found, altered=not rehash)


@pytest.mark.parametrize(
    "edit",
    [
        {RESULT: value("seeds", to=[])},
        {RESULT: value("seeds", 0, to="three")},
        {RESULT: value("expectations", to="none")},
        {RESULT: value("expectations", 0, "met_in", to="two")},
        {RESULT: value("expectations", 0, "values", to=["x"])},
        {PART: lambda octets: b"PAR1"},
    ],
)
def test_a_damaged_one_ends_in_a_sentence(some_seeds: Path, edit: dict[str, Edit]) -> None:
    done = command("verify", changed(some_seeds, edit, rehash=True))
    assert done.exit_code == 2, done.output
    assert "seeds.zip" in done.output


def test_a_folder_of_an_older_version_is_not_packed(packed_seeds: Path, tmp_path: Path) -> None:
    import shutil

    (folder,) = packed_seeds.parent.glob("*/*-seeds")
    older = Path(shutil.copytree(folder, tmp_path / "older"))
    shutil.rmtree(older / "points")
    done = command("pack", older, "--out", tmp_path / "older.zip")
    assert done.exit_code == 2
    assert "run it again" in done.output


def test_seeds_are_for_runs_on_real_frames(a_run: Path, some_seeds: Path) -> None:
    for capsule in (a_run, some_seeds):
        done = command("verify", capsule, "--seeds", 3)
        assert done.exit_code == 2
        assert "--seeds" in done.output


PACED = """
name = "paced"
target = "software"
duration = "0.2s"
sample_interval = "4ms"
nodes.nic = { kind = "nic" }
nodes.switch = { kind = "switch", service_rate = "80Mb/s", buffer = "60KB" }
nodes.sink = { kind = "sink" }
links.up = { ends = ["nic", "switch"], rate = "100Mb/s", delay = "1ms" }
links.down = { ends = ["switch", "sink"], rate = "100Mb/s", delay = "1ms" }
traffic.gen = { plugin = "bernoulli", from = "nic", to = "sink", rate = "40Mb/s", peak = "100Mb/s" }
expect = [{ metric = "utilization", of = "switch.sink", min = 0.3, max = 0.7 }]
"""


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seeds on real frames, packed."""
    folder = tmp_path_factory.mktemp("real")
    (folder / "paced.toml").write_text(PACED)
    words = ("--seeds", 3, "--pace", 0.2, "--out", folder, "--json")
    done = command("run", folder / "paced.toml", *words)
    if done.exit_code == 3:
        reasons = [one["reasons"] for one in json.loads(done.stdout)["seeds"]]
        pytest.skip(f"this machine distorts it: {reasons}")
    assert done.exit_code == 0, done.output
    (kept,) = folder.glob("*/*-seeds")
    assert command("pack", kept, "--out", folder / "real.zip").exit_code == 0
    return folder / "real.zip"


def verified_there(path: Path, *words: object) -> tuple[int, dict[str, Any]]:
    """`verified`, where this machine had the time to run it."""
    done = command("verify", path, "--jobs", 1, "--json", *words)
    if done.exit_code == 3 and "the run here is invalid" in done.output:
        pytest.skip(f"this machine distorts it: {done.output}")
    assert done.exit_code in (0, 1), done.output
    found = json.loads(done.stdout)
    if "could not be run" in found["as_packed"]:
        pytest.skip(f"this machine distorts it: {found['as_packed']}")
    return done.exit_code, found


@pytest.mark.software
def test_seeds_on_real_frames_hold_by_their_spread(real: Path) -> None:
    code, found = verified_there(real)
    assert (code, found["tolerance"]["kind"]) == (0, "spread"), found["differ"]
    assert found["figures"]["metric"]["hold"] >= 10
    widths = {one["name"]: one["within"] for one in found["held"]}
    assert 0 < widths[USED] < 1
    assert found["target"] == "software"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run on real frames, packed."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "paced.toml").write_text(PACED)
    done = command("run", folder / "paced.toml", "--pace", 0.2, "--out", folder, "--json")
    if done.exit_code == 3:
        pytest.skip(f"this machine distorts it: {json.loads(done.stdout)['fidelity']['reasons']}")
    assert done.exit_code == 0, done.output
    packed = command("pack", json.loads(done.stdout)["folder"], "--out", folder / "alone.zip")
    assert packed.exit_code == 0, packed.output
    return folder / "alone.zip"


@pytest.mark.software
def test_one_run_on_real_frames_holds_by_how_seeds_spread_here(alone: Path, tmp_path: Path) -> None:
    code, found = verified_there(alone, "--seeds", 3, "--out", tmp_path)
    assert (code, found["tolerance"]["kind"]) == (0, "spread"), found["differ"]
    assert (found["kind"], found["verdict"], found["causes"]) == ("run", "holds", [])
    assert found["figures"]["metric"]["hold"] >= 10
    assert found["figures"]["expectation"] == {"hold": 1, "differ": 0, "not_judged": 0}
    assert 0 < {one["name"]: one["within"] for one in found["held"]}[USED] < 1
    rows = pq.read_table(Path(found["folder"]) / "points").to_pylist()
    assert [row["seed"] for row in rows] == [1, 2, 3], "the packed one's, and those behind it"


@pytest.mark.software
def test_one_run_on_real_frames_with_another_rate_does_not(alone: Path) -> None:
    edit = {PLAN: text('rate = "40Mb/s"', 'rate = "15Mb/s"')}
    code, found = verified_there(changed(alone, edit, rehash=True), "--seeds", 3)
    assert code == 1
    assert USED in {one["name"] for one in found["differ"]}
    assert "traffic.gen.rate is 15Mb/s" in texts(found, "parameter")
    assert "this is the cause" in found["as_packed"]


@pytest.mark.software
def test_another_rate_on_real_frames_is_found_and_named(real: Path) -> None:
    """Half of the frames: beyond what three seeds spread by."""
    edit = {PLAN: text('rate = "40Mb/s"', 'rate = "20Mb/s"')}
    code, found = verified_there(changed(real, edit, rehash=True))
    assert code == 1
    assert USED in {one["name"] for one in found["differ"]}
    assert "traffic.gen.rate is 20Mb/s" in texts(found, "parameter")
    assert "this is the cause" in found["as_packed"]
