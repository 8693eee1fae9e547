"""An unmodified `snappi` client drives RoCEv2 queue pairs of `tailback otg` through a relay that
loses and marks frames; tshark on both interfaces is the referee."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from orchestrator import python_command

pytest.importorskip("snappi", reason="the extra `otg` is not installed")
pytest.importorskip("aiohttp", reason="the extra `otg` is not installed")
pytestmark = [
    pytest.mark.software,
    pytest.mark.slow,
    pytest.mark.usefixtures("namespaces"),
    pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed"),
]
FCS, OVERHEAD = 4, 20
ACK, CNP = 0x11, 0x81
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, SEND_ONLY = 6, 7, 8, 4
ENDS = {"there 0": (10, 20), "there 1": (11, 21), "back": (22, 12)}
Frames = list[dict[str, str]]


@cache
def outcome(scenario: str) -> dict[str, Any]:
    done = subprocess.run(
        python_command.module("tests.orchestrator.otg.rocev2_in_namespace", scenario),
        capture_output=True,
        text=True,
        timeout=280,
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def to_pair(frames: Frames, number: int) -> Frames:
    """RoCEv2 packets to a queue pair."""
    return [f for f in frames if f["infiniband.bth.destqp"] == f"0x{number:06x}"]


def of_kind(frames: Frames, opcode: int, syndrome: int | None = None) -> Frames:
    found = [f for f in frames if int(f["infiniband.bth.opcode"]) == opcode]
    if syndrome is None:
        return found
    return [f for f in found if int(f["infiniband.aeth.syndrome"]) >> 5 == syndrome]


def span_of(times: list[float]) -> float:
    return times[-1] - times[0]


def octets(frames: Frames) -> int:
    return sum(int(frame["frame.len"]) + FCS for frame in frames)


@pytest.mark.shares_cores
@pytest.mark.parametrize("name", ENDS)
def test_counts_of_each_flow_are_those_of_tshark_at_its_ends(name: str) -> None:
    found = outcome("counted")
    source, destination = ENDS[name]
    near, far = ("right", "left") if name == "back" else ("left", "right")
    metric = found["flows"][name]
    sent, received = (to_pair(found[end], destination) for end in (near, far))
    back = {end: to_pair(found[end], source) for end in (near, far)}
    expected = {
        "data_frames_tx": len(sent),
        "data_frames_rx": len(received),
        "frame_delta": len(sent) - len(received),
        "tx_bytes": octets(sent),
        "rx_bytes": octets(received),
        "ecn_ce_rx": sum(f["ip.dsfield.ecn"] == "3" for f in received),
        "ack_tx": len(of_kind(back[far], ACK, 0)),
        "ack_rx": len(of_kind(back[near], ACK, 0)),
        "nak_tx": len(of_kind(back[far], ACK, 3)),
        "nak_rx": len(of_kind(back[near], ACK, 3)),
        "cnp_tx": len(of_kind(back[far], CNP)),
        "cnp_rx": len(of_kind(back[near], CNP)),
    }
    assert {key: int(metric[key]) for key in expected} == expected
    numbers = Counter(f["infiniband.bth.psn"] for f in sent)
    assert int(metric["data_frames_retransmitted"]) == len(sent) - len(numbers)
    last = {str(WRITE_LAST), str(SEND_ONLY)}
    whole = {f["infiniband.bth.psn"] for f in sent if f["infiniband.bth.opcode"] in last}
    assert int(metric["message_tx"]) == len(whole)
    acks = of_kind(back[far], ACK)
    assert int(metric["message_complete_rx"]) == int(acks[-1]["infiniband.aeth.msn"])
    assert (metric["src_qp"], metric["dest_qp"]) == (str(source), str(destination))
    assert (metric["port_tx"], metric["port_rx"]) == (near, far)
    assert metric["src_ipv4"] == sent[0]["ip.src"]
    assert metric["dest_ipv4"] == sent[0]["ip.dst"]
    if name == "back":
        assert expected["cnp_tx"] == expected["ecn_ce_rx"] == 0
    else:
        assert min(expected["nak_tx"], expected["frame_delta"]) > 0
        for kind in ("cnp", "ack"):
            assert expected[f"{kind}_tx"] > expected[f"{kind}_rx"] > 0, "the relay loses some"
    assert expected["cnp_tx"] <= expected["ecn_ce_rx"]


@pytest.mark.shares_cores
def test_times_are_those_of_tshark_in_the_units_of_the_model() -> None:
    found = outcome("counted")
    for name, (source, destination) in ENDS.items():
        near, far = ("right", "left") if name == "back" else ("left", "right")
        metric = found["flows"][name]
        begun = float(to_pair(found[near], destination)[0]["frame.time_epoch"])
        acks = of_kind(to_pair(found[near], source), ACK)
        most = max(int(f["infiniband.aeth.msn"]) for f in acks)
        whole = next(f for f in acks if int(f["infiniband.aeth.msn"]) == most)
        lapse_ms = (float(whole["frame.time_epoch"]) - begun) * 1000
        assert int(metric["flow_completion_time"]) == pytest.approx(lapse_ms, abs=100)
        assert lapse_ms > 300
        arrived = to_pair(found[far], destination)
        for key, frame in (("first_timestamp", arrived[0]), ("last_timestamp", arrived[-1])):
            at = float(frame["frame.time_epoch"])
            assert int(metric[key]) / 1e9 == pytest.approx(at, abs=5e-3)
    for name in ("there 0", "back"):
        metric = found["flows"][name]
        low, mean, high = (int(metric[f"{k}_latency"]) for k in ("min", "avg", "max"))
        assert 1000 < low <= mean <= high < 10**9
    assert "avg_latency" not in found["flows"]["there 1"], "a byte has no room for a stamp"


@pytest.mark.shares_cores
def test_packets_are_what_the_configuration_says() -> None:
    found = outcome("counted")
    left, right = found["left"], found["right"]
    data = to_pair(left, 20)
    opcodes = [int(f["infiniband.bth.opcode"]) for f in data[:10]]
    assert opcodes == [WRITE_FIRST, *[WRITE_MIDDLE] * 8, WRITE_LAST], "10 kB: 10 packets of 1024"
    first = data[0]
    assert int(first["infiniband.bth.psn"]) == (1 << 24) - 100
    assert int(first["infiniband.reth.va"], 16) == 0xF00000000000BEEF
    assert int(first["infiniband.reth.r_key"], 16) == 0xCAFE0001
    assert int(first["infiniband.reth.dmalen"], 0) == 10_000
    assert max(int(f["infiniband.bth.psn"]) for f in data) == (1 << 24) - 1, "it wraps"
    assert any(int(f["infiniband.bth.psn"]) < 100 for f in data)
    keys = ("eth.src", "eth.dst", "ip.src", "ip.dst", "udp.srcport", "udp.dstport")
    macs = "02:00:00:00:00:01", "02:00:00:00:00:02"
    there = (*macs, "192.0.2.1", "192.0.2.2", "50010", "4791")
    assert {tuple(f[key] for key in keys) for f in data} == {there}
    answers = to_pair(left, 10)
    back = (*macs[::-1], "192.0.2.2", "192.0.2.1", "50020", "4791")
    assert {tuple(f[key] for key in keys) for f in answers} == {back}
    fields = ("ip.dsfield.dscp", "ip.dsfield.ecn")
    for frames, expected in (
        (data, ("26", "2")),
        (to_pair(left, 21), ("24", "1")),
        (of_kind(answers, ACK, 0), ("10", "1")),
        (of_kind(to_pair(right, 10), ACK, 3), ("12", "1")),
        (of_kind(answers, CNP), ("46", "0")),
    ):
        assert {tuple(f[key] for key in fields) for f in frames} == {expected}
    assert {f["ip.checksum.status"] for f in left + right if f["ip.src"]} == {"1"}
    sends = to_pair(left, 21)
    assert {f["infiniband.bth.opcode"] for f in sends} == {str(SEND_ONLY)}
    assert {f["infiniband.bth.padcnt"] for f in sends} == {"3"}, "one octet"
    for number in (10, 11):
        times = [float(f["frame.time_epoch"]) for f in of_kind(to_pair(right, number), CNP)]
        gaps = [after - before for before, after in pairwise(times)]
        assert len(gaps) > 5
        assert span_of(times) / len(gaps) >= 240e-6, "cnp_delay_timer"


@pytest.mark.shares_cores
def test_ports_and_peers_have_the_frames_and_queue_pairs() -> None:
    found = outcome("counted")
    for end, mac in (("left", "02:00:00:00:00:01"), ("right", "02:00:00:00:00:02")):
        metric = found["ports"][end]
        mine = [f for f in found[end] if f["eth.src"] == mac]
        others = [f for f in found[end] if f["eth.src"] != mac]
        keys = ("frames_tx", "bytes_tx", "frames_rx", "bytes_rx")
        expected = [len(mine), octets(mine), len(others), octets(others)]
        assert [int(metric[key]) for key in keys] == expected
        up = {"name": f"{end} peer", "qp_configured": "3", "qp_up": "3", "qp_down": "0"}
        assert found["peers"][f"{end} peer"] == up
    assert set(found["columns"]["back"]) == {"flow_name", "cnp_rx", "data_frames_tx"}
    assert min(found["relay"]) > 0
    assert found["code"] == 130


def test_dcqcn_limits_the_rate_as_its_settings_say() -> None:
    found = outcome("controlled")
    for name, percentage in (("first", 1.5), ("least", 3.0)):
        metric, frames = found["rates"][name]
        assert int(metric["cnp_rx"]) > 10
        data = [f for f in frames if f["ip.src"] == "192.0.2.1"]
        began = next(float(f["frame.time_epoch"]) for f in data if f["ip.dsfield.ecn"] == "3")
        late = [f for f in data if float(f["frame.time_epoch"]) > began + 0.3]
        span = float(late[-1]["frame.time_epoch"]) - float(late[0]["frame.time_epoch"])
        rate = sum(int(f["frame.len"]) + FCS + OVERHEAD for f in late[1:]) * 8 / span
        assert rate == pytest.approx(1e9 * percentage / 100, rel=0.1), name
    down, refused = found["down"]
    assert (down["left peer"]["qp_up"], down["left peer"]["qp_down"]) == ("0", "1")
    assert refused == [400, ["flow flow: the RoCEv2 peer left peer is down"]]
    assert found["stopped"]["left peer"]["qp_up"] == "0"
    assert found["up"]["left peer"]["qp_up"] == "1"
    assert found["up"]["right peer"]["qp_up"] == "0"
    assert found["code"] == 130


@pytest.mark.shares_cores
def test_a_connection_without_answers_fails_and_begins_anew_with_the_next_start() -> None:
    found = outcome("unanswered")
    metric = found["failed"]
    counts = [int(metric[key]) for key in ("message_fail", "data_frames_rx", "ack_rx")]
    assert counts == [1, 0, 0]
    sent, again = (int(metric[k]) for k in ("data_frames_tx", "data_frames_retransmitted"))
    assert 2 <= again < sent, "each of two retries begins with the first packet"
    assert "flow_completion_time" not in metric
    assert found["peers"]["left peer"]["qp_down"] == "1"
    before, after = found["paused"]
    assert before["data_frames_tx"] == after["data_frames_tx"] == after["ack_rx"]
    resumed = found["resumed"]
    assert int(resumed["data_frames_tx"]) > int(after["data_frames_tx"]) > 0
    assert resumed["message_fail"] == "0"
    code, sentences = found["unsupported"]
    assert code == 400
    assert [s.split(" ")[0].rsplit(".", 1)[1] for s in sentences] == [
        "retransmission_retry_count:",
        "read",
    ]
    assert "'connect_request_tx' is not accepted" in found["columns"][1][0]
    assert found["code"] == 130


@pytest.mark.shares_cores
def test_the_script_of_the_page_has_cnps_for_its_marks() -> None:
    found = outcome("page")
    metric = json.loads(found["out"])
    sent, received, marked, cnps = (
        int(metric[key]) for key in ("data_frames_tx", "data_frames_rx", "ecn_ce_rx", "cnp_rx")
    )
    assert sent == received == marked > cnps > 10, found["err"]
    assert int(metric["flow_completion_time"]) <= 2500
