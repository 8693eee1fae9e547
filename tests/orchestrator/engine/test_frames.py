"""The codec against octets written out by hand, against scapy and tshark, and against noise."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scapy.contrib.mac_control import MACControlPause
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.utils import wrpcap

from orchestrator.engine.frames import FOREIGN, decode, encode, type_table
from orchestrator.engine.frames import frame_layout as at
from orchestrator.engine.frames.address_index import GROUP, index_of_mac, ip_text, mac_of, mac_text
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_codec import sampled_length
from orchestrator.engine.records import CNM, DATA, FRAME, NONE, PAUSE

CNM_BY_HAND = """
    02 54 42 00 00 07   02 54 42 00 01 02        to the sampled frame's source, from the CP
    81 00 a0 01                                  the sampled frame's tag: priority 5, VLAN 1
    22 e7
    00 2a                                        version 0, reserved 0, feedback 42
    02 54 42 00 01 02 00 00                      CPID
    00 64                                        offset +6400 octets: 100 units
    ff f6                                        delta -640 octets: -10 units
    a0 00                                        encapsulated priority 5
    02 54 42 00 00 09                            encapsulated destination
    05 cc                                        encapsulated MSDU length: 1500 - 16
    08 00                                        MSDU: EtherType,
    45 00 05 ca 00 00 40 00 40 11 21 14          IPv4, 1482 octets, DF, TTL 64, UDP, checksum
    0a 00 00 07 0a 00 00 09                      10.0.0.7 to 10.0.0.9
    c8 03 c7 b1 05 b6 00 00                      UDP
    74 42 4b 31 00 00 00 03                      'tBK1', flow 3
    00 00 00 00 11 22 33 44                      sequence
    01 02 03 04 05 06 07 08                      created, ps
    00 00 00 00 00 00 00 00 00 00
"""


def octets_of(text: str) -> bytes:
    """The octets of a listing: in each line the two-digit groups before the first other word."""
    found = []
    for line in text.strip().splitlines():
        for word in line.split():
            if len(word) != 2 or any(c not in "0123456789abcdef" for c in word):
                break
            found.append(int(word, 16))
    return bytes(found)


USED = dict.fromkeys(FRAME.names, 99)
"""A descriptor that was another frame's."""


def descriptor(**fields: int) -> np.record:
    """A frame descriptor."""
    frame = empty_descriptors(1)
    for name, value in fields.items():
        frame[name] = value
    return frame[0]


def written(frame: np.record) -> bytes:
    """The whole frame that a descriptor stands for."""
    octets = np.zeros(2048, np.uint8)
    known = encode(frame, octets)
    assert not octets[known:].any()
    return octets[: frame.length].tobytes() if known else b""


def read(octets: bytes, snap: int | None = None) -> tuple[int, np.record]:
    """Kind and descriptor of a received frame, of which the first `snap` octets are kept.

    The descriptor was another frame's: whatever a decoder leaves alone shows.
    """
    frame = descriptor(**USED)
    row = np.full(snap or max(len(octets), 128), 0xEE, np.uint8)
    row[: len(octets)] = list(octets[: row.size])
    return decode(row, len(octets), frame), frame


def fields(frame: np.record) -> dict[str, int]:
    """A descriptor's fields as a dictionary."""
    return {name: int(frame[name]) for name in FRAME.names}


def cnm() -> np.record:
    """The descriptor of CNM_BY_HAND."""
    return descriptor(
        kind=CNM,
        length=106,
        priority=5,
        flow=3,
        source=0x102,
        destination=7,
        sequence=0x11223344,
        created=0x0102030405060708,
        feedback=42,
        offset=6400,
        delta=-640,
        inner=9,
        mark=1500,
    )


def data(**more: int) -> np.record:
    """A data frame from 7 to 9."""
    common = {"kind": DATA, "length": 1500, "priority": 5, "source": 7, "destination": 9}
    return descriptor(**(common | {"flow": 3, "sequence": 77, "created": 10**15} | more))


