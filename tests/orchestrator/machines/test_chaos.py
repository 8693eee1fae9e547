"""A slice of the chaos suite: one run for every fault. All 200: see docs/testbed.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.run import run
from orchestrator.targets.software.launch import run_job
from orchestrator.targets.software.probe import probe
from tests.orchestrator.machines import plans
from tests.orchestrator.machines.chaos import FAULTS, show

pytestmark = [pytest.mark.software, pytest.mark.slow]


def test_one_fault_of_every_kind_leaves_nothing_behind_and_is_named(tmp_path: Path):
    refused = probe()
    if refused is not None:
        pytest.skip(str(refused))
    run(Plan.load(plans.short("0.02s")), target="software", out=None)  # compiled once, for all
    job = "tests.orchestrator.machines.chaos:chaos"
    rows: list[dict[str, Any]] = run_job(job, str(tmp_path), 1, len(FAULTS))
    print("\n".join(show(row) for row in rows))
    assert {row["fault"] for row in rows} == set(FAULTS)
    assert [row for row in rows if not row["sound"]] == []
