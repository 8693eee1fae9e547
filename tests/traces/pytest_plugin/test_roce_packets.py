"""RoCEv2 packets as arrays: those that scapy makes, in every encapsulation; files of others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scapy.contrib.roce import AETH, BTH, cnp
from scapy.layers.inet import IP, UDP, IPOption_NOP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import PcapNgWriter

from orchestrator.errors import BadInput
from traces.pytest_plugin.roce_packets import RocePackets, shown

NIC, PEER = "10.1.0.2", "10.1.0.9"
NIC6, PEER6 = "fd00::2", "fd00::9"
MACS = {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}
HEADS = {
    "untagged": Ether(**MACS),
    "tagged": Ether(**MACS) / Dot1Q(vlan=7, prio=3),
    "QinQ": Ether(type=0x88A8, **MACS) / Dot1Q(vlan=7, type=0x8100) / Dot1Q(vlan=8),
}


def ip(version: int, to_nic: bool, tos: int) -> Packet:
    ends = (PEER, NIC) if version == 4 else (PEER6, NIC6)
    source, destination = ends if to_nic else ends[::-1]
    if version == 4:
        options = [IPOption_NOP()] * 4 if to_nic else []
        return IP(src=source, dst=destination, tos=tos, options=options)
    return IPv6(src=source, dst=destination, tc=tos)


def frames(head: Packet, version: int) -> list[bytes]:
    """A marked SEND to the NIC, its NAK, a CNP of it, and a datagram to another port."""
    udp = UDP(sport=50_000, dport=4791)
    made = [
        head / ip(version, True, 26 << 2 | 3) / udp / BTH(opcode=4, dqpn=0xABC123, psn=0xFFFFFE),
        head
        / ip(version, False, 48 << 2)
        / udp
        / BTH(opcode=17, dqpn=0x11, psn=5)
        / AETH(syndrome=0x60),
        head / ip(version, False, 48 << 2) / udp / cnp(dqpn=0x11),
        head / ip(version, True, 3) / UDP(sport=4791, dport=4792) / Raw(bytes(40)),
    ]
    return [bytes(one) for one in made]


def table(rows: list[bytes], snap: int = 128) -> np.ndarray:
    return np.stack([np.frombuffer(one[:snap].ljust(snap, b"\0"), np.uint8) for one in rows])


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("head", HEADS)
def test_packets_are_read_in_every_encapsulation(head: str, version: int) -> None:
    rows = frames(HEADS[head], version)
    lengths = np.array([len(one) for one in rows])
    seen = RocePackets.of(np.arange(4), np.array([0, 1, 1, 0]), lengths, table(rows))
    assert len(seen) == 3
    assert seen.opcode.tolist() == [4, 17, 0x81]
    assert seen.pair.tolist() == [0xABC123, 0x11, 0x11]
    assert seen.psn.tolist()[:2] == [0xFFFFFE, 5]
    assert seen.ecn.tolist() == [3, 0, 0]
    assert seen.dscp.tolist() == [26, 48, 48]
    assert seen.syndrome.tolist() == [-1, 0x60, -1]
    assert seen.lengths.tolist() == lengths[:3].tolist()
    names = (NIC, PEER) if version == 4 else (NIC6, PEER6)
    assert [shown(one.tobytes()) for one in seen.destination[:2]] == [names[0], names[1]]
    assert [shown(one.tobytes()) for one in seen.source[:2]] == [names[1], names[0]]
    assert (len(seen.data), len(seen.answers), len(seen.cnps)) == (1, 1, 1)
    assert seen.from_nic.tolist() == [False, True, True]


def test_headers_that_were_cut_off_are_no_packet() -> None:
    rows = frames(HEADS["tagged"], 4)
    lengths = np.array([len(one) for one in rows])
    cut = table(rows, 50)
    assert not len(RocePackets.of(np.arange(4), np.zeros(4, bool), lengths, cut))


def test_of_a_file_the_address_tells_what_the_nic_sent(tmp_path: Path) -> None:
    """In order of time, and without the packets of others."""
    path = tmp_path / "nic.pcapng"
    rows = frames(HEADS["untagged"], 4)
    other = Ether(**MACS) / IP(src="10.1.0.7", dst="10.1.0.8") / UDP(dport=4791) / BTH(dqpn=1)
    with PcapNgWriter(str(path)) as writer:
        for at, one in ((2, rows[1]), (1, rows[0]), (3, rows[2]), (4, bytes(other))):
            packet = Ether(one)
            packet.time = 1_700_000_000 + at
            writer.write(packet)
    seen = RocePackets.read(path, NIC)
    assert seen.opcode.tolist() == [4, 17, 0x81]
    assert seen.from_nic.tolist() == [False, True, True]
    assert np.diff(seen.times_ps).tolist() == [10**12, 10**12]
    assert not len(RocePackets.read(path, "10.9.9.9"))


def test_a_file_that_is_no_capture_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "nic.pcapng"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(BadInput, match=r"nic\.pcapng"):
        RocePackets.read(path, NIC)
