"""Frames of every kind that is dissected, made by scapy, dpkt-free; and captures of them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from scapy.contrib.lldp import (
    LLDPDU,
    LLDPDUChassisID,
    LLDPDUEndOfLLDPDU,
    LLDPDUPortID,
    LLDPDUTimeToLive,
)
from scapy.contrib.mac_control import MACControlClassBasedFlowControl, MACControlPause
from scapy.contrib.roce import BTH, cnp
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether

from tests.traces.capture.captures import pcap
from traces.scapy_layers import CNM, CNTag

E = Ether(src="02:54:42:00:00:07", dst="02:54:42:00:00:09")
V4, V6 = IP(src="10.0.0.7", dst="192.168.255.9"), IPv6(src="fe80::1:2", dst="ff02::fb")
TAG = Dot1Q(vlan=77, prio=5)
PACKETS = (
    E / V4 / UDP(sport=51200, dport=51121) / bytes(40),
    E / TAG / V4 / UDP(sport=1, dport=2) / b"abc",
    E / Dot1AD(vlan=4094, prio=7) / TAG / V4 / TCP(sport=40000, dport=40001, seq=7) / b"x",
    E / TAG / Dot1Q(vlan=2) / Dot1Q(vlan=3) / V6 / UDP(sport=3, dport=4) / b"y",
    E / IP(tos=3, id=3, options=[IPOption(b"\x01\x01\x01\x00")]) / UDP(sport=9, dport=10) / b"z",
    E / IP(frag=100, proto=17) / bytes(range(20)),
    E / IP(flags="MF", proto=17) / UDP(sport=7, dport=8) / bytes(16),
    E / V4 / ICMP() / bytes(30),
    E / V6 / TCP(sport=50000, dport=50001) / b"q",
    E / IPv6(tc=1) / IPv6ExtHdrHopByHop(options=[PadN()]) / UDP(sport=11, dport=12) / b"q",
    E / V6 / IPv6ExtHdrDestOpt(options=[PadN()]) / IPv6ExtHdrRouting() / TCP(sport=50013, dport=14),
    E / V6 / IPv6ExtHdrFragment(offset=0, m=1, id=5) / UDP(sport=15, dport=16) / bytes(8),
    E / V6 / IPv6ExtHdrFragment(offset=10, m=0, id=5) / bytes(24),
    E / TAG / V4 / UDP(sport=50001, dport=4791) / BTH(opcode=10, dqpn=0x123456, psn=0xABCDEF),
    E / V6 / UDP(sport=50001, dport=4791) / BTH(opcode=4, dqpn=3, psn=1, fecn=1) / bytes(24),
    E / V4 / UDP(sport=50001, dport=4791) / cnp(dqpn=0xD2),
    E / MACControlPause(pause_time=0x1234) / bytes(42),
    E / MACControlClassBasedFlowControl(c0_enabled=1, c7_enabled=1, c0_pause_time=5) / bytes(26),
    E / TAG / CNM(feedback=33, cpid=5, offset=-4, delta=7, priority=2) / bytes(64),
    E / TAG / CNTag(flow=0x55AA) / V4 / UDP(sport=21, dport=22) / b"w",
    E / ARP(),
    E / LLDPDU() / LLDPDUChassisID(id=b"abcd") / LLDPDUPortID(id=b"p") / LLDPDUTimeToLive()
    / LLDPDUEndOfLLDPDU(),
    Ether(type=0x88B5) / bytes(46),
    E / Dot1Q(vlan=1, prio=3, type=0x88B6) / bytes.fromhex("0101") / bytes(40),  # FECN's probe
)  # fmt: skip
FRAMES = tuple(bytes(packet) for packet in PACKETS)


def capture(frames: list[bytes] | tuple[bytes, ...]) -> bytes:
    """A pcap file with these frames, a microsecond apart."""
    return pcap([(1, index, frame, len(frame)) for index, frame in enumerate(frames)])


def cuts(least: int = 0) -> list[bytes]:
    """Every frame, cut at every length."""
    return [frame[:size] for frame in FRAMES for size in range(least, len(frame) + 1)]


def mutated(
    seed: int, count: int, worth: int = 60, frames: Sequence[bytes] = FRAMES
) -> list[bytes]:
    """Frames with some octets changed, preferably in their first `worth` ones, some also cut."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        frame = bytearray(rng.choice(frames))
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(min(len(frame), worth))
            frame[place] = rng.choice((0, 1, 4, 0x45, 0x60, 0x81, 0xFF, rng.randrange(256)))
        if rng.random() < 0.2:
            del frame[rng.randint(0, len(frame)) :]
        made.append(bytes(frame))
    return made
