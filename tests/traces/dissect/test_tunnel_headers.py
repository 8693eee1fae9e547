"""Tunnels: the flow inside of each kind, of several in one another, and of some that were cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.contrib.geneve import GENEVE
from scapy.contrib.mpls import MPLS
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrHopByHop, Jumbo
from scapy.layers.l2 import GRE, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

from tests.traces.capture.captures import pcap
from tests.traces.capture.tshark import needs_tshark, rows
from traces.analysis import analyze
from traces.capture import open_capture
from traces.dissect import ABSENT, TUNNELS, Kind, dissect

OUTER = Ether(src="02:00:00:00:00:64", dst="02:00:00:00:00:65")
HOSTS = IP(src="192.168.0.1", dst="192.168.0.2")
HOSTS6 = IPv6(src="2001:db8::64", dst="2001:db8::65")


def roce(flow: int = 1, psn: int = 7, tos: int = 2, tag: bool = True) -> Packet:
    """A data frame of one of several queue pairs."""
    ethernet = Ether(src=f"02:00:00:00:00:{flow:02x}", dst="02:00:00:00:00:09")
    ip = IP(src=f"10.0.0.{flow}", dst="10.0.0.9", tos=tos) / UDP(sport=49152, dport=4791)
    frame = ethernet / Dot1Q(vlan=5, prio=3) / ip if tag else ethernet / ip
    return frame / BTH(opcode=7, dqpn=0x10 + flow, psn=psn, pkey=0xFFFF) / bytes(40)


def packet(frame: Packet) -> Packet:
    """What is in Ethernet, and in its tag."""
    return (frame.payload if isinstance(frame.payload, Dot1Q) else frame).payload


def ip_type(frame: Packet) -> int:
    return 0x86DD if isinstance(packet(frame), IPv6) else 0x0800


def erspan(kind: int, sub: bool = False) -> bytes:
    """The header of ERSPAN type II or III, of session 7 and VLAN 5."""
    if kind == 2:
        return bytes.fromhex("1005 0007 00000003")
    return bytes.fromhex("2005 0007 12345678 0000") + bytes([0, int(sub)]) + bytes(8 * sub)


def mirrored(frame: Packet, kind: int, sub: bool = False) -> Packet:
    """As a switch mirrors it by ERSPAN."""
    if kind == 1:
        return OUTER / HOSTS / GRE(proto=0x88BE) / Raw(bytes(frame))
    gre = GRE(proto=0x22EB if kind == 3 else 0x88BE, seqnum_present=1, seqence_number=9)
    return OUTER / HOSTS / gre / Raw(erspan(kind, sub) + bytes(frame))


def pseudowire(frame: Packet, bare: bool = False) -> Packet:
    """With a control word, or with a frame whose address begins with four bits of 0 alike."""
    word = b"" if bare else bytes(4)
    return OUTER / MPLS(label=16, s=0) / MPLS(label=17, s=1) / Raw(word + bytes(frame))


def vxlan(frame: Packet, port: int, flags: int, following: int = 0) -> Packet:
    """VXLAN at other ports than its own, of network 77."""
    header = bytes([flags, 0, 0, following, 0, 0, 77, 0])
    return OUTER / HOSTS / UDP(sport=50000, dport=port) / Raw(header + bytes(frame))


TUNNELLED: dict[str, tuple[Callable[[Packet], Packet], str, int]] = {
    "vxlan": (
        lambda f: OUTER / HOSTS / UDP(sport=50000, dport=4789) / VXLAN(vni=100, flags=8) / f,
        "vxlan",
        100,
    ),
    "vxlan6": (
        lambda f: OUTER / HOSTS6 / UDP(sport=50000, dport=4789) / VXLAN(vni=7, flags=8) / f,
        "vxlan",
        7,
    ),
    "geneve": (
        lambda f: OUTER / HOSTS / UDP(sport=50000, dport=6081) / GENEVE(vni=9, proto=0x6558) / f,
        "geneve",
        9,
    ),
    "geneve with IP": (
        lambda f: OUTER / HOSTS / UDP(sport=50000, dport=6081)
        / GENEVE(vni=9, proto=ip_type(f)) / packet(f),
        "geneve",
        9,
    ),
    "geneve with options": (
        lambda f: OUTER / HOSTS / UDP(sport=50000, dport=6081)
        / Raw(bytes.fromhex("02006558 00000900 0101800100000007") + bytes(f)),
        "geneve",
        9,
    ),
    "gre": (lambda f: OUTER / HOSTS / GRE() / packet(f), "gre", ABSENT),
    "gre with a key": (
        lambda f: OUTER / HOSTS / GRE(chksum_present=1, key_present=1, key=77) / packet(f),
        "gre",
        77,
    ),
    "nvgre": (
        lambda f: OUTER / HOSTS / GRE(key_present=1, key=77 << 8 | 3, proto=0x6558) / f,
        "gre",
        77,
    ),
    "erspan 1": (lambda f: mirrored(f, 1), "erspan", ABSENT),
    "erspan 2": (lambda f: mirrored(f, 2), "erspan", ABSENT),
    "erspan 3": (lambda f: mirrored(f, 3), "erspan", ABSENT),
    "erspan 3 with a subheader": (lambda f: mirrored(f, 3, sub=True), "erspan", ABSENT),
    "ipip": (lambda f: OUTER / HOSTS / packet(f), "ip", ABSENT),
    "4in6": (lambda f: OUTER / HOSTS6 / packet(f), "ip", ABSENT),
    "mpls": (
        lambda f: OUTER / MPLS(label=16, s=0) / MPLS(label=17, s=1) / packet(f),
        "mpls",
        ABSENT,
    ),
    "mpls with Ethernet": (pseudowire, "mpls", ABSENT),
    "mpls with Ethernet, bare": (lambda f: pseudowire(f, bare=True), "mpls", ABSENT),
    "overlay of Linux": (lambda f: vxlan(f, 8472, 0x08), "vxlan", 77),
    "gpe": (lambda f: vxlan(f, 4790, 0x0C, 3), "vxlan", 77),
    "gpe with IP": (lambda f: vxlan(packet(f), 4790, 0x0C, 1), "vxlan", 77),
    "mpls in UDP": (
        lambda f: OUTER / HOSTS / UDP(sport=50000, dport=6635) / Raw(bytes(MPLS(s=1) / packet(f))),
        "mpls",
        ABSENT,
    ),
}  # fmt: skip
GUESSED_BY_TSHARK = {"mpls with Ethernet", "mpls with Ethernet, bare", "overlay of Linux"}
OF_PACKETS = (
    "geneve with IP",
    "gre",
    "gre with a key",
    "ipip",
    "4in6",
    "mpls",
    "mpls in UDP",
    "gpe with IP",
)
"""Those of IP, not of Ethernet frames."""
INSIDE = (
    "from_high", "from_low", "to_high", "to_low", "source_port", "destination_port", "protocol",
    "qp", "psn", "opcode", "partition", "kind", "version", "ecn", "ttl",
)  # fmt: skip


def headers(folder: Path, *frames: bytes) -> np.ndarray:
    path = folder / "a.pcap"
    path.write_bytes(pcap([(1, n, one, len(one)) for n, one in enumerate(frames)]))
    with open_capture(path) as stream:
        return np.concatenate([dissect(one, stream.interfaces) for one in stream.batches()])


@pytest.mark.parametrize("name", TUNNELLED)
def test_each_tunnel(tmp_path, name) -> None:
    wrap, tunnel, network = TUNNELLED[name]
    bare, inside = headers(tmp_path, bytes(roce()), bytes(wrap(roce())))
    for field in INSIDE:
        assert inside[field] == bare[field], field
    assert (bare["tunnel"], inside["tunnel"]) == (0, 1 << TUNNELS.index(tunnel))
    assert inside["network"] == network
    assert inside["kind"] == Kind.ROCE


@needs_tshark
@pytest.mark.parametrize("name", sorted({*TUNNELLED} - GUESSED_BY_TSHARK))
def test_tshark_sees_the_same_in_each_tunnel(tmp_path, name) -> None:
    wrap, _, _ = TUNNELLED[name]
    (inside,) = headers(tmp_path, bytes(wrap(roce(3, psn=99))))
    names = ("ip.src", "infiniband.bth.destqp", "infiniband.bth.psn")
    (seen,) = rows(tmp_path / "a.pcap", names, "l")
    assert seen["ip.src"] == "10.0.0.3"
    assert int(seen["infiniband.bth.destqp"], 0) == inside["qp"] == 0x13
    assert int(seen["infiniband.bth.psn"]) == inside["psn"] == 99


@pytest.mark.parametrize("name", TUNNELLED)
def test_flows_in_a_tunnel_are_apart(tmp_path, name) -> None:
    """As in a switch's mirror: two queue pairs, of which either lost a frame."""
    wrap, tunnel, _ = TUNNELLED[name]
    sent = [bytes(wrap(roce(flow, psn))) for psn in (0, 1, 2, 4) for flow in (1, 2)]
    path = tmp_path / "mirror.pcap"
    path.write_bytes(pcap([(1, n, one, len(one)) for n, one in enumerate(sent)]))
    (seen,) = analyze(path).interfaces
    flows = sorted(seen.conversations, key=lambda one: one.qp or 0)
    assert [(one.from_address, one.qp, one.frames, one.lost) for one in flows] == [
        ("10.0.0.1", 0x11, 4, 1),
        ("10.0.0.2", 0x12, 4, 1),
    ]
    assert {one.tunnel for one in flows} == {tunnel}


