"""The hunt finds planted faults, makes them small, and cries wolf over nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import hunt
from tests.orchestrator.cli.command_page import check_commands

ROOT = Path(__file__).parents[3]
DROPPED = "without_room(w, port_index, queue_index, index, now)"
GIVEN = f"{12 * ' '}give_back(w, {DROPPED})\n{12 * ' '}return\n"
NODE = "orchestrator.engine.node"
FAULTS: dict[str, tuple[str, str, str]] = {
    "a lost octet": (
        f"{NODE}.buffer_occupancy",
        "    queue.bytes -= octets\n",
        "    queue.bytes -= octets - 1\n",
    ),
    "an octet too many": (
        f"{NODE}.buffer_occupancy",
        "    queue.bytes += frame.length\n",
        "    queue.bytes += frame.length + 1\n",
    ),
    "a buffer one frame too large": (
        f"{NODE}.egress_enqueue",
        "    if queue.bytes + w.frames[index].length > queue.capacity:\n        promised",
        "    if queue.bytes > queue.capacity:\n        promised",
    ),
    "a frame that is not counted": (
        f"{NODE}.egress_enqueue",
        f"{12 * ' '}queue.frames_dropped += 1\n{GIVEN}",
        GIVEN,
    ),
    "a descriptor that is not given back": (
        f"{NODE}.egress_enqueue",
        f"{12 * ' '}queue.frames_dropped += 1\n{GIVEN}",
        f"{12 * ' '}queue.frames_dropped += 1\n{12 * ' '}return\n",
    ),
    "a delay line that forgets": (
        f"{NODE}.delay_line",
        "    port.line_bytes -= frame.length\n",
        "    port.line_bytes -= frame.length + 1\n",
    ),
    "a frame that arrives twice": (
        f"{NODE}.early_delivery",
        "    flow.frames_received += 1\n",
        "    flow.frames_received += 2\n",
    ),
}
QUICK = ("a frame that arrives twice", "a delay line that forgets")
MOST_LINES, MOST_FRAMES = 20, 20


def hunted(
    changes: Sequence[tuple[str, str, str]],
    *,
    cores: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """What a hunt finds in a process with these changes."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.orchestrator.fuzz.planted"],
        input=json.dumps({"changes": changes, "options": options, "cores": cores}),
        cwd=ROOT,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def assert_found_and_small(fault: str) -> None:
    result = hunted([FAULTS[fault]], plans=400, most=1)
    assert result["found"], f"{fault}: nothing found in {result['plans']} plans"
    least = min(result["found"], key=lambda one: (one["frames"], one["lines"]))
    assert least["frames"] <= MOST_FRAMES, least
    assert least["lines"] <= MOST_LINES, least


@pytest.mark.parametrize("fault", QUICK)
def test_a_planted_fault_is_found_and_made_small(fault: str) -> None:
    assert_found_and_small(fault)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("fault", sorted(set(FAULTS) - set(QUICK)))
def test_every_planted_fault_is_found_and_made_small(fault: str) -> None:
    assert_found_and_small(fault)


def test_its_options_are_those_of_the_page() -> None:
    assert check_commands(hunt) == ["hunt"]
