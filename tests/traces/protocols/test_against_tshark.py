"""The dpkt classes against tshark, on frames with random fields: DCBX, PAUSE, PFC, RoCE."""

from __future__ import annotations

import random

import dpkt

from tests.traces.capture.tshark import needs_tshark, rows
from tests.traces.dissect.samples import capture
from traces.protocols import roce
from traces.protocols.lldp import (
    CONGESTION_NOTIFICATION,
    ETS_CONFIGURATION,
    PFC,
    CongestionNotification,
    Ets,
    PfcConfiguration,
)

MACS = bytes.fromhex("0180c200000e 025442000003")
BEGIN = bytes.fromhex("88cc 0207 04 020304050607 0403 02 6162 0602 0078")
PRIORITIES = range(8)
COUNT = 150


def lldp(rng: random.Random, subtype: int, octets: int) -> bytes:
    """A frame with one TLV of 802.1, of random contents."""
    value = b"\x00\x80\xc2" + bytes([subtype]) + rng.randbytes(octets)
    return MACS + BEGIN + bytes([0xFE, len(value)]) + value + b"\0\0"


def bits(prefix: str, value: int) -> dict[str, int]:
    return {f"{prefix}{priority}": value >> priority & 1 for priority in PRIORITIES}


def compare(path, frames: list[bytes], said: list[dict[str, int]]) -> None:
    path.write_bytes(capture(frames))
    names = list(said[0])
    for frame, ours, row in zip(frames, said, rows(path, names), strict=True):
        theirs = {name: int(row[name], 0) if row[name] else None for name in names}
        assert theirs == ours, frame.hex()


@needs_tshark
def test_congestion_notification(tmp_path) -> None:
    rng = random.Random(1)
    frames = [lldp(rng, CONGESTION_NOTIFICATION, 2) for _ in range(COUNT)]
    said = []
    for frame in frames:
        found = dpkt.ethernet.Ethernet(frame).data.find(CongestionNotification)
        said.append(
            bits("lldp.ieee.802_1qau.cnpv.prio", found.cnpv)
            | bits("lldp.ieee.802_1qau.ready.prio", found.ready)
        )
    compare(tmp_path / "a.pcap", frames, said)


@needs_tshark
def test_pfc_configuration(tmp_path) -> None:
    rng = random.Random(2)
    frames = [lldp(rng, PFC, 2) for _ in range(COUNT)]
    said = []
    for frame in frames:
        found = dpkt.ethernet.Ethernet(frame).data.find(PfcConfiguration)
        said.append(
            bits("lldp.dcbx.feature.pfc.prio", found.enabled)
            | {
                "lldp.dcbx.ieee.willing": found.willing,
                "lldp.dcbx.ieee.pfc.mbc": found.macsec_bypass,
                "lldp.dcbx.ieee.pfc.numtcs": found.capability,
            }
        )
    compare(tmp_path / "a.pcap", frames, said)


@needs_tshark
def test_ets(tmp_path) -> None:
    rng = random.Random(3)
    frames = [lldp(rng, ETS_CONFIGURATION, 21) for _ in range(COUNT)]
    said = []
    for frame in frames:
        found = dpkt.ethernet.Ethernet(frame).data.find(Ets)
        one = {
            "lldp.dcbx.ieee.willing": found.willing,
            "lldp.dcbx.ieee.ets.cbs": found.credit_shaper,
            "lldp.dcbx.ieee.ets.maxtcs": found.most_classes,
        }
        for name, values in (
            ("feature.pg.pgid_prio", found.classes),
            ("feature.pg.per", found.bandwidths),
            ("ieee.ets.tsa", found.algorithms),
        ):
            one |= {f"lldp.dcbx.{name}{index}": value for index, value in enumerate(values)}
        said.append(one)
    compare(tmp_path / "a.pcap", frames, said)


@needs_tshark
def test_pfc_frames(tmp_path) -> None:
    rng = random.Random(4)
    frames = [MACS + b"\x88\x08\x01\x01\0" + rng.randbytes(17) + bytes(26) for _ in range(COUNT)]
    said = []
    for frame in frames:
        found = dpkt.ethernet.Ethernet(frame).data.data
        times = {f"macc.cbfc.pause_time.c{n}": found.quanta[n] for n in PRIORITIES}
        said.append(times | bits("macc.cbfc.enbv.c", found.enabled))
    compare(tmp_path / "a.pcap", frames, said)


@needs_tshark
def test_base_transport_headers(tmp_path) -> None:
    rng = random.Random(5)
    frames = []
    for _ in range(COUNT):
        # a middle packet of a send: tshark looks for further headers behind most other opcodes
        body = bytes([1, rng.randrange(256)]) + rng.randbytes(10) + bytes(20)
        udp = dpkt.udp.UDP(sport=49152, dport=4791, data=body, ulen=8 + len(body))
        ip = dpkt.ip.IP(p=17, data=udp, len=28 + len(body))
        frames.append(MACS[6:] * 2 + b"\x08\x00" + bytes(ip))
    said = []
    for frame in frames:
        found = roce(dpkt.ethernet.Ethernet(frame))
        assert found is not None
        fields = {
            "opcode": found.opcode,
            "se": found.solicited,
            "m": found.migration,
            "padcnt": found.pad,
            "tver": found.version,
            "p_key": found.pkey,
            "destqp": found.qp,
            "a": found.ack,
            "psn": found.psn,
        }
        said.append({f"infiniband.bth.{name}": value for name, value in fields.items()})
    compare(tmp_path / "a.pcap", frames, said)
