"""`tailback headroom`: the sum of the standard, a plan's buffers, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from orchestrator.plan import Plan
from orchestrator.plan.pfc_headroom import cells_for, of_cable
from orchestrator.registry import Registry
from tests.orchestrator.plan.test_pfc_headroom import given_headroom, squeezed


def test_the_sum_and_its_parts(tailback):
    done = tailback("headroom", "--rate", "40Gb/s", "--cable", "30", "--json")
    found = json.loads(done.stdout)
    assert found["octets"] == of_cable(40 * 10**9, 30, 1522).octets
    assert found["bits"] == sum(v for k, v in found.items() if k not in ("bits", "octets"))
    text = tailback("headroom", "--rate", "40Gb/s", "--cable", "30").stdout
    assert str(found["bits"]) in text


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--rate", "3"),
        ("--rate", "0Gb/s"),
        ("--rate", "1600Gb/s"),
        ("--cable", "-1"),
        ("--cable", "40000001"),
        ("--cell", "-1"),
        ("--frame", "1Gb/s"),
        ("--frame", "0"),
        ("--frame", "63B"),
        ("--frame", "66KB"),
        ("--peer-frame", "0B"),
        ("--peer-frame", "5B"),
    ],
)
def test_what_cannot_be_is_refused(tailback, option, value):
    done = tailback("headroom", option, value)
    assert done.exit_code == 2
    assert option in done.stderr
    assert value in done.stderr


def test_cells_and_long_cables(tailback):
    words = ("headroom", "--rate", "400Gb/s", "--cable", "300000", "--cell", "256")
    found = json.loads(tailback(*words, "--json").stdout)
    assert found["response"] == 905 * 512
    assert found["cells"] == cells_for(found["octets"], 1522, 256)
    assert found["memory_octets"] == 256 * found["cells"]
    assert found["cable"] == 2 * 300_000 * 5_000 * 4 // 10
    assert f"{found['cells']} cells" in tailback(*words).stdout
    without = tailback("headroom", "--rate", "1600Gb/s", "--response", "1000000", "--json")
    assert json.loads(without.stdout)["response"] == 1_000_000


def as_a_command(*words: str) -> subprocess.CompletedProcess[str]:
    """The command with the plugins that are installed."""
    command = [sys.executable, "-m", "orchestrator.cli", "headroom", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(("less", "code"), [(0, 0), (1500, 1)])
def test_a_plan_is_checked(tmp_path, less, code):
    path = tmp_path / "squeezed.toml"
    plan = Plan(**given_headroom(squeezed(0, 0), less)).check(Registry.load()).plan
    path.write_text(plan.to_toml())
    done = as_a_command(str(path))
    assert done.returncode == code, done.stderr
    assert ("SHORT" in done.stdout) == bool(less)
    rows = json.loads(as_a_command(str(path), "--json").stdout)
    assert {row["entity"] for row in rows} == {"s.a/in", "s.b/in"}
    assert all(row["lossless"] is not bool(less) for row in rows)


def test_a_plan_without_pauses():
    assert "nothing in this plan pauses" in as_a_command("quickstart").stdout
