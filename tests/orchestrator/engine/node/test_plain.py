"""The engine compiled and the same engine as ordinary Python measure the same, bit for bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.orchestrator.engine.node.test_three_points import SCHEMES

ROOT = Path(__file__).parents[4]


def measured(*, plain: bool) -> dict[str, Any]:
    """In a process of its own: whether numba compiles is decided when it is imported."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error::RuntimeWarning",
            "-m",
            "tests.orchestrator.engine.node.digest",
        ],
        cwd=ROOT,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1" if plain else "0"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_short_runs_are_bit_identical() -> None:
    compiled, plain = measured(plain=False), measured(plain=True)
    assert compiled["compiled"]
    assert not plain["compiled"]
    assert compiled["plans"] == plain["plans"]
    assert compiled["plans"]["carried"]["frames_dropped"] > 20
    repaired = compiled["plans"]["repaired"]
    assert repaired["frames_dropped"] > 20
    assert repaired["pause_sent"] > 5
    quick, rough = compiled["plans"]["quick"], compiled["plans"]["rough"]
    assert quick["feedback_received"] > 20
    assert rough["feedback_received"] > 2
    assert rough["pause_sent"] > 5
    assert rough["frames_dropped"] > 0
    for scheme in SCHEMES:
        assert compiled["plans"][scheme]["feedback_received"] > 1, scheme
