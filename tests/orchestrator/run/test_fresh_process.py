"""The command in a process of its own, where nothing was imported on a test's behalf."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "orchestrator.cli", "run", "quickstart", "--no-report"]
    return subprocess.run(
        [*command, "--no-live", "--out", str(folder)],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def test_a_plan_runs_and_its_second_run_does_not_speak_of_compiling(tmp_path: Path) -> None:
    first = run(tmp_path)
    assert first.returncode == 0, first.stderr
    second = run(tmp_path)
    assert second.returncode == 0, second.stderr
    assert "compiling" not in second.stderr
