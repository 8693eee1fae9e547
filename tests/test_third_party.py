"""A plugin package from outside, installed by pip: used at full speed, and harmless when broken."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.package_shadowing import DISTRIBUTION
from orchestrator.registry import Registry
from tests.orchestrator.worlds import line_of_three, recorded
from tests.third_party import broken

HERE = Path(__file__).parent / "third_party"
PLAN = HERE / "threshold.toml"

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def install(package: Path, place: Path) -> None:
    """Have pip install a package from its folder, without a network."""
    quiet = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    command = [sys.executable, "-m", "pip", "install", *quiet, "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--target", str(place), str(package)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def copied(package: Path, folder: Path) -> Path:
    """A copy, so that building leaves nothing among our sources."""
    return Path(shutil.copytree(package, folder / package.name))


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of numba's cache that holds the compiled engine; of our own, to see what is added."""
    recorded(line_of_three())
    copy = tmp_path_factory.mktemp("numba") / "cache"
    return Path(shutil.copytree(os.environ["NUMBA_CACHE_DIR"], copy))


def installed(package: Path, factory: pytest.TempPathFactory, cache: Path) -> Command:
    """Python with a package installed, in a folder of its own."""
    folder = factory.mktemp(package.name)
    install(copied(package, folder), folder / "site")
    return python(folder / "site", cache, folder)


def python(place: Path, cache: Path, folder: Path) -> Command:
    """Runs Python with the packages installed at a place."""

    def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(place), *filter(None, sys.path)]),
            "NUMBA_CACHE_DIR": str(cache),
        }
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
        )

    return call


