"""Devices of others between our nodes, on real frames: what they do is told, each by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.targets.software.worker_process import run_job
from tests.orchestrator.targets.software.bought import PLAN

pytestmark = [
    pytest.mark.software,
    pytest.mark.shares_cores,
    pytest.mark.usefixtures("namespaces"),
]

CABLES = ["sw.nic1=e1", "sw.nic2=e2", "sw.sink=e3"]


def tried(plan: str = PLAN, **told: Any) -> dict[str, Any]:
    """What came of a run through a device."""
    found: dict[str, Any] = run_job(
        "tests.orchestrator.targets.software.bought:attempt", plan, {"cables": CABLES} | told
    )
    assert found["put back"]
    assert found["left"] == 0
    return found


def through(plan: str = PLAN, **told: Any) -> dict[str, Any]:
    """The result of a run through a device."""
    found = tried(plan, **told)
    assert "result" in found, found
    return dict(found["result"])


def test_a_bridge_forwards_everything_and_conforms() -> None:
    """Every frame that went in came out, where it belongs, and the oracle says so."""
    result = through()
    metrics = result["metrics"]["run"]
    seen, out = metrics["sw"], metrics["sw.sink"]
    sent = sum(metrics[flow]["frames.sent"] for flow in ("gen1", "gen2"))
    assert seen["frames.received"] == seen["frames.sent"] == out["frames.sent"] == sent > 150
    for name in ("dropped", "reordered", "duplicated", "foreign"):
        assert seen[f"frames.{name}"] == 0, name
    assert 0 < seen["latency_s.p50"] <= seen["latency_s.p99"] <= seen["latency_s.max"]
    assert metrics["sw.nic1"]["frames.sent"] == 0
    assert metrics["sw.nic1"]["latency_s.p50"] is None
    assert seen["departures"] == 0
    assert result["external"]["sw"]["oracle"] == "conforms"
    assert result["external"]["sw"]["frames"] == sent
    cables = result["fidelity"]["external"]["sw"]
    assert {port: row["interface"] for port, row in cables.items()} == {
        "sw.nic1": "e1",
        "sw.nic2": "e2",
        "sw.sink": "e3",
    }
    assert not any("in its place" in note for note in result["notes"])


HEADERS = {
    "untagged": 'tagged = false\npriority = "dscp"',
    "qinq": "vlan = 300\nouter_vlan = 7",
    "ipv6": "ip = 6\ntagged = false",
}


@pytest.mark.parametrize("headers", ["vlan = 1", *HEADERS.values()], ids=["tagged", *HEADERS])
def test_a_device_that_drops_is_told_by_frame_and_rule(headers: str) -> None:
    """One data frame in ten is missing: so many are counted, and the oracle names the first."""
    result = through(PLAN + f"[headers]\n{headers}\n", device="loses")
    seen = result["metrics"]["run"]["sw"]
    assert seen["frames.received"] > 150
    assert seen["frames.dropped"] == seen["frames.received"] - seen["frames.sent"]
    assert abs(seen["frames.drop_ratio"] - 0.1) < 0.005
    assert seen["departures"] == 1
    told = result["external"]["sw"]
    assert told["oracle"] == "departs"
    assert told["finding"]["rule"] == "queue.drop"
    assert told["finding"]["port"] == "sw.sink"
    assert any("sw departs" in note and "queue.drop" in note for note in result["notes"])


def test_what_a_device_makes_of_frames_is_counted_kind_by_kind() -> None:
    """Doubled, damaged, late (and so out of order), and PAUSE towards the source."""
    result = through(device="errs")
    metrics = result["metrics"]["run"]
    seen = metrics["sw"]
    tenth = seen["frames.received"] // 10
    assert tenth >= 15
    for name in ("frames.duplicated", "frames.foreign", "pause.count"):
        assert abs(seen[name] - tenth) <= 1, name
    assert abs(seen["frames.dropped"] - tenth) <= 1  # the damaged ones
    assert seen["frames.reordered"] > 0
    assert seen["latency_s.max"] > 0.004
    paused = [metrics[f"sw.nic{n}"]["pause.count"] for n in (1, 2)]
    assert sum(paused) == seen["pause.count"]
    assert metrics["sw.sink"]["pause.count"] == 0
    for n in (1, 2):
        assert (metrics[f"nic{n}>sw"]["pause.time_s"] > 0) == (paused[n - 1] > 0)
    assert seen["departures"] == 1


def test_interfaces_are_put_back_when_the_run_is_killed(tmp_path: Path) -> None:
    """By SIGKILL, which no process can prepare for; the keeper of the interfaces sees it gone."""
    long = PLAN.replace('duration = "0.5s"', 'duration = "60s"')
    job = "tests.orchestrator.targets.software.bought:killed"
    found = run_job(job, long, str(tmp_path))
    assert found == {"set": True, "put back": True, "left": 0}


def refusal(**told: Any) -> str:
    """The words of a run that was refused."""
    found = tried(**told)
    assert found.get("exit") == 2, found
    return str(found["error"])


def test_a_device_with_too_small_an_mtu_is_told_before_the_run() -> None:
    """Short probes pass and long ones do not."""
    said = refusal(mtu=900)
    assert "frames of 1000 octets do not pass" in said
    assert "from sw.nic1 (e1) to sw.sink (e3)" in said
    assert "MTU of 986" in said


@pytest.mark.parametrize("headers", HEADERS.values(), ids=list(HEADERS))
def test_a_device_gets_the_headers_of_the_plan(headers: str) -> None:
    """Probes and frames: untagged ones pass access ports, which are refused otherwise."""
    result = through(PLAN + f"[headers]\n{headers}\n")
    metrics = result["metrics"]["run"]
    sent = sum(metrics[flow]["frames.sent"] for flow in ("gen1", "gen2"))
    assert metrics["sw"]["frames.received"] == metrics["sw"]["frames.sent"] == sent > 150
    for name in ("dropped", "reordered", "duplicated", "foreign"):
        assert metrics["sw"][f"frames.{name}"] == 0, name
    assert result["external"]["sw"]["oracle"] == "conforms"


def test_a_device_that_takes_another_tag_away_is_told_before_the_run() -> None:
    found = tried(PLAN + "[headers]\nvlan = 300\n", device="strips")
    assert found.get("exit") == 2
    assert "other VLAN tags" in str(found["error"])
    assert "tagged, VLAN 300" in str(found["error"])


def test_a_device_that_takes_the_tag_away_is_told_before_the_run() -> None:
    """Access ports of a switch that knows VLANs: what comes out has no priority any more."""
    said = refusal(device="strips")
    assert "sw.sink (e3) without the VLAN tag" in said
    assert "VLAN 1 tagged" in said


def test_a_dead_port_is_told_before_the_run() -> None:
    """Both ways: what it does not get, and what does not come out of it."""
    said = refusal(apart=["e3"])
    assert "what is sent to sw.sink (e3) comes out nowhere" in said
    assert "what is sent to sw.nic1 (e1) does not come out of sw.sink (e3)" in said


TWO = (
    PLAN.replace('[links.down]\nends = ["sw", "sink"]', '[links.down]\nends = ["mid", "sink"]')
    + """
