"""Frames of a package from outside: described in one file, the same on every target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.registry import Registry
from tests.test_third_party import (  # noqa: F401  (cache is a fixture)
    HERE,
    Command,
    cache,
    installed,
    tailback,
)

PACKAGE = HERE / "fine-grained"
PLAN = HERE / "fine.toml"
LONGEST = 150
READ_BACK = """
import json, sys
from pathlib import Path
from orchestrator.registry import Registry
from traces.run_queries import frames_near
seen = frames_near(Path(sys.argv[1]), 2 * 10**10, 200, 0)
print(json.dumps([frame.kind + ": " + frame.text for frame in seen if frame.kind != "data"]))
"""


@pytest.fixture(scope="module")
def fine(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Command:  # noqa: F811
    """Python with the package installed."""
    return installed(PACKAGE, tmp_path_factory, cache)


def ran(command: Command, out: Path, *more: str) -> dict[str, Any]:
    """The result of a run of its plan."""
    done = tailback(command, "run", PLAN, "--json", "--no-report", "--out", out, *more)
    assert done.returncode in {0, 1, 3}, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_it_is_one_short_file() -> None:
    assert len((PACKAGE / "fine_grained.py").read_text("utf-8").splitlines()) < LONGEST


def test_its_frames_slow_the_sources_down_and_a_capture_knows_them(
    fine: Command, tmp_path: Path
) -> None:
    result = ran(fine, tmp_path)
    assert result["verdict"] == "met"
    assert result["metrics"]["run"]["nic.rp0"]["feedback.received"] > 10
    done = fine("-c", READ_BACK, result["folder"])
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen
    assert all(line.startswith("STATUS: feedback ") for line in seen)
    offsets = [int(line.partition("offset ")[2].partition(",")[0]) for line in seen]
    assert any(offset % 64 for offset in offsets), "they are not rounded as a CNM's are"


@pytest.mark.software
def test_it_runs_on_real_frames(fine: Command, tmp_path: Path) -> None:
    refused = Registry.load().target("software").probe()
    if refused is not None:
        pytest.skip(str(refused))
    metrics = ran(fine, tmp_path, "--target", "software")["metrics"]["run"]
    assert metrics["switch.sink"]["feedback.sent"] > 20
    assert metrics["nic.rp0"]["feedback.received"] > 5
