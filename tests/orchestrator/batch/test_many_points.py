"""What a sweep of many points holds in memory does not grow with them but by its index."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


def swept(side: int) -> dict[str, Any]:
    """A process of its own, since the most memory of one never falls."""
    words = [sys.executable, "-m", "tests.orchestrator.batch.many_points", str(side), "10"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_is_flat_in_the_number_of_points() -> None:
    few, many = swept(20), swept(60)
    assert (few["points"], many["points"]) == (4_000, 36_000)
    grown = many["memory_mb"] - few["memory_mb"]
    assert grown < 32, "below 1 KB for each point more; their rows are 300 octets each"
