"""The dpkt classes, on octets written out by hand from the layouts, and against the codec."""

from __future__ import annotations

import subprocess
import sys

import dpkt
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.frames import encode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_layout import PROBE_VERSION
from orchestrator.engine.records import CNM, PAUSE
from traces.protocols import Cnp, Lldp, Probe, roce
from traces.protocols.cnm import Cnm, CnTag
from traces.protocols.fecn_probe import Probe as FecnProbe
from traces.protocols.lldp import (
    ETS_CONFIGURATION,
    ETS_RECOMMENDATION,
    CongestionNotification,
    Ets,
    PfcConfiguration,
)
from traces.protocols.mac_control import CLASSES, MacControl, Pause, Pfc

MACS = bytes.fromhex("025442000007 025442000003")
VERSION = f"{PROBE_VERSION:02x}"
CNP_PAYLOAD = bytes.fromhex("8100ffff400000d2 00000000" + "00" * 16 + "e42dad81")


def ethernet(text: str, tag: str = "") -> dpkt.ethernet.Ethernet:
    return dpkt.ethernet.Ethernet(MACS + bytes.fromhex(tag + text))


def coded(kind: int, length: int, **fields: int) -> bytes:
    record = empty_descriptors(1)
    record["kind"], record["length"] = kind, length
    for name, value in fields.items():
        record[name] = value
    octets = np.zeros(128, np.uint8)
    written = encode(record.view(np.recarray)[0], octets)
    return octets[:written].tobytes()


def test_pause() -> None:
    frame = ethernet("8808 0001 1234" + "00" * 42)
    assert isinstance(frame.data, MacControl)
    assert isinstance(frame.data.data, Pause)
    assert frame.data.data.quanta == 0x1234
    assert bytes(frame) == MACS + bytes.fromhex("8808 0001 1234" + "00" * 42)
    assert dpkt.ethernet.Ethernet(coded(PAUSE, 60, feedback=7)).data.data.quanta == 7


def test_pfc() -> None:
    frame = ethernet("8808 0101 0009 0001 0000 0000 ffff 0000 0000 0000 0008" + "00" * 26)
    assert isinstance(frame.data.data, Pfc)
    assert frame.data.data.enabled == 0x09
    assert frame.data.data.quanta == (1, 0, 0, 0xFFFF, 0, 0, 0, 8)
    assert isinstance(ethernet("8808 0101 0009 0001").data, bytes)  # cut off: dpkt keeps octets
    assert ethernet("8808 0002 aabb").data.data == b"\xaa\xbb"


CNM_TEXT = "22e7 003f 0102030405060708 fffe 0003 a000 02544200000a 05ca deadbeef"


def test_cnm() -> None:
    for tag in ("", "8100 6001", "88a8 6001 8100 6002"):
        cnm = ethernet(CNM_TEXT, tag).data
        assert isinstance(cnm, Cnm)
        assert (cnm.version, cnm.feedback, cnm.cpid) == (0, 63, 0x0102030405060708)
        assert (cnm.offset_bytes, cnm.delta_bytes) == (-128, 192)
        assert (cnm.priority, cnm.msdu_length) == (5, 0x5CA)
        assert cnm.destination.hex() == "02544200000a"
        assert cnm.data == bytes.fromhex("deadbeef")
        assert bytes(cnm).hex() == CNM_TEXT[5:].replace(" ", "")


@given(st.integers(0, 63), st.integers(-1000, 1000), st.integers(0, 7))
def test_cnm_of_the_codec(feedback, units, priority) -> None:
    octets = coded(
        CNM, 106, source=3, destination=7, inner=10, mark=1500,
        feedback=feedback, offset=64 * units, delta=-64 * units, priority=priority,
    )  # fmt: skip
    cnm = dpkt.ethernet.Ethernet(octets).data
    assert (cnm.feedback, cnm.priority) == (feedback, priority)
    assert (cnm.offset_bytes, cnm.delta_bytes) == (64 * units, -64 * units)
    assert cnm.destination == bytes.fromhex("02544200000a")


def test_cn_tag() -> None:
    inner = bytes(dpkt.ip.IP(p=17, data=dpkt.udp.UDP(sport=5, dport=6, data=b"x", ulen=9), len=29))
    tag = ethernet("22e9 1234 0800" + inner.hex()).data
    assert isinstance(tag, CnTag)
    assert (tag.flow, tag.type) == (0x1234, 0x0800)
    assert tag.data.data.dport == 6
    assert ethernet("22e9 1234 9999 aabb").data.data == b"\xaa\xbb"
    assert ethernet("22e9 1234 0800 aabb").data.data == b"\xaa\xbb"