@given(st.lists(st.sampled_from(sorted(TUNNELLED)), min_size=2, max_size=5))
@settings(max_examples=40, deadline=None)
def test_tunnels_in_tunnels_up_to_four(tmp_path_factory, names) -> None:
    frame = roce()
    for place, wanted in enumerate(names):
        fits = wanted not in OF_PACKETS or isinstance(packet(frame), (IP, IPv6))
        names[place] = name = wanted if fits else "vxlan"
        frame = Ether(bytes(TUNNELLED[name][0](frame)))
    bare, inside = headers(tmp_path_factory.mktemp("nested"), bytes(roce()), bytes(frame))
    around = {TUNNELS.index(TUNNELLED[name][1]) for name in names[-4:]}
    assert inside["tunnel"] == sum(1 << bit for bit in around)
    if len(names) <= 4:
        assert all(inside[field] == bare[field] for field in INSIDE if field != "ecn")


@pytest.mark.parametrize("name", TUNNELLED)
def test_a_tunnel_whose_payload_was_cut_is_a_flow_of_its_own(tmp_path, name) -> None:
    """Nothing is read behind the octets that were captured, and what was read before stays."""
    whole = bytes(TUNNELLED[name][0](roce()))
    seen = headers(tmp_path, *(whole[:size] for size in range(len(whole) + 1)))
    bare = headers(tmp_path, bytes(roce()))[0]
    assert (seen["tunnel"] > 0).any()
    for field in INSIDE:
        outside = seen[field][seen["tunnel"] == 0]
        inside = seen[field][seen["tunnel"] != 0]
        assert set(inside.tolist()) <= {int(bare[field]), ABSENT, 0, int(Kind.OTHER)}, field
        assert inside[-1] == bare[field]
        assert len(set(outside.tolist())) <= 4
    if name.startswith(("vxlan", "geneve")):
        port = {4789 if name.startswith("vxlan") else 6081, ABSENT}
        assert set(seen["destination_port"][seen["tunnel"] == 0].tolist()) == port