def test_a_cnm_is_the_octets_written_by_hand():
    expected = octets_of(CNM_BY_HAND)
    assert len(expected) == at.CNM_LENGTH == 106
    assert written(cnm()) == expected
    kind, frame = read(expected)
    assert kind == CNM
    assert fields(frame) == fields(cnm())


@pytest.mark.parametrize(
    ("octets", "units"),
    [
        (63, 0),
        (64, 1),
        (-1, -1),
        (-64, -1),
        (-65, -2),
        (64 * 32767, 32767),
        (64 * 32768, 32767),
        (-64 * 32768, -32768),
        (-(10**12), -32768),
        (10**12, 32767),
    ],
)
def test_offset_and_delta_are_rounded_down_and_saturated(octets, units):
    frame = cnm()
    frame.offset = frame.delta = octets
    row = written(frame)
    for place in (at.CNM_OFFSET, at.CNM_DELTA):
        assert int.from_bytes(row[place : place + 2], "big", signed=True) == units
    assert read(row)[1].offset == units * at.CNM_UNIT


def test_a_cnm_repeats_no_more_than_there_is():
    frame = cnm()
    frame.mark, frame.length = 70, sampled_length(70)
    row = written(frame)
    assert len(row) == at.CNM_MSDU + 54
    kind, back = read(row)
    assert (kind, back.mark, back.flow) == (CNM, 70, 3)


def test_a_cnm_about_somebody_elses_frame_has_no_flow():
    row = bytearray(octets_of(CNM_BY_HAND))
    row[at.CNM_MSDU : at.CNM_MSDU + 2] = b"\x86\xdd"
    kind, frame = read(bytes(row))
    assert (kind, frame.flow, frame.sequence, frame.feedback) == (CNM, NONE, 0, 42)


@pytest.mark.parametrize("length", [70, 71, 128, 1500, 1522])
def test_scapy_reads_a_data_frame(length):
    row = written(data(length=length, mark=3, priority=6, flow=70_000))
    ether = Ether(row)
    assert (ether.src, ether.dst, ether.type) == (mac_text(7), mac_text(9), 0x8100)
    assert (ether[Dot1Q].prio, ether[Dot1Q].vlan, ether[Dot1Q].type) == (6, 1, 0x0800)
    assert (ether[IP].src, ether[IP].dst) == (ip_text(7), ip_text(9)) == ("10.0.0.7", "10.0.0.9")
    assert (ether[IP].len, ether[IP].tos & 3, ether[UDP].len) == (length - 18, 3, length - 38)
    checksum = ether[IP].chksum
    del ether[IP].chksum
    assert Ether(ether.build())[IP].chksum == checksum
    payload = bytes(ether[UDP].payload)
    assert payload[:8] == b"tBK1" + (70_000).to_bytes(4, "big")
    assert payload[8:24] == (77).to_bytes(8, "big") + (10**15).to_bytes(8, "big")
    assert not any(payload[24:])


