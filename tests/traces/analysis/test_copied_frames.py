"""Captures of mirrors that hold each packet twice, and captures that only look like these."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from tests.traces.capture.captures import pcap
from traces.analysis import analyze
from traces.analysis.analysis_text import _lines, _numbering_lines
from traces.analysis.copied_frames import EXAMINED

A, B, ROUTER = (f"02:00:00:00:00:0{n}" for n in (1, 2, 9))
NS_OF_COPY = 3_000
"""From a packet to its copy; a packet follows each 500 us."""


def tcp(version: int = 4, count: int = 40, **fields: Any) -> list[Any]:
    """Segments of 500 octets, and an acknowledgement of each."""
    rows = []
    for n in range(count):
        for back in (False, True):
            ends = {"src": "10.0.0.1", "dst": "10.0.0.2"}
            ends = ends if version == 4 else {"src": "fd00::1", "dst": "fd00::2"}
            if back:
                ends = {"src": ends["dst"], "dst": ends["src"]}
            ip = IP(**ends, id=9 * n + back) if version == 4 else IPv6(**ends)
            ports = {"sport": 80, "dport": 4000} if back else {"sport": 4000, "dport": 80}
            number = {"seq": 7, "ack": 500 * n + 500} if back else {"seq": 500 * n, "ack": 7}
            segment = TCP(**ports, **number, flags="A") / (b"" if back else b"x" * 500)
            rows.append(Ether(src=B if back else A, dst=A if back else B) / ip / segment)
    return rows


def routed(packet: Any) -> Any:
    """The packet behind a router."""
    copy = packet.copy()
    copy[Ether].src = ROUTER
    below = copy[IP] if IP in copy else copy[IPv6]
    if IP in copy:
        below.ttl -= 1
        del below.chksum
    else:
        below.hlim -= 1
    return copy


def in_vlan(packet: Any) -> Any:
    """The packet in another VLAN."""
    ethernet = packet[Ether]
    return Ether(src=ethernet.src, dst=ethernet.dst) / Dot1Q(vlan=20) / ethernet.payload.copy()


def seen(path: Path, packets: list[Any], copy: Any = None, late_ns: int = NS_OF_COPY) -> Any:
    """The only interface of a capture of packets, and of copies if there are any."""
    rows = [(500_000 * n, bytes(one)) for n, one in enumerate(packets)]
    if copy is not None:
        rows += [(500_000 * n + late_ns, bytes(copy(one))) for n, one in enumerate(packets)]
    records = [(1, at, octets, len(octets)) for at, octets in sorted(rows)]
    path.write_bytes(pcap(records, magic=0xA1B23C4D))
    (found,) = analyze(path).interfaces
    return found


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("late_ns", [NS_OF_COPY, 2_300_000])
@pytest.mark.parametrize("copy", [lambda one: one, routed, in_vlan], ids=["same", "routed", "vlan"])
def test_a_capture_of_two_ports_is_named(
    tmp_path: Path, version: int, late_ns: int, copy: Any
) -> None:
    """Also where copies come after later packets."""
    found = seen(tmp_path / "a.pcap", tcp(version), copy, late_ns)
    assert found.mirrored
    assert sum(found.frames.values()) == 160
    (line,) = _numbering_lines(found)
    assert "nearly every packet is there twice" in line


def retransmitted() -> list[Any]:
    """Every second segment is sent again, with an identification of its own."""
    packets = tcp()
    for one in tcp()[::4]:
        one[IP].id += 5_000
        packets.append(one)
    return packets


ALIKE = {
    "once": tcp(),
    "once, IPv6": tcp(6),
    "retransmissions": retransmitted(),
    "a generator": [Ether(src=A, dst=B) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP() / b"y"] * 100,
    "three times": tcp() * 3,
    "two packets": tcp(count=1) * 2,
    "no IP": [Ether(src=A, dst=B, type=0x88B5) / bytes([n]) for n in range(50)] * 2,
}


@pytest.mark.parametrize("name", ALIKE)
def test_other_captures_are_not(tmp_path: Path, name: str) -> None:
    found = seen(tmp_path / "a.pcap", ALIKE[name])
    assert not found.mirrored
    assert _numbering_lines(found) == []


def test_the_first_frames_of_each_interface_decide(tmp_path: Path) -> None:
    """What follows them is not compared."""
    packets = tcp(count=EXAMINED // 4) * 2
    assert seen(tmp_path / "a.pcap", packets).mirrored
    assert seen(tmp_path / "b.pcap", packets + tcp(count=50) * 5).mirrored


@pytest.mark.parametrize("stated", [54, 262_144])
def test_frames_that_are_cut_are_counted(tmp_path: Path, stated: int) -> None:
    """By the snap length of the file, or by a tool that left that as it was; octets count whole."""
    records = [(1, 500 * n, bytes(one)[:54], len(one)) for n, one in enumerate(tcp())]
    octets = pcap(records)
    (tmp_path / "a.pcap").write_bytes(octets[:16] + struct.pack("<I", stated) + octets[20:])
    (found,) = analyze(tmp_path / "a.pcap").interfaces
    assert found.cut == 40, "acknowledgements have 54 octets"
    assert found.octets == sum(len(one) for one in tcp())
    assert sum(one.frames for one in found.conversations if one.source_port == 4000) == 40
    assert any("40 frames are cut (snap length)" in line for line in _lines(found))
    whole = seen(tmp_path / "b.pcap", tcp())
    assert whole.cut == 0
    assert not any("snap length" in line for line in _lines(whole))