def test_networks_of_tunnels_have_flows_of_their_own(tmp_path) -> None:
    """Two tenants may have the same addresses; a label of MPLS is no network."""
    sent = [
        bytes(OUTER / HOSTS / UDP(sport=50000, dport=4789) / VXLAN(vni=vni, flags=8) / roce())
        for vni in (1, 2, 2)
    ]
    sent += [bytes(OUTER / MPLS(label=label, s=1) / packet(roce())) for label in (20, 21)]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([(1, n, one, len(one)) for n, one in enumerate(sent)]))
    (seen,) = analyze(path).interfaces
    found = sorted((str(one.tunnel), one.network, one.frames) for one in seen.conversations)
    assert found == [("mpls", None, 2), ("vxlan", 1, 1), ("vxlan", 2, 2)]


@pytest.mark.parametrize(
    ("name", "outer", "inner", "told"),
    [
        ("vxlan", 3, 2, 3),
        ("vxlan", 3, 1, 3),
        ("vxlan", 3, 0, 0),
        ("vxlan", 2, 3, 3),
        ("vxlan", 2, 2, 2),
        ("ipip", 3, 2, 3),
        ("erspan 2", 3, 2, 2),
        ("erspan 1", 3, 3, 3),
    ],
)
def test_congestion_marks_of_the_network_around(tmp_path, name, outer, inner, told) -> None:
    """RFC 6040, figure 4: a mark outside marks an ECN-capable packet inside; a mirror's not."""
    frame = TUNNELLED[name][0](roce(tos=inner))
    frame[IP].tos = outer
    (seen,) = headers(tmp_path, bytes(frame))
    assert seen["ecn"] == told