[nodes.mid]
kind = "switch"
[nodes.sw2]
kind = "external"
[links.over]
ends = ["sw", "mid"]
rate = "10Gb/s"
[nodes.idle]
kind = "sink"
[links.side]
ends = ["sw2", "idle"]
rate = "10Gb/s"
[links.back]
ends = ["mid", "sw2"]
rate = "10Gb/s"
"""
)


def test_cables_of_two_devices_that_are_crossed_are_told_before_the_run() -> None:
    """Two ports of two devices are the other way round."""
    every = ["e1", "e2", "e3", "e4", "e5"]
    said = refusal(
        plan=TWO,
        interfaces=every,
        apart=["e4", "e5"],
        elsewhere=True,
        cables=["sw.nic1=e1", "sw.nic2=e2", "sw.mid=e4", "sw2.mid=e3", "sw2.idle=e5"],
    )
    assert "what is sent to sw.mid (e4) comes out of sw2.idle (e5), which is another device" in said
    assert "what is sent to sw2.mid (e3) comes out of sw.nic1 (e1), sw.nic2 (e2)" in said


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"addresses": {"e2": "10.9.9.9"}}, "NIC e2 has the address 10.9.9.9"),
        ({"cables": ["sw.nic1=e1", "sw.nic2=e2", "sw.sink=e9"]}, "there is no NIC e9"),
        ({"ours": {"e1": 800}}, "e1, which leads to sw.nic1, has an MTU of 800"),
        ({"cables": CABLES[:2]}, "no interface is named that leads to its port sink"),
        ({"cables": [*CABLES[:2], "sw.sink=e2"]}, "e2 leads to sw.nic2 already"),
        ({"cables": [*CABLES, "sx.sink=e2"]}, "unknown external node 'sx'"),
    ],
)
def test_an_interface_that_will_not_do_is_refused_by_name(told: dict[str, Any], words: str) -> None:
    """Nothing has been set on any of them then, or it was put back."""
    assert words in refusal(**told)
