"""Framings of access networks and old switches: the flows in them are those without."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from tests.traces.capture.captures import pcap
from tests.traces.capture.tshark import needs_tshark, rows
from traces.analysis import analyze

MACS = {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}
PACKETS = {
    "IPv4": IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=40_000, dport=80) / (b"x" * 90),
    "IPv6": IPv6(src="fd00::1", dst="fd00::2") / UDP(sport=7, dport=8) / (b"x" * 90),
}
TPIDS = (0x88A8, 0x9100, 0x9200, 0x9300)
FRAMES = 12


def tagged(octets: bytes, kind: int) -> bytes:
    """With a customer's tag, and one of a provider by its EtherType."""
    return octets[:12] + struct.pack("!HHHH", kind, 7, 0x8100, 10) + octets[12:]


def in_session(octets: bytes, protocol: int | None = None, code: int = 0) -> bytes:
    """In a session of PPP over Ethernet (RFC 2516)."""
    of_type = {0x0800: 0x0021, 0x86DD: 0x0057}[int.from_bytes(octets[12:14], "big")]
    header = struct.pack("!BBHHH", 0x11, code, 9, len(octets) - 12, protocol or of_type)
    return octets[:12] + b"\x88\x64" + header + octets[14:]


def write(path: Path, octets: bytes) -> Path:
    path.write_bytes(pcap([(1, 1000 * n, octets, len(octets)) for n in range(FRAMES)]))
    return path


def flows(path: Path) -> set[tuple[str, ...]]:
    (seen,) = analyze(path).interfaces
    return {(str(one.source), str(one.destination)) for one in seen.conversations}


@needs_tshark
@pytest.mark.parametrize("kind", PACKETS)
@pytest.mark.parametrize("framing", [*TPIDS, "PPPoE", "PPPoE in a VLAN"])
def test_the_flow_inside_is_found(tmp_path: Path, kind: str, framing: int | str) -> None:
    plain = bytes(Ether(**MACS) / PACKETS[kind])
    if isinstance(framing, int):
        framed = tagged(plain, framing)
    else:
        framed = in_session(plain)
        if framing != "PPPoE":
            framed = framed[:12] + struct.pack("!HH", 0x8100, 10) + framed[12:]
    path = write(tmp_path / "framed.pcap", framed)
    expected = flows(write(tmp_path / "plain.pcap", plain))
    assert flows(path) == expected
    assert len(expected) == 1
    if framing in (0x9200, 0x9300):
        return  # tshark dissects nothing behind these
    fields = ["ip.src", "ipv6.dst", "tcp.srcport", "udp.dstport"]
    assert rows(path, fields) == rows(tmp_path / "plain.pcap", fields)


@pytest.mark.parametrize(("protocol", "code"), [(0xC021, 0), (None, 0xA7)])
def test_what_a_session_says_of_itself_is_no_flow_of_ip(
    tmp_path: Path, protocol: int | None, code: int
) -> None:
    """LCP, and the end of the session."""
    plain = bytes(Ether(**MACS) / PACKETS["IPv4"])
    ((source, _),) = flows(write(tmp_path / "a.pcap", in_session(plain, protocol, code)))
    assert MACS["src"] in source