def test_what_looks_like_a_tunnel_and_is_none(tmp_path) -> None:
    frames = [
        OUTER / HOSTS / UDP(dport=4789) / VXLAN(vni=1, flags=0) / roce(),  # without a valid VNI
        OUTER
        / HOSTS
        / UDP(sport=50000, dport=6081)
        / Raw(b"\x00\x80\x65\x58" + bytes(60)),  # control
        vxlan(roce(), 8472, 0x0C),  # bits that VXLAN reserves
        vxlan(roce(), 4790, 0x0C, 4),  # NSH
        OUTER / MPLS(s=1) / Raw(b"\x10\x00\x00\x07" + bytes(60)),  # an associated channel
        OUTER / MPLS(s=1) / Raw(b"\x02" + bytes(60)),  # an unknown type
        OUTER / HOSTS / GRE(version=1, proto=0x880B) / Raw(bytes(60)),  # PPTP
        OUTER / HOSTS / GRE(proto=0x0800) / Raw(bytes(60)),  # no IPv4
        OUTER / MPLS(s=1) / Raw(b"\x50" + bytes(60)),
    ]
    seen = headers(tmp_path, *(bytes(one) for one in frames))
    assert not seen["tunnel"].any()
    ports = [4789, 6081, 8472, 4790]
    assert seen["destination_port"].tolist() == ports + [ABSENT] * 5
    assert seen["protocol"].tolist() == [17] * 4 + [ABSENT] * 2 + [47, 47, ABSENT]


@pytest.mark.parametrize("size", [1400, 64_000, 90_000])
@pytest.mark.parametrize("version", ["4", "6", "6 jumbo"])
def test_lengths_that_were_left_to_the_card(tmp_path, version, size) -> None:
    """Segmentation offload, up to BIG TCP: a length of 0, or of a jumbogram (RFC 2675)."""
    frames = []
    for port in (5001, 5002, 5001):
        tcp = TCP(sport=port, dport=80, seq=port) / bytes(size)
        if version == "4":
            ip = IP(src="10.0.0.1", dst="10.0.0.2", len=0)
        elif version == "6":
            ip = IPv6(src="2001:db8::1", dst="2001:db8::2", plen=0, nh=6)
        else:
            ip = IPv6(src="2001:db8::1", dst="2001:db8::2", plen=0) / IPv6ExtHdrHopByHop(
                options=[Jumbo(jumboplen=len(tcp) + 8)]
            )
        frames.append(bytes(OUTER / ip / tcp))
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([(1, n, one, len(one)) for n, one in enumerate(frames)]))
    (seen,) = analyze(path).interfaces
    assert [(one.source_port, one.destination_port, one.frames) for one in seen.conversations] == [
        (5001, 80, 2),
        (5002, 80, 1),
    ]


def test_an_empty_ipv6_packet_has_no_ports(tmp_path) -> None:
    """Behind "no next header" is padding, and behind a jumbogram's own length too."""
    empty = OUTER / IPv6(plen=0, nh=59) / Raw(bytes(20))
    short = bytes(OUTER / IPv6(plen=0) / IPv6ExtHdrHopByHop(options=[Jumbo(jumboplen=8)], nh=6))
    seen = headers(tmp_path, bytes(empty), short + bytes(20))
    assert seen["source_port"].tolist() == [ABSENT, ABSENT]
