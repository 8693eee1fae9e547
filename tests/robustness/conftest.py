"""Whatever ends a run, nothing of it stays behind, and a sentence says what went wrong.

Through the real command line, for both targets. A run that was ended while it wrote may have been
complete already: then its folder is whole. Moments are taken from what the run says of itself, or
drawn with a fixed seed; none depends on how fast the machine is, so these tests share the cores
with others, on real frames, too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.targets.software.namespace_probe import probe
from tests.robustness.runs import QUICK
from tests.traces_of_runs import Run

TARGETS = [
    "simulated",
    pytest.param(
        "software", marks=[pytest.mark.software, pytest.mark.shares_cores, pytest.mark.slow]
    ),
]


@pytest.fixture(scope="module", params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    """A target that this machine can run, its code compiled."""
    name: str = request.param
    if name == "software" and (refused := probe()) is not None:
        pytest.skip(str(refused))
    with tempfile.TemporaryDirectory() as out:
        Run(*QUICK, "--target", name, "--no-report", "--out", out).end()
    return name


@pytest.fixture
def software(target: str) -> str:
    if target != "software":
        pytest.skip("there is no worker")
    return target


@pytest.fixture
def out() -> Iterator[Path]:
    """A folder for runs that is not there yet."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "runs"
