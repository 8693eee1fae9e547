"""A run and a sweep, packed once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from tests.orchestrator.batch.made import FULL, random_flow
from tests.traces.capsule.tampered import command

QCN = {"plugin": "qcn-cp", "preset": "netfpga"}
NODES = {
    "nic": {"kind": "nic"},
    "switch": {"kind": "switch", "congestion_point": QCN},
    "sink": {"kind": "sink"},
}
HALF = {"metric": "utilization", "of": "switch.sink", "min": 0.3, "max": 0.7}


@pytest.fixture(scope="session")
def packed_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    plan = random_flow(nodes=NODES, expect=[HALF, FULL], capture={"ports": ["switch.sink"]})
    done = run(plan, out=folder, report=False)
    assert done.folder is not None
    made = command("pack", done.folder, "--out", folder / "run.zip")
    assert made.exit_code == 0, made.output
    return folder / "run.zip"


@pytest.fixture(scope="session")
def packed_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    plan = folder / "mine.toml"
    plan.write_text(random_flow(expect=[HALF]).check(Registry.load()).plan.to_toml())
    words = ("--over", "traffic.gen.rate=200Mb/s,400Mb/s", "--seeds", "3,5", "--jobs", 1)
    done = command("sweep", plan, *words, "--metric", "utilization", "--out", folder, "--json")
    assert done.exit_code == 0, done.output
    (swept,) = folder.glob("*/*-sweep")
    made = command("pack", swept, "--out", folder / "sweep.zip")
    assert made.exit_code == 0, made.output
    return folder / "sweep.zip"


@pytest.fixture(scope="session")
def packed_seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seeds")
    plan = folder / "mine.toml"
    plan.write_text(random_flow(expect=[HALF]).check(Registry.load()).plan.to_toml())
    words = ("--seeds", "3,5,8", "--jobs", 1, "--out", folder, "--json")
    done = command("run", plan, *words)
    assert done.exit_code == 0, done.output
    (kept,) = folder.glob("*/*-seeds")
    made = command("pack", kept, "--out", folder / "seeds.zip")
    assert made.exit_code == 0, made.output
    return folder / "seeds.zip"


@pytest.fixture
def some_seeds(packed_seeds: Path, tmp_path: Path) -> Path:
    """The capsule of three seeds, to be changed."""
    return Path(shutil.copy(packed_seeds, tmp_path / "seeds.zip"))


@pytest.fixture
def a_run(packed_run: Path, tmp_path: Path) -> Path:
    """The capsule of a run, to be changed."""
    return Path(shutil.copy(packed_run, tmp_path / "run.zip"))


@pytest.fixture
def a_sweep(packed_sweep: Path, tmp_path: Path) -> Path:
    """The capsule of a sweep, to be changed."""
    return Path(shutil.copy(packed_sweep, tmp_path / "sweep.zip"))
