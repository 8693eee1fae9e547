"""Jain's index compares data flows that share a direction of a link, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.contrib.roce import cnp
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether

from tests.traces.analysis.test_flow_identity import roce, write
from tests.traces.dissect.samples import FRAMES
from traces.analysis import analyze
from traces.analysis.analysis_result import Fairness

LLDP = next(one for one in FRAMES if one[12:14] == b"\x88\xcc")


def mac(station: int) -> str:
    return f"02:00:00:00:00:{station:02x}"


def ip(source: int, destination: int, payload, size: int = 0) -> bytes:
    ends = IP(src=f"10.0.0.{source}", dst=f"10.0.0.{destination}")
    return bytes(Ether(src=mac(source), dst=mac(destination)) / ends / payload / bytes(size))


def data(source: int, destination: int, size: int = 1000) -> bytes:
    return ip(source, destination, UDP(sport=5000, dport=6000), size)


def fairness(path: Path, frames: list[bytes]) -> Fairness:
    (seen,) = analyze(write(path / "a.pcap", frames)).interfaces
    assert seen.jain == seen.fairness.jain
    return seen.fairness


ACK = roce(1, opcode=17, src=mac(2), dst=mac(1), qp=0x77)
CNP = ip(2, 1, UDP(sport=1, dport=4791) / cnp(dqpn=9))
BARE = ip(2, 1, TCP(sport=80, dport=5, flags="A"))
OTHERS = {
    "acknowledgements": [ACK] * 10,
    "CNPs": [CNP] * 10,
    "acknowledgements of TCP": [BARE] * 10,
    "stations that speak LLDP": [LLDP, LLDP[:6] + b"\x02\0\0\0\0\x33" + LLDP[12:]] * 3,
    "ARP and ICMP": [bytes(Ether() / ARP()), ip(1, 2, ICMP(), 40)],
    "clocks": [ip(1, 2, UDP(sport=319, dport=319), 44), ip(1, 2, UDP(sport=123, dport=123), 48)],
}


@pytest.mark.parametrize("name", OTHERS)
def test_one_flow_has_no_fairness_whatever_else_there_is(tmp_path, name) -> None:
    found = fairness(tmp_path, [roce(psn) for psn in range(10)] + OTHERS[name])
    assert (found.jain, found.flows, found.kinds) == (None, 1, ["RoCE"])
    assert found.left_out > 0


@pytest.mark.parametrize("name", OTHERS)
def test_only_data_counts_beside_others(tmp_path, name) -> None:
    two = [roce(n, qp=0x11 + n % 2) for n in range(10)]
    found = fairness(tmp_path, two + OTHERS[name])
    assert (found.jain, found.flows) == (pytest.approx(1.0), 2)


def test_data_in_the_other_direction_is_not_compared(tmp_path) -> None:
    """Stations 1, 2 and 3 on one side send, 9 on the other does; it reaches 1, and 1 reaches it."""
    frames = [data(1, 9)] * 4 + [data(2, 9)] * 4 + [data(3, 9)] * 2 + [data(9, 1)] * 5
    found = fairness(tmp_path, frames)
    assert (found.flows, found.left_out, found.kinds) == (3, 1, ["UDP"])
    assert found.jain == pytest.approx(10**2 / (3 * (16 + 16 + 4)))


def test_the_direction_with_more_data_is_the_bottleneck(tmp_path) -> None:
    frames = [data(1, 9)] * 2 + [data(9, 1)] * 9 + [data(9, 2)] * 3
    found = fairness(tmp_path, frames)
    assert (found.flows, found.jain) == (2, pytest.approx(12**2 / (2 * (81 + 9))))


def test_flows_without_a_common_station_share_the_direction(tmp_path) -> None:
    found = fairness(tmp_path, [data(1, 5)] * 3 + [data(2, 6)] * 3 + [data(7, 3)] * 3)
    assert (found.flows, found.jain) == (3, pytest.approx(1.0))


def test_answers_to_reads_are_data(tmp_path) -> None:
    reads = [roce(psn, opcode=12) for psn in range(5)]
    answers = [
        roce(n, opcode=14, src=mac(2), dst=mac(1), qp=0x80 + n % 2, to="10.0.0.9")
        for n in range(10)
    ]
    found = fairness(tmp_path, reads + answers)
    assert (found.flows, found.jain) == (2, pytest.approx(1.0))


def test_what_was_counted_is_said(tmp_path) -> None:
    from tests.traces.analysis.test_foreign import run

    path = write(tmp_path / "a.pcap", [data(1, 9), data(2, 9), data(9, 1, 10), CNP] * 3)
    text = " ".join(run(path).stdout.split())
    assert "fairness (Jain): 1.0000 of 2 data flows (UDP) in the busier direction" in text
    assert "2 others are not compared" in text


def test_answers_beside_data_of_the_same_direction(tmp_path) -> None:
    """Station 1 sends on two queue pairs and acknowledges what it gets on another."""
    frames = [roce(n, qp=0x11 + n % 2) for n in range(20)]
    frames += [roce(n, opcode=17, qp=0x55) for n in range(10)]
    found = fairness(tmp_path, frames)
    assert (found.flows, found.jain, found.left_out) == (2, pytest.approx(1.0), 1)
