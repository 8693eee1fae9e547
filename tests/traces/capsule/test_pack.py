"""`tailback pack`: what is in a capsule, and what others can read of it."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from orchestrator.run.execute_run import run
from tests.orchestrator.batch.made import random_flow
from tests.traces.capsule.tampered import command, verified


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    done = run(random_flow(capture={"ports": ["switch.sink"]}), out=tmp_path, report=False)
    assert done.folder is not None
    return done.folder


def test_everything_of_the_folder_is_in_it_with_its_hash(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.zip"
    told = json.loads(command("pack", folder, "--out", out, "--json").stdout)
    assert told["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    with zipfile.ZipFile(out) as file:
        names = file.namelist()
        lines = file.read("manifest-sha256.txt").decode().splitlines()
        for path in filter(Path.is_file, folder.rglob("*")):
            assert file.read(f"data/{path.relative_to(folder).as_posix()}") == path.read_bytes()
        hashes = dict(reversed(line.split("  ", 1)) for line in lines)
        assert set(hashes) == set(names) - {"manifest-sha256.txt"}
        for name, said in hashes.items():
            assert hashlib.sha256(file.read(name)).hexdigest() == said
    assert told["files"] == len(names)
    record = json.loads(zipfile.ZipFile(out).read("capsule.json"))
    assert record["seeds"] == [1]
    assert record["packages"]["numpy"] == record["environment"]["libraries"]["numpy"]
    assert len(record["environment"]["sources"]) == 64


def test_the_same_folder_gives_the_same_octets_and_nothing_is_overwritten(
    folder: Path, tmp_path: Path
) -> None:
    one, other = tmp_path / "one.zip", tmp_path / "other.zip"
    for out in (one, other):
        assert command("pack", folder, "--out", out).exit_code == 0
    assert one.read_bytes() == other.read_bytes()
    done = command("pack", folder, "--out", one)
    assert done.exit_code == 2
    assert "nothing is overwritten" in done.output
    assert not list(tmp_path.glob(".*.partial"))


def test_captures_and_links_can_stay_out(folder: Path, tmp_path: Path) -> None:
    (folder / "link").symlink_to("/etc/hostname")
    assert command("pack", folder, "--out", tmp_path / "a.zip", "--no-captures").exit_code == 0
    names = zipfile.ZipFile(tmp_path / "a.zip").namelist()
    assert not [name for name in names if "captures" in name or "link" in name]
    assert verified(tmp_path / "a.zip")[0] == 0


def test_a_file_that_the_plan_names_goes_along(folder: Path, tmp_path: Path) -> None:
    capture = tmp_path / "frames.pcapng"
    capture.write_bytes(next(folder.glob("captures/*.pcapng")).read_bytes())
    gen = {"plugin": "trace", "from": "nic", "to": "sink", "file": str(capture)}
    done = run(random_flow(traffic={"gen": gen}), out=tmp_path / "again", report=False)
    assert done.folder is not None
    assert command("pack", done.folder, "--out", tmp_path / "a.zip").exit_code == 0
    capture.unlink()
    code, found = verified(tmp_path / "a.zip")
    assert (code, found["causes"]) == (0, [])


def test_what_is_no_run_is_not_packed(tmp_path: Path) -> None:
    done = command("pack", tmp_path, "--out", tmp_path / "a.zip")
    assert done.exit_code == 2
    assert not (tmp_path / "a.zip").exists()


def test_a_reader_of_ro_crates_reads_it(packed_run: Path, tmp_path: Path) -> None:
    """The metadata, as an independent library understands them."""
    rocrate = pytest.importorskip("rocrate.rocrate")
    with zipfile.ZipFile(packed_run) as file:
        file.extractall(tmp_path)
    crate = rocrate.ROCrate(tmp_path)
    root, files = crate.root_dataset, {one.id for one in crate.data_entities}
    assert root["name"] == "line-of-three"
    assert {"capsule.json", "data/plan.toml", "data/result.json"} <= files
    action = crate.dereference("#run")
    assert action["instrument"]["name"] == "tailback"
    assert [one.id for one in action["result"]] == ["data/result.json"]