def test_cnp() -> None:
    udp = dpkt.udp.UDP(sport=49152, dport=4791, data=CNP_PAYLOAD)
    udp.ulen = 8 + len(CNP_PAYLOAD)
    ip = dpkt.ip.IP(p=17, data=udp)
    ip.len = 20 + udp.ulen
    for text in ("0800" + bytes(ip).hex(), "8100 6001 22e9 0001 0800" + bytes(ip).hex()):
        cnp = roce(ethernet(text))
        assert isinstance(cnp, Cnp)
        assert (cnp.becn, cnp.fecn, cnp.qp, cnp.psn) == (1, 0, 0xD2, 0)
        assert cnp.icrc == 0x81AD2DE4
    v1 = roce(ethernet("8100 6001 8915" + "00" * 40 + "0a" + CNP_PAYLOAD[1:].hex()))
    assert v1 is not None
    assert (v1.opcode, isinstance(v1, Cnp)) == (10, False)
    assert roce(ethernet(CNM_TEXT)) is None
    assert roce(ethernet("8915 00")) is None
    made = Cnp(qp=0xD2, becn=1, data=CNP_PAYLOAD[12:])
    assert bytes(made) == CNP_PAYLOAD


def test_lldp() -> None:
    head = "0207 04 020304050607 0403 02 6162 0602 0078"
    tlvs = (
        "fe06 0080c2 08 05 04"  # congestion notification
        "fe06 0080c2 0b 84 18"  # PFC
        "fe19 0080c2 09 83 00112233 3214000000000000 0002000000000000"
        "fe19 0080c2 0a 00 01234567 6400000000000000 0202000000000000"
        "fe05 0080c2 08 01"  # cut off by its own length
        "fe05 001122 08 01"
    )
    frame = ethernet("88cc" + head + tlvs + "0000")
    assert isinstance(frame.data, Lldp)
    assert [tlv.type for tlv in frame.data.tlvs] == [1, 2, 3] + [127] * 6
    cn = frame.data.find(CongestionNotification)
    assert (cn.cnpv, cn.ready) == (5, 4)
    pfc = frame.data.find(PfcConfiguration)
    assert (pfc.willing, pfc.macsec_bypass, pfc.capability, pfc.enabled) == (1, 0, 4, 0x18)
    ets = frame.data.find(Ets, ETS_CONFIGURATION)
    assert (ets.willing, ets.credit_shaper, ets.most_classes) == (1, 0, 3)
    assert ets.classes == (0, 0, 1, 1, 2, 2, 3, 3)
    assert ets.bandwidths[:2] == bytes([50, 20])
    other = frame.data.find(Ets, ETS_RECOMMENDATION)
    assert other.classes == tuple(range(8))
    assert frame.data.tlvs[-1].data == b"\x01"
    packed = bytes.fromhex(tlvs[: tlvs.index("fe19")])
    assert b"".join(bytes(tlv) for tlv in frame.data.tlvs[3:5]) == packed


@given(st.binary(max_size=80), st.sampled_from([0x8808, 0x22E7, 0x22E9, 0x88CC, 0x8915]))
def test_noise_is_bytes_or_a_packet(octets, kind) -> None:
    frame = dpkt.ethernet.Ethernet(MACS + kind.to_bytes(2, "big") + octets)
    assert isinstance(frame.data, bytes | dpkt.Packet)
    roce(frame)


def test_scapy_is_not_imported() -> None:
    code = (
        "import sys, traces.plugin, traces.protocols, traces.dissect\n"
        "import traces.analysis, traces.trace_commands\n"
        "sys.exit(any(name.split('.')[0] == 'scapy' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=False)
    assert done.returncode == 0


def test_a_probe_of_fecn_is_read_by_its_fields() -> None:
    fields = "1122334455667788 00000007 0000000000000009 0000000000000abc"
    for way in ("01", "02"):
        probe = ethernet(f"88b6 {VERSION} {way} {fields} ffff").data
        assert isinstance(probe, Probe)
        assert Probe is FecnProbe
        assert (probe.way, probe.rate_bps) == (int(way), 0x1122334455667788)
        assert (probe.flow, probe.sequence, probe.created_ps) == (7, 9, 0xABC)
        assert probe.data == b"\xff\xff"
    for head in (f"{VERSION} 00", f"{VERSION} 03", "ff 01"):
        assert isinstance(ethernet(f"88b6 {head} {fields}").data, bytes), "of another make"


def test_frames_that_are_made_have_the_defaults_of_their_protocols() -> None:
    assert bytes(Probe()) == bytes.fromhex(f"{VERSION} 01" + "00" * 28)
    assert bytes(Cnm()) == bytes(24)
    assert bytes(CnTag()) == bytes(4)
    assert bytes(Pause()) == bytes(2)
    assert bytes(Pfc()) == bytes(2 + 2 * CLASSES) == bytes(18)
    assert bytes(MacControl()) == b"\0\1"
    made = Cnm(feedback=63, version=1, priority=5, offset=-2, delta=3)
    assert bytes(made)[:2].hex() == "103f"
    assert (made.offset_bytes, made.delta_bytes) == (-128, 192)
    assert bytes(made)[14:16].hex() == "a000"
