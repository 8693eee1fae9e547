"""Tests for PTF: a switch that learns MAC addresses, honours PFC and marks ECN, all by DSCP.

Ports 1 to 4 are those of the plan `ptf-switch`. PTF imports this file and runs each class.
"""

from __future__ import annotations

import time
from typing import Any

import ptf
from ptf.base_tests import BaseTest
from ptf.packet import IP, UDP, Ether
from ptf.testutils import (
    dp_poll,
    send_packet,
    simple_tcp_packet,
    simple_udp_packet,
    verify_no_other_packets,
    verify_no_packet,
    verify_packet,
    verify_packets,
)
from scapy.packet import Raw

UNKNOWN = "00:06:07:08:0a:01"
ECT0, CE = 2, 3


def station(number: int) -> str:
    return f"00:06:07:08:09:{number:02x}"


def datagram(source: int, destination: int, **headers: int) -> Any:
    return simple_udp_packet(eth_src=station(source), eth_dst=station(destination), **headers)


def pfc(quanta: int) -> Any:
    """A PFC frame (802.1Qbb) for class 3 alone."""
    times = b"".join((quanta if each == 3 else 0).to_bytes(2, "big") for each in range(8))
    head = Ether(dst="01:80:c2:00:00:01", src=station(0xFE), type=0x8808)
    return head / Raw(b"\x01\x01\x00\x08" + times + bytes(26))


class SwitchTest(BaseTest):
    def setUp(self) -> None:
        self.dataplane = ptf.dataplane_instance
        for port in (1, 2, 3, 4):  # every station is learnt
            send_packet(self, port, simple_udp_packet(eth_src=station(port), eth_dst=UNKNOWN))
        time.sleep(0.5)
        self.dataplane.flush()

    def received(self, port: int, timeout: float) -> bytes | None:
        found = dp_poll(self, port_number=port, timeout=timeout)
        return found.packet if isinstance(found, self.dataplane.PollSuccess) else None


class Unicast(SwitchTest):
    def runTest(self) -> None:
        for source in (1, 2, 3):
            for destination in {1, 2, 3} - {source}:
                ends = {"eth_src": station(source), "eth_dst": station(destination)}
                tagged = {"dl_vlan_enable": True, "vlan_vid": 7, "vlan_pcp": 5}
                for packet in (simple_tcp_packet(**ends), simple_udp_packet(**ends, **tagged)):
                    send_packet(self, source, packet)
                    verify_packet(self, packet, destination)
        verify_no_other_packets(self)


class Flood(SwitchTest):
    def runTest(self) -> None:
        for target in ("ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:05", UNKNOWN):
            packet = simple_udp_packet(eth_src=station(1), eth_dst=target)
            send_packet(self, 1, packet)
            verify_packets(self, packet, [2, 3, 4])


class Moved(SwitchTest):
    """A station is found where it was last seen."""

    def runTest(self) -> None:
        send_packet(self, 3, datagram(1, 2))
        verify_packet(self, datagram(1, 2), 2)
        send_packet(self, 2, datagram(2, 1))
        verify_packet(self, datagram(2, 1), 3)
        verify_no_other_packets(self)


class NotForwarded(SwitchTest):
    """Reserved addresses, and what would go back to where it came from."""

    def runTest(self) -> None:
        for target in ("01:80:c2:00:00:0e", station(1)):
            send_packet(self, 1, simple_udp_packet(eth_src=station(0x11), eth_dst=target))
        verify_no_other_packets(self)


class Paused(SwitchTest):
    """PFC holds its class at that port, until it is taken back."""

    def runTest(self) -> None:
        held, free = datagram(1, 2, ip_tos=3 << 2), datagram(1, 2)
        send_packet(self, 2, pfc(0xFFFF))
        time.sleep(0.2)
        send_packet(self, 1, held)
        verify_no_packet(self, held, 2, timeout=1)
        send_packet(self, 1, free)
        verify_packet(self, free, 2)
        send_packet(self, 2, pfc(0))
        verify_packet(self, held, 2)


class Marked(SwitchTest):
    """Above 10 KB every ECN-capable packet is marked, and nothing else of it changes."""

    def runTest(self) -> None:
        sent = [datagram(1, 4, ip_tos=ECT0, pktlen=1000, udp_sport=n) for n in range(1024, 1044)]
        for packet in sent:
            send_packet(self, 1, packet)
        marks = []
        for packet in sent:
            octets = self.received(4, timeout=3)
            assert octets is not None, f"{len(marks)} of {len(sent)} arrived"
            marks.append(Ether(octets)[IP].tos)
            expected = packet.copy()
            expected[IP].tos = marks[-1]
            del expected[IP].chksum
            assert octets == bytes(expected), len(marks)
        assert set(marks) == {ECT0, CE}, marks
        assert 10 <= marks.index(CE) <= 15, marks


class NotCapable(SwitchTest):
    def runTest(self) -> None:
        sent = [datagram(1, 4, pktlen=1000, udp_sport=n) for n in range(1024, 1044)]
        for packet in sent:
            send_packet(self, 1, packet)
        for packet in sent:
            assert self.received(4, timeout=3) == bytes(packet)


class Pauses(SwitchTest):
    """A queue of class 3 above 12 KB stops the sender by PFC, and lets it go on below 6 KB."""

    def runTest(self) -> None:
        for number in range(20):
            send_packet(self, 1, datagram(1, 4, ip_tos=3 << 2, pktlen=1000, udp_sport=number))
        quanta = []
        while (octets := self.received(1, timeout=3)) is not None:
            assert octets[:6] == bytes.fromhex("0180c2000001"), octets.hex()
            assert octets[12:18] == bytes.fromhex("880801010008"), octets.hex()
            quanta.append(int.from_bytes(octets[24:26], "big"))
        assert quanta, "no PFC frame"
        assert quanta[0] > 0 == quanta[-1], quanta
        assert UDP in Ether(self.received(4, timeout=3))
