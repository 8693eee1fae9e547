"""`tailback storm` as a user has it: what it says, refuses, and leaves behind."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from orchestrator import python_command

ROOT = Path(__file__).parents[3]
HELD = "0000" * 3 + "ffff" * 2 + "0000" * 3
LET_GO = "0000" * 8

pytestmark = [
    pytest.mark.software,
    pytest.mark.shares_cores,
    pytest.mark.usefixtures("namespaces"),
]


def tried(what: str) -> dict[str, Any]:
    done = subprocess.run(
        python_command.module("tests.orchestrator.pause_storm.in_namespace", what),
        capture_output=True,
        text=True,
        timeout=250,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_storm_is_told_and_refused_and_changes_nothing() -> None:
    found = tried("whole")
    storm = found["storm"]
    assert storm["code"] == 0, storm["err"]
    assert "storming" in storm["err"]
    told = storm["told"]
    assert (told["verdict"], told["priorities"], told["lapses"]) == ("gapless", [3, 4], [])
    (port,) = told["ports"]
    assert (port["interface"], port["driver"], port["rate_bps"]) == ("near", "veth", 100_000_000)
    assert port["kernel"]["frames"] == port["far_end"]["frames"] == port["own"]["frames"] > 3
    assert port["hold_s"] == pytest.approx(65_535 * 512 / 1e8)
    assert found["same"]
    for name, said in (
        ("unknown", "no NIC nothere; there are: "),
        ("far", "--far-end: 'nothere'"),
        ("loopback", "is the loopback"),
        ("address", "10.1.2.3: it may be the way to this machine"),
        ("no carrier", "no device is at the other end"),
        ("down", "`ip link set near up`"),
    ):
        assert found[name]["code"] == 2, name
        assert said in found[name]["err"], name
    assert "--in-use" in found["address"]["err"]
    assert "--in-use" not in found["loopback"]["err"]
    assert found["in use"]["code"] == 0, found["in use"]["err"]


def test_who_is_interrupted_lets_the_port_go_and_tells() -> None:
    found = tried("interrupted")
    assert found["code"] == 130
    assert found["told"]["interrupted"]
    assert found["told"]["ran_s"] < 30
    assert found["quanta"][0] == HELD
    assert found["quanta"][-1] == LET_GO
    assert found["same"], found["states"]


def test_who_is_killed_leaves_the_interfaces_as_they_were() -> None:
    found = tried("killed")
    assert found["code"] == -9
    assert set(found["quanta"]) == {HELD}, "nobody lets it go; that is done by the quanta"
    assert found["same"], found["states"]


def test_a_port_is_stormed_by_one_process_alone() -> None:
    found = tried("twice")
    assert found["other"]["code"] == 2
    assert "held by another" in found["other"]["err"]
    assert found["one"]["told"]["verdict"] == "gapless"
