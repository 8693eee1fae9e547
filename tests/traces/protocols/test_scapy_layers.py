"""The scapy layers against hand-written octets and against the dpkt classes."""

from __future__ import annotations

import dpkt
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

import traces.protocols
from traces.scapy_layers import CNM, CNTag

TEXT = "003f 0102030405060708 fffe 0003 a000 02544200000a 05ca deadbeef"


def test_cnm_from_and_to_octets() -> None:
    frame = Ether(bytes(12) + b"\x22\xe7" + bytes.fromhex(TEXT))
    assert (frame[CNM].feedback, frame[CNM].offset, frame[CNM].delta) == (63, -2, 3)
    assert frame[CNM].destination == "02:54:42:00:00:0a"
    assert frame[CNM].payload.load.hex() == "deadbeef"
    made = CNM(
        feedback=63,
        cpid=0x0102030405060708,
        offset=-2,
        delta=3,
        priority=5,
        destination="02:54:42:00:00:0a",
        msdu_length=0x5CA,
    ) / bytes.fromhex("deadbeef")
    assert bytes(made).hex() == TEXT.replace(" ", "")


def test_cn_tag_carries_what_ethernet_carries() -> None:
    for packet in (IP() / UDP(sport=1, dport=2) / b"x", IPv6() / UDP(sport=1, dport=2) / b"x"):
        octets = bytes(Ether() / Dot1Q(vlan=1) / CNTag(flow=9) / packet)
        back = Ether(octets)
        assert back[CNTag].flow == 9
        assert back[UDP].dport == 2
        other = dpkt.ethernet.Ethernet(octets).data
        assert isinstance(other, traces.protocols.CnTag)
        assert other.data.data.dport == 2


@given(st.integers(0, 63), st.integers(0, 2**64 - 1), st.integers(-(2**15), 2**15 - 1), st.binary())
def test_both_libraries_agree(feedback, cpid, offset, msdu) -> None:
    octets = bytes(Ether() / CNM(feedback=feedback, cpid=cpid, offset=offset, delta=offset) / msdu)
    cnm = dpkt.ethernet.Ethernet(octets).data
    assert (cnm.feedback, cnm.cpid, cnm.offset, cnm.delta) == (feedback, cpid, offset, offset)
    assert (cnm.msdu_length, bytes(cnm.data)) == (len(msdu), msdu)