@pytest.mark.parametrize("quanta", [0, 1, 65535])
def test_scapy_builds_the_same_pause(quanta):
    frame = descriptor(
        kind=PAUSE, length=60, source=5, destination=NONE, flow=NONE, feedback=quanta
    )
    peer = Ether(src=mac_text(5), dst="01:80:c2:00:00:01") / MACControlPause(pause_time=quanta)
    assert written(frame) == peer.build().ljust(60, b"\0")
    kind, back = read(written(frame))
    assert kind == PAUSE
    assert fields(back) == fields(frame)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_reads_them_without_complaint(tmp_path):
    pause = descriptor(kind=PAUSE, length=60, source=5, destination=NONE, feedback=300)
    rows = [written(data(mark=1)), written(data(length=70)), written(pause), written(cnm())]
    path = tmp_path / "frames.pcap"
    wrpcap(str(path), [Ether(row) for row in rows])
    names = ["frame.len", "eth.type", "vlan.priority", "ip.checksum.status", "ip.dsfield.ecn"]
    names += ["udp.dstport", "udp.length", "macc.opcode", "macc.pause_time", "_ws.expert.message"]
    command = ["tshark", "-r", str(path), "-o", "ip.check_checksum:TRUE", "-T", "fields"]
    command += ["-E", "separator=;", *(word for name in names for word in ("-e", name))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    port = at.UDP_PORT
    assert done.stdout.splitlines() == [
        f"1500;0x8100;5;1;1;{port};1462;;;",
        f"70;0x8100;5;1;0;{port};32;;;",
        "60;0x8808;;;;;;0x0001;300;",
        "106;0x8100;5;;;;;;;",
    ]


int64 = st.integers(-(2**63), 2**63 - 1)
index = st.integers(0, 2**24 - 1)


@given(
    length=st.integers(70, 2048),
    priority=st.integers(0, 7),
    flow=st.integers(-1, 2**31 - 1),
    source=index,
    destination=index,
    sequence=int64,
    created=int64,
    mark=st.integers(0, 255),
    hops=st.integers(0, 63),
)
def test_a_data_frame_comes_back_as_it_was(**values):
    assume(values["destination"] != values["flow"])  # only one that was returned goes there
    frame = descriptor(kind=DATA, **values)
    kind, back = read(written(frame))
    assert kind == DATA
    assert fields(back) == fields(frame)
    assert fields(read(written(frame), snap=128)[1]) == fields(frame)


@given(st.binary(max_size=200), st.integers(0, 10_000))
def test_noise_is_foreign(octets, length):
    frame = descriptor()
    before = fields(frame)
    row = np.frombuffer(octets, np.uint8).copy()
    assert decode(row, length, frame) == FOREIGN
    assert fields(frame) == before


@given(
    st.sampled_from(["data", "cnm", "pause"]),
    st.lists(st.tuples(st.integers(0, 105), st.integers(0, 255)), max_size=4),
    st.integers(0, 106),
)
def test_a_damaged_frame_is_read_or_foreign_and_never_half_read(which, damage, cut):
    frame = {
        "data": data(length=106),
        "cnm": cnm(),
        "pause": descriptor(kind=PAUSE, length=106, source=5, feedback=9),
    }[which]
    row = bytearray(written(frame))
    for place, value in damage:
        row[place] = value
    kind, back = read(bytes(row[:cut]))
    assert kind in (FOREIGN, DATA, CNM, PAUSE)
    if kind == FOREIGN:
        assert fields(back) == USED
    else:
        assert (back.next, back.due, back.port, back.length) == (NONE, 0, NONE, cut)


@pytest.mark.parametrize(
    "frame",
    [
        data(length=69),
        data(kind=16),
        descriptor(kind=PAUSE, length=59),
        descriptor(kind=CNM, length=105, mark=1500),
        descriptor(kind=CNM, length=106, mark=60),
    ],
)
def test_what_has_no_frame_is_not_encoded(frame):
    assert encode(frame, np.zeros(128, np.uint8)) == 0


@given(index)
def test_an_address_index_and_its_mac_are_one(value):
    assert index_of_mac(mac_of(value)) == value
    assert index_of_mac(mac_of(value) ^ (1 << 41)) == NONE
    group = value | GROUP
    assert index_of_mac(mac_of(group)) == group
    assert mac_of(group) >> 40 == 3, "the multicast bit of a locally administered address"


@pytest.mark.parametrize("other", [-8, -1, 1, 8])
def test_a_data_frame_of_another_length_than_it_says_is_foreign(other: int):
    """Its octets are all right; only how many there are is not what its headers say."""
    octets = written(descriptor(kind=DATA, length=200, source=1, destination=2)) + bytes(8)
    assert read(octets[:200])[0] == DATA
    assert read(octets[: 200 + other])[0] == FOREIGN


def test_every_octet_by_which_data_is_known_is_asked():
    """One bit of it another: it is not data."""
    octets = written(descriptor(kind=DATA, length=200, source=1, destination=2))
    mask = type_table()[DATA].mask
    asked = [place for place in range(mask.size) if mask[place]]
    assert set(range(at.MAGIC, at.MAGIC + 4)) <= set(asked)
    for place in asked:
        bit = int(mask[place]) & -int(mask[place])
        other = octets[:place] + bytes([octets[place] ^ bit]) + octets[place + 1 :]
        assert read(other)[0] != DATA, place
