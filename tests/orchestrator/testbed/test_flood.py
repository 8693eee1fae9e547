"""A flood of a stranger ends no run and takes neither memory nor disk (`tests.trials.flood`)."""

from __future__ import annotations

import os
import tempfile

import pytest

from orchestrator.targets.software.namespace_probe import probe
from orchestrator.targets.software.worker_process import run_job

SECONDS = float(os.environ.get("TAILBACK_FLOOD_S", "120"))
MEMORY, LOG = 200 * 2**20, 2**20
CAME = ("met",)
"""Its plan demands little of the machine (`tests.trials.flood.unhurried`)."""


@pytest.mark.slow
@pytest.mark.software
@pytest.mark.trials
@pytest.mark.timeout(SECONDS + 900)
def test_a_flood_of_a_stranger_beside_a_run() -> None:
    if (refused := probe()) is not None:
        pytest.skip(str(refused))
    with tempfile.TemporaryDirectory() as folder:
        told = run_job("tests.trials.flood:flooded", folder, SECONDS)
    print(told)
    assert told["whole"], told
    assert told["cause"] is None, told
    assert told["verdict"] in CAME, told
    assert max(told["peaks"].values()) < MEMORY, told["peaks"]
    assert max(told["logs"].values()) < LOG, told["logs"]
    assert min(told["flood"].get(kind, 0) for kind in ("idle", "half", "large")) > 10
    assert told["left"] == {}
