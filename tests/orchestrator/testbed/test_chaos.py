"""A slice of the chaos suite. All of it, 200 runs: see docs/testbed.md.

A killed agent, a killed controller and a cut link are in test_across, where more is asked of them;
mischief, a lossy wire and a stranger's heartbeats are in test_planted, with faults that they find.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.targets.software.namespace_probe import probe
from orchestrator.targets.software.worker_process import run_job
from tests.trials import plans
from tests.trials.chaos import FAULTS, show

pytestmark = [pytest.mark.software, pytest.mark.slow, pytest.mark.timeout(3600)]
HERE = ("lose+double+delay+swap", "disk full", "kill data path")


def test_a_fault_leaves_nothing_behind_and_is_named(tmp_path: Path):
    refused = probe()
    if refused is not None:
        pytest.skip(str(refused))
    elsewhere = {"kill agent", "kill controller", "cut link"}
    elsewhere |= {"mischief", "lossy wire", "stranger beats"}
    assert {word for fault in HERE for word in fault.split("+")} | elsewhere == set(FAULTS)
    plans.compile_once()
    job = "tests.trials.chaos:chaos"
    rows: list[dict[str, Any]] = run_job(job, str(tmp_path), 1, range(len(HERE)), HERE)
    print("\n".join(show(row) for row in rows))
    assert [row["fault"] for row in rows] == list(HERE)
    assert [row for row in rows if not row["sound"]] == []
