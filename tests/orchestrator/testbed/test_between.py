"""Devices of others whose cables lead to several machines, whose agents probe and drive them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.targets.software.namespace_probe import probe
from orchestrator.targets.software.worker_process import run_job
from tests.trials import plans

JOB = "tests.orchestrator.testbed.between:"

pytestmark = [pytest.mark.software, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module", autouse=True)
def namespaces() -> None:
    """They are to be had, and what is compiled is in the cache: not once per agent at a time."""
    refused = probe()
    if refused is not None:
        pytest.skip(str(refused))
    plans.compile_once()


@pytest.fixture(scope="module")
def erring(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Runs through one device after the other between the same two machines."""
    devices = ["errs", "chatters", "floods", "strips"]
    found: dict[str, dict[str, Any]] = run_job(
        JOB + "told", str(tmp_path_factory.mktemp("erring")), devices
    )
    return found


def through(found: dict[str, Any]) -> dict[str, Any]:
    """The result of a run through a device between two machines."""
    assert "run" in found["result"].get("metrics", {}), (
        found["result"].get("cause"),
        found["said"],
    )
    assert found["left"] == []
    return dict(found["result"])


@pytest.mark.slow
def test_a_bridge_between_two_machines_is_followed_frame_by_frame(tmp_path: Path) -> None:
    """As on one machine: what went in at the left came out at the right, and so says the oracle."""
    result = through(run_job(JOB + "told", str(tmp_path), ["bridge"])["bridge"])
    metrics = result["metrics"]["run"]
    seen = metrics["sw"]
    sent = sum(metrics[flow]["frames.sent"] for flow in ("gen1", "gen2"))
    assert seen["frames.received"] == seen["frames.sent"] == sent > 150
    for name in ("dropped", "reordered", "duplicated", "foreign"):
        assert seen[f"frames.{name}"] == 0, name
    assert seen["latency_s.p50"] > 0
    assert result["machines"] == {"left": ["nic1", "nic2"], "right": ["sink"]}
    assert result["external"]["sw"]["oracle"] == "conforms", "one kernel, one clock"
    cables = result["fidelity"]["external"]["sw"]
    assert {port: row["interface"] for port, row in cables.items()} == {
        "sw.nic1": "left:eth1",
        "sw.nic2": "left:eth2",
        "sw.sink": "right:eth1",
    }
    assert sum(result["fidelity"]["lost_outside_queues"].values()) == 0


def test_what_a_device_between_machines_does_is_no_loss_of_ours(erring: dict[str, Any]) -> None:
    """It is told of the device, kind by kind, and of nothing else."""
    result = through(erring["errs"])
    seen = result["metrics"]["run"]["sw"]
    tenth = seen["frames.received"] // 10
    assert tenth >= 15
    for name in ("frames.duplicated", "frames.foreign", "frames.dropped", "pause.count"):
        assert abs(seen[name] - tenth) <= 1, name
    assert seen["frames.reordered"] > 0
    assert seen["departures"] == 1
    assert sum(result["fidelity"]["lost_outside_queues"].values()) == 0


def test_what_a_device_between_machines_loses_and_says_is_no_loss_of_ours(
    erring: dict[str, Any],
) -> None:
    """Neither what does not arrive, nor what nobody of ours sent."""
    result = through(erring["chatters"])
    seen = result["metrics"]["run"]["sw"]
    tenth = seen["frames.received"] // 10
    assert abs(seen["frames.dropped"] - 3 * tenth) <= 3
    assert seen["frames.foreign"] == 0, "LLDP is let pass by"
    assert sum(result["fidelity"]["lost_outside_queues"].values()) == 0


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What was said of each inventory."""
    found: dict[str, Any] = run_job(JOB + "refused", str(tmp_path_factory.mktemp("lab")))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "code", "words"),
    [
        ("unsaid", 2, "which NIC of which machine leads to its port sink"),
        ("of no machine", 2, "leads to its port sink, only eth1"),
        ("wrong agent", 2, "the cable to sw.nic1 (left:eth1) is on left, and node nic1 belongs on"),
        ("no such NIC", 2, "agent right: has no NIC eth9"),
        ("no port of it", 2, "what is sent to sw.sink (right:eth2) comes out nowhere"),
        ("narrow", 2, "frames of 1000 octets do not pass: from sw.nic1 (left:eth1) to sw.sink"),
        ("in use", 3, "NIC ctl has the address"),
        ("held", 3, "is held by controller"),
    ],
)
def test_an_inventory_that_will_not_do_is_refused_by_name(
    refused: dict[str, Any], case: str, code: int, words: str
) -> None:
    """Of interfaces, agents and ports; nothing of it stays on any machine."""
    said = refused[case]["said"] + refused[case]["result"].get("cause", "")
    assert words in said
    assert refused[case]["code"] == code, refused[case]["said"]
    assert refused["left"] == []


def test_what_a_device_floods_is_heard_by_whom_it_is_for(erring: dict[str, Any]) -> None:
    """Agents drop the rest as a NIC would."""
    metrics = through(erring["floods"])["metrics"]["run"]
    assert metrics["sw"]["frames.dropped"] == 0
    assert metrics["sw.sink"]["frames.sent"] == metrics["sw"]["frames.received"] > 150
    assert metrics["sw.nic1"]["frames.sent"] == metrics["sw.nic2"]["frames.sent"] == 0


def test_a_device_that_takes_the_tag_away_is_told_by_machine_and_nic(
    erring: dict[str, Any],
) -> None:
    found = erring["strips"]
    assert found["code"] == 2, found["said"]
    assert "sw.sink (right:eth1) without the VLAN tag" in found["said"]
    assert found["left"] == []
