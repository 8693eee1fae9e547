"""An unmodified `snappi` client drives `tailback otg` on a veth pair; tshark is the referee."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from orchestrator import python_command

pytest.importorskip("snappi", reason="the extra `otg` is not installed")
pytest.importorskip("aiohttp", reason="the extra `otg` is not installed")

ROOT = Path(__file__).parents[3]
FCS = 4
pytestmark = [
    pytest.mark.software,
    pytest.mark.slow,
    pytest.mark.usefixtures("namespaces"),
    pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed"),
]


def outcome(scenario: str) -> dict[str, Any]:
    done = subprocess.run(
        python_command.module("tests.orchestrator.otg.in_namespace", scenario),
        capture_output=True,
        text=True,
        timeout=280,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def numbers(metrics: dict[str, Any], *keys: str) -> tuple[int, ...]:
    return tuple(int(metrics[key]) for key in keys)


def octets(frames: list[dict[str, str]]) -> int:
    return sum(int(frame["frame.len"]) + FCS for frame in frames)


@pytest.mark.shares_cores
def test_a_usual_script_and_its_metrics_are_those_that_tshark_counted() -> None:
    found = outcome("usual")
    flows, ports, seen = found["flows"], found["ports"], found["tshark"]
    there = [f for f in seen["right"] if f["vlan.id"] == "7"]
    back = [f for f in seen["left"] if f["ipv6.dst"] == "2001:db8::7"]
    storm = [f for f in seen["right"] if f["macc.cbfc.pause_time.c3"]]
    keys = ("frames_tx", "frames_rx", "bytes_tx", "bytes_rx")
    for name, frames in (("there", there), ("back", back), ("storm", storm)):
        count, size = len(frames), octets(frames)
        assert numbers(flows[name], *keys) == (count, count, size, size), name
        assert flows[name]["loss"] == 0.0
    assert (len(there), len(back)) == (400, 300)
    assert len(storm) > 10
    assert found["storming"] == "started", "a continuous flow goes on until it is stopped"
    right = there + storm
    assert numbers(ports["right"], "frames_rx", "bytes_rx") == (len(right), octets(right))
    assert numbers(ports["left"], "frames_tx", "bytes_tx") == (len(right), octets(right))
    assert numbers(ports["left"], "frames_rx", "bytes_rx") == (len(back), octets(back))
    assert Counter(f["ip.src"] for f in there) == {f"10.0.0.{n}": 80 for n in range(1, 6)}
    assert Counter(f["udp.dstport"] for f in there) == {"4791": 200, "4792": 200}
    assert {(f["ip.dsfield.dscp"], f["ip.dsfield.ecn"]) for f in there} == {("26", "1")}
    assert {f["ip.checksum.status"] for f in there} == {"1"}, "1: good"
    assert {f["udp.checksum.status"] for f in there + back} == {"1"}
    sizes = [int(f["frame.len"]) + FCS for f in back]
    assert 90 <= min(sizes) < 200 < 1390 < max(sizes) <= 1500
    assert {f["macc.cbfc.pause_time.c3"] for f in storm} == {"65535"}
    assert {f["frame.len"] for f in storm} == {"60"}
    strip = [{k: v for k, v in f.items() if k != "frame.time_epoch"} for f in right]
    got = [{k: v for k, v in f.items() if k != "frame.time_epoch"} for f in seen["got"]]
    assert sorted(map(str, got)) == sorted(map(str, strip)), "the capture is what tshark saw"
    for name in ("there", "back"):
        latency = flows[name]["latency"]
        low, mean, high = (latency[f"{k}_ns"] for k in ("minimum", "average", "maximum"))
        assert 0 < low <= mean <= high < 1e9
    assert int(found["again"]) == 401
    assert 'frames_reordered_total{flow="there",port="left"} 1.0' in found["metrics"]
    assert 'flow_frames_lost{flow="there",port="left"} 0.0' in found["metrics"]
    assert (
        'port_frames_total{direction="sent",interface="veth2",port="right"} 300.0'
        in (found["metrics"])
    )
    code, sentences = found["unsupported"]
    assert code == 400
    assert any(s.startswith("flows[0].packet[4].tcp is not supported") for s in sentences)
    assert any(s.startswith("flows[1].payload is not supported") for s in sentences)
    assert found["after"] == found["back config"] == ["there", "back", "storm"], "unchanged"
    assert found["code"] == 130


def test_a_matrix_of_pause_rates_and_quanta_bursts_and_pauses_over_grpc() -> None:
    found = outcome("matrix")
    frames = found["frames"]
    quanta = Counter(f["macc.cbfc.pause_time.c3"] for f in frames if f["macc.cbfc.pause_time.c3"])
    assert quanta == {"100": 100, "65535": 100}
    assert [numbers(c, "frames_tx", "frames_rx") for c in found["cells"].values()] == [(50, 50)] * 4
    pauses = [float(f["frame.time_epoch"]) for f in frames if f["macc.cbfc.pause_time.c3"]]
    for cell, pps in enumerate((250, 250, 1000, 1000)):
        span = pauses[cell * 50 + 49] - pauses[cell * 50]
        assert span == pytest.approx(49 / pps, abs=0.03), "the schedule holds whatever is late"
    bursts = [f for f in frames if f["udp.dstport"] == "77"]
    assert [int(f["frame.len"]) + FCS for f in bursts] == [100, 120, 140] * 13 + [100]
    times = [float(f["frame.time_epoch"]) for f in bursts]
    gaps = [after - before for before, after in pairwise(times)]
    assert [row for row, gap in enumerate(gaps, 1) if gap > 0.05] == [10, 20, 30]
    plain = [f for f in frames if f["macc.opcode"] == "0x0001"]
    assert {int(f["macc.pause_time"]) for f in plain} == {0xABC}
    assert len(plain) == 30
    before, after = found["held"]
    assert before["transmit"] == after["transmit"] == "paused"
    assert before["frames_tx"] == after["frames_tx"] < "30"
    timed = numbers(found["flows"]["timed"], "frames_tx", "frames_rx")
    assert timed == (50, 50), "0.01 % of 10 Gb/s, 1230 + 20 octets: 100 frames/s for half a second"
    assert any("layer1[0].speed: veth1 stays as it is" in w for w in found["warnings"])
    code, sentences = found["unsupported"]
    assert code in (3, 400)
    assert [s.split(" ")[0] for s in sentences] == ["layer1[0].flow_control"]
    assert "update_config is not supported" in found["update"][1][0]
    assert found["code"] == 130


@pytest.mark.shares_cores
def test_the_script_of_the_page_prints_and_captures_as_the_page_says() -> None:
    found = outcome("walk")
    lines = [line.rsplit(" ", 4) for line in found["out"].splitlines()]
    assert [line[:4] for line in lines] == [
        ["from left", "2000", "2000", "0.0"],
        ["from right", "2000", "2000", "0.0"],
        ["storm", "1000", "1000", "0.0"],
    ], found
    quanta = Counter(f["macc.cbfc.pause_time.c3"] for f in found["frames"])
    assert quanta == {"": 2000, "65535": 1000}


@pytest.mark.shares_cores
def test_tls_token_and_refusals() -> None:
    found = outcome("guarded")
    assert found["scheme"] == "https"
    assert found["none"][0] == found["wrong"][0] == 401
    assert "token expected" in found["none"][1][0]
    assert found["right"] == [0, []]
    assert found["version"]["app_version"].startswith("tailback ")
    assert found["code"] == 130
    for name, sentence in (
        ("second", "is held by another"),
        ("unknown", "there is no NIC nothere"),
        ("speed", "give it: p1=veth1@10Gb/s"),
        ("loopback", "is the loopback"),
    ):
        code, err = found[name]
        assert code == 2, (name, err)
        assert sentence in err, (name, err)
        assert "Traceback" not in err