@pytest.fixture(scope="module")
def threshold(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Command:
    """Python with the threshold congestion point installed."""
    return installed(HERE / "threshold-cp", tmp_path_factory, cache)


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Command:
    """Python with the threshold congestion point and three packages that are no good."""
    folder = tmp_path_factory.mktemp("wrong")
    install(copied(HERE / "threshold-cp", folder), folder / "site")
    for name, source in (
        ("no-import", broken.IMPORTS_WHAT_IS_NOT_THERE),
        ("odd-algorithm", broken.INVALID_ALGORITHM),
        ("odd-target", broken.INVALID_TARGET),
    ):
        install(broken.write_package(folder, name, source), folder / "site")
    return python(folder / "site", cache, folder)


def tailback(command: Command, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """`tailback ...` in a process of its own."""
    return command("-m", "orchestrator.cli", *arguments)


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file below a folder."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {str(p.relative_to(folder)): (p.stat().st_size, p.stat().st_mtime_ns) for p in found}


def check_run(done: subprocess.CompletedProcess[str], codes: set[int]) -> dict[str, Any]:
    """The result of `tailback run --json`, in which the foreign congestion point had its say."""
    assert done.returncode in codes, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    metrics = result["metrics"]["run"]
    assert metrics["switch.sink"]["feedback.sent"] > 20
    assert metrics["nic.rp0"]["feedback.received"] > 0
    assert metrics["switch.sink"]["queue_bytes.mean"] < 60_000
    return result


def test_it_runs_simulated_and_meets_its_expectation(threshold: Command, tmp_path: Path) -> None:
    done = tailback(threshold, "run", PLAN, "--json", "--no-report", "--out", tmp_path)
    result = check_run(done, {0})
    assert result["verdict"] == "met"
    kept = (Path(result["folder"]) / "plan.toml").read_text("utf-8")
    assert 'threshold = "8KB"' in kept
    assert 'span = "16KB"' in kept
    assert 'interval = "20KB"' in kept


@pytest.mark.software
def test_it_runs_on_real_frames(threshold: Command, tmp_path: Path) -> None:
    refused = Registry.load().target("software").probe()
    if refused is not None:
        pytest.skip(str(refused))
    more = ["--target", "software", "--json", "--no-report", "--out", str(tmp_path)]
    done = tailback(threshold, "run", PLAN, *more)
    # What the machine did to the run is not the question here.
    result = check_run(done, {0, 1, 3})
    assert result["target"] == "software"


def test_tailback_plugins_names_its_origin(threshold: Command) -> None:
    done = tailback(threshold, "plugins", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    listed = {plugin["name"]: plugin for plugin in json.loads(done.stdout)["plugins"]}
    mine = listed["threshold-cp"]
    assert mine["kind"] == "congestion_point"
    assert mine["origin"] == "threshold-cp 0.3 (threshold_cp)"
    assert mine["targets"] == ["simulated", "software"]
    assert mine["presets"] == {"shallow": {"threshold": "8KB", "span": "16KB"}}
    assert [p["name"] for p in mine["parameters"]] == ["threshold", "span", "interval"]
    assert listed["qcn-cp"]["origin"].startswith(f"{DISTRIBUTION} ")


def test_it_is_compiled_and_the_engine_is_not_compiled_again(
    threshold: Command, cache: Path
) -> None:
    before = files(cache)
    done = threshold(HERE.parent / "compiled_point.py", PLAN)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not found["uncompiled"]
    assert all(address > 1 << 16 for address in found["kernels"]), "addresses of machine code"
    assert len(found["kernels"]) == 2
    assert found["engine_from_cache"] == [True]
    assert found["feedback"] > 20
    after = files(cache)
    assert {name: after[name] for name in before} == before
    added = {Path(name).name.partition(".")[0] for name in set(after) - set(before)}
    assert added <= {"threshold_cp"}
    assert any(Path(name).name.startswith("threshold_cp.on_arrival") for name in after)


def test_a_wrong_parameter_of_it_is_bad_input(threshold: Command, tmp_path: Path) -> None:
    key = "nodes.switch.congestion_point.threshold"
    done = tailback(threshold, "run", PLAN, "--set", f"{key}=8ms", "--out", tmp_path)
    assert done.returncode == 2
    assert key in done.stderr
    assert "Traceback" not in done.stderr


SENTENCES = {
    "no-import": r"plugin no-import of no-import 1\.0 \(no_import\) is not usable: "
    r"\S+/no_import\.py:2: ModuleNotFoundError: No module named 'a_library_that_nobody_has'",
    "odd-algorithm": r"plugin odd-algorithm of odd-algorithm 1\.0 \(odd_algorithm\) is not usable: "
    r"tailback_algorithms: \S+/odd_algorithm\.py:10: ValueError: odd-cp: kind 'router' is none of "
    "congestion_point, ",
    "odd-target": r"plugin odd-target of odd-target 1\.0 \(odd_target\) is not usable: "
    r"tailback_targets: 'the moon' is no orchestrator\.target\.Target",
}
"""Patterns."""


@pytest.mark.parametrize("name", SENTENCES)
def test_each_broken_package_is_one_sentence_of_tailback_plugins(wrong: Command, name: str) -> None:
    done = tailback(wrong, "plugins", "--json")
    assert done.returncode == 0
    told = [line for line in done.stderr.splitlines() if f"plugin {name} " in line]
    assert len(told) == 1
    assert re.match(f"tailback: {SENTENCES[name]}", told[0])
    found = json.loads(done.stdout)
    assert len([p for p in found["problems"] if re.match(SENTENCES[name], p)]) == 1
    assert {"threshold-cp", "qcn-cp"} <= {plugin["name"] for plugin in found["plugins"]}
    assert "Traceback" not in done.stderr


def test_a_run_names_them_and_is_not_affected(wrong: Command, tmp_path: Path) -> None:
    done = tailback(wrong, "run", PLAN, "--json", "--no-report", "--out", tmp_path)
    check_run(done, {0})
    for name in SENTENCES:
        assert len([line for line in done.stderr.splitlines() if f"plugin {name} " in line]) == 1


def test_a_plan_that_needs_the_broken_one_is_bad_input_and_told_why(
    wrong: Command, tmp_path: Path
) -> None:
    plan = tmp_path / "odd.toml"
    plan.write_text(PLAN.read_text("utf-8").replace("threshold-cp", "odd-cp"), "utf-8")
    done = tailback(wrong, "run", plan, "--out", tmp_path / "runs")
    assert done.returncode == 2
    assert "unknown congestion_point 'odd-cp'" in done.stderr
    assert re.search(SENTENCES["odd-algorithm"], done.stderr)
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


def test_without_the_package_its_plan_is_bad_input_that_names_what_there_is(
    tmp_path: Path, cache: Path
) -> None:
    bare = python(tmp_path / "nothing", cache, tmp_path)
    done = tailback(bare, "run", PLAN, "--out", tmp_path / "runs")
    assert done.returncode == 2
    assert "'threshold-cp'" in done.stderr
    assert "qcn-cp" in done.stderr
