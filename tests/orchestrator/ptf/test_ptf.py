"""PTF, unmodified, tests a switch of ours: what is right passes, what is set wrong is found."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from orchestrator import python_command

pytest.importorskip("ptf", reason="the extra `ptf` is not installed")

ROOT = Path(__file__).parents[3]
pytestmark = [
    pytest.mark.software,
    pytest.mark.slow,
    pytest.mark.usefixtures("namespaces"),
]


def outcomes(*words: str) -> dict[str, str]:
    """What PTF says of each of its tests; `words`: settings of the switch, then tests."""
    done = subprocess.run(
        python_command.module("tests.orchestrator.ptf.in_namespace", *words),
        capture_output=True,
        text=True,
        timeout=280,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_reference_switch_passes() -> None:
    found = outcomes()
    assert set(found) == {
        *("Unicast", "Flood", "Moved", "NotForwarded", "Paused", "Marked", "NotCapable", "Pauses")
    }
    assert set(found.values()) == {"passed"}, found


@pytest.mark.parametrize(
    ("settings", "right", "wrong"),
    [
        (["congestion_point.low=4KB", "congestion_point.high=4001B"], "NotCapable", "Marked"),
        (["pause.high=90KB"], "Paused", "Pauses"),
        (['dscp_to_tc={"3"=0}'], "Unicast", "Paused"),
        (["mac_learning.longest_frame=70B"], "NotForwarded", "Unicast"),
    ],
    ids=["marks too early", "pauses too late", "wrong class", "forwards short frames alone"],
)
def test_a_switch_that_is_set_wrong_fails(settings: list[str], right: str, wrong: str) -> None:
    changes = (f"nodes.sw.{each}" for each in settings)
    assert outcomes(*changes, right, wrong) == {right: "passed", wrong: "failed"}
