"""A flow is what its ends set and hops keep: what sources and routers change does not divide it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from orchestrator.terminal import format_output
from tests.traces.capture.captures import pcap
from traces.analysis import analyze
from traces.analysis.analysis_result import FlowSeen
from traces.analysis.analysis_text import show


def write(path: Path, frames: list[bytes], begin_ns: int = 0, step_ns: int = 1000) -> Path:
    """A capture in ns, its frames so far apart."""
    times = [10**9 + begin_ns + n * step_ns for n in range(len(frames))]
    records = [
        (time // 10**9, time % 10**9, one, len(one))
        for time, one in zip(times, frames, strict=True)
    ]
    path.write_bytes(pcap(records, magic=0xA1B23C4D))
    return path


def roce(psn: int, **change: Any) -> bytes:
    """A frame of one queue pair; `change` what is not as always."""
    is_6, vlan = change.get("version") == 6, change.get("vlan")
    ethernet = Ether(
        src=change.get("src", "02:00:00:00:00:01"), dst=change.get("dst", "02:00:00:00:00:02")
    )
    if vlan is not None:
        ethernet = ethernet / Dot1Q(vlan=vlan, prio=change.get("prio", 3))
    ttl = change.get("ttl", 64)
    to = change.get("to", "10.0.0.2")
    ip = (
        IPv6(src="fd00::1", dst="fd00::2", hlim=ttl)
        if is_6
        else IP(src="10.0.0.1", dst=to, ttl=ttl)
    )
    udp = UDP(sport=change.get("sport", 49152), dport=4791)
    key = change.get("pkey", 0xFFFF)
    opcode = change.get("opcode", 7)
    transport = BTH(opcode=opcode, dqpn=change.get("qp", 0x11), psn=psn % 2**24, pkey=key)
    return bytes(ethernet / ip / udp / transport / bytes(64))


CHANGED = {
    "source port": ("sport", [49152, 49153, 49154, 49155]),
    "MAC of the next hop": ("dst", ["02:00:00:00:00:20", "02:00:00:00:00:21"]),
    "MAC of the last hop": ("src", ["02:00:00:00:00:30", "02:00:00:00:00:31"]),
    "VLAN": ("vlan", [None, 0, 5, 6]),
    "priority": ("prio", [0, 3]),
    "time to live": ("ttl", [63, 62]),
    "membership of the partition": ("pkey", [0xFFFF, 0x7FFF]),
}
APART = {
    "queue pair": ("qp", [0x11, 0x12]),
    "partition": ("pkey", [0xFFFF, 0x8001]),
    "address": ("to", ["10.0.0.2", "10.0.0.3"]),
}


def flows(path: Path) -> list[FlowSeen]:
    (seen,) = analyze(path).interfaces
    return seen.conversations


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("name", CHANGED)
def test_a_queue_pair_stays_one_flow(tmp_path, name, version) -> None:
    field, values = CHANGED[name]
    frames = []
    for psn in range(20):
        change = {"vlan": 5, field: values[psn % len(values)]}
        frames.append(roce(psn, version=version, **change))
    (flow,) = flows(write(tmp_path / "a.pcap", frames))
    assert (flow.frames, flow.lost, flow.duplicates, flow.reordered) == (20, 0, 0, 0)
    assert flow.source_port is None


@pytest.mark.parametrize("name", APART)
def test_what_makes_two_flows(tmp_path, name) -> None:
    field, values = APART[name]
    frames = [roce(psn // 2, **{field: values[psn % 2]}) for psn in range(20)]
    found = flows(write(tmp_path / "a.pcap", frames))
    assert [(one.frames, one.lost) for one in found] == [(10, 0), (10, 0)]


@given(
    st.lists(st.tuples(*(st.sampled_from(values) for _, values in CHANGED.values())), min_size=2)
)
@settings(max_examples=30, deadline=None)
def test_any_changes_by_hops_leave_one_flow(tmp_path_factory, changes) -> None:
    names = [field for field, _ in CHANGED.values()]
    frames = [roce(n, **dict(zip(names, one, strict=True))) for n, one in enumerate(changes)]
    (flow,) = flows(write(tmp_path_factory.mktemp("changed") / "a.pcap", frames))
    assert (flow.frames, flow.lost) == (len(changes), 0)


def test_tcp_over_two_next_hops_is_one_flow(tmp_path) -> None:
    """By the compiled loops too, which compare whole headers: 6000 frames, of 4 paths."""
    frames = []
    for n in range(6000):
        ethernet = Ether(src="02:00:00:00:00:01", dst=f"02:00:00:00:00:{0x20 + n // 7 % 2:02x}")
        if n // 5 % 2:
            ethernet = ethernet / Dot1Q(vlan=5)
        ip = IP(src="1.1.1.1", dst="2.2.2.2") / TCP(sport=5, dport=6, seq=n * 10)
        frames.append(bytes(ethernet / ip / bytes(10)) if n < 70 else frames[n % 70])
    (flow,) = flows(write(tmp_path / "a.pcap", frames))
    assert flow.frames == 6000


@pytest.mark.parametrize("change", [{}, {"vlan": 9}, {"sport": 60000}])
def test_latency_across_a_router(tmp_path, change) -> None:
    """It gives frames MAC addresses and a VLAN of its own and takes one from their TTL."""
    before = [roce(psn) for psn in range(20)]
    after = [
        roce(psn, src="02:00:00:00:00:02", dst="02:00:00:00:00:66", ttl=63, **change)
        for psn in range(20)
    ]
    one = write(tmp_path / "before.pcap", before)
    two = write(tmp_path / "behind.pcap", after, begin_ns=2000)
    (hop,) = analyze(one, two).latency
    assert (hop.before, hop.after, hop.frames) == ("before", "behind", 20)
    assert hop.latency_s["min"] == hop.latency_s["max"] == pytest.approx(2e-6)
    assert (hop.from_address, hop.to_address, hop.qp) == ("10.0.0.1", "10.0.0.2", 0x11)


def test_packet_numbers_begin_again_between_two_points(tmp_path) -> None:
    """A capture that begins behind the wrap of 24 bits, and one that begins before."""
    one = write(tmp_path / "a.pcap", [roce(2**24 - 5 + n) for n in range(20)])
    two = write(tmp_path / "b.pcap", [roce(n) for n in range(15)], begin_ns=5000 + 700)
    (hop,) = analyze(one, two).latency
    assert (hop.frames, hop.latency_s["max"]) == (15, pytest.approx(0.7e-6))


def test_flows_at_several_points_without_latency_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their frames carry no number that every point reads. A flow at one point is not of them."""
    ends = {"src": "10.0.0.1", "dst": "10.0.0.2"}
    shared = [
        *(IP(**ends) / TCP(sport=port, dport=80, seq=5) / bytes(900) for port in (1000, 1001)),
        IP(**ends) / UDP(sport=7, dport=9) / bytes(900),
        IP(**ends, proto=89) / bytes(60),
        IPv6(src="fd00::1", dst="fd00::2") / TCP(sport=1, dport=2, seq=5) / bytes(900),
    ]
    own = [IP(**ends) / TCP(sport=port, dport=80, seq=5) / bytes(900) for port in (2000, 2001)]
    paths = []
    for number, (mac, alone) in enumerate(
        zip(("02:00:00:00:00:01", "06:00:00:00:00:01"), own, strict=True)
    ):
        frames = [bytes(Ether(src=mac, dst=mac) / one) for one in (*shared, alone) * 3]
        frames += [roce(psn, src=mac) for psn in range(9)]
        paths.append(write(tmp_path / f"{number}.pcap", frames, begin_ns=1000 * number))
    seen = analyze(*paths)
    assert seen.without_latency == {"TCP": 3, "UDP": 1, "IP protocol 89": 1}
    assert [hop.frames for hop in seen.latency] == [9]
    assert analyze(paths[0]).without_latency == {}
    show(seen, format_output.console())
    text = " ".join(capsys.readouterr().out.split())
    assert "flows at several points without latency: 3 TCP, 1 UDP, 1 IP protocol 89; only" in text
