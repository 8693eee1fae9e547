"""Kinds, CN-TAG, PAUSE, PFC and CNM fields, which tshark does not know all of: against dpkt."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import dpkt
import numpy as np
import pytest
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

import traces.protocols as protocols
from orchestrator.engine.frames import encode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.records import CNM, DATA
from tests.traces.capture import captures
from tests.traces.dissect.samples import FRAMES, TAG, capture, cuts, mutated
from traces.analysis import analyze
from traces.capture import open_capture
from traces.dissect import ABSENT, HEADERS, KINDS, Kind, dissect, messages, pauses
from traces.scapy_layers import CNTag


def read(path, frames):
    path.write_bytes(capture(frames))
    with open_capture(path) as stream:
        headers, control, cnms = [], [], []
        for batch in stream.batches():
            found = dissect(batch, stream.interfaces)
            done = sum(map(len, headers))
            headers.append(found)
            for list_, some in ((control, pauses(batch, found)), (cnms, messages(batch, found))):
                some["row"] += done
                list_.append(some)
        return tuple(np.concatenate(parts) for parts in (headers, control, cnms))


def coded(kind: int, length: int, **fields: int) -> bytes:
    record = empty_descriptors(1)
    record["kind"], record["length"] = kind, length
    for name, value in fields.items():
        record[name] = value
    octets = np.zeros(128, np.uint8)
    return octets[: encode(record.view(np.recarray)[0], octets)].tobytes()


def test_kinds(tmp_path) -> None:
    data = coded(DATA, 1500, source=7, destination=9, flow=3, sequence=5)
    headers, _, _ = read(tmp_path / "a.pcap", [*FRAMES, data])
    kinds = [KINDS[kind] for kind in headers["kind"]]
    assert kinds[13:22] == [
        "roce", "roce", "cnp", "pause", "pfc", "cnm", "other", "other", "lldp", "other",
    ][:9]  # fmt: skip
    assert kinds[-1] == "data"
    assert kinds[:13] == ["other"] * 13
    assert headers["rpid"][19] == 0x55AA
    assert headers["notice"][14:16].tolist() == [2, 1]
    assert headers["tags"][:4].tolist() == [0, 1, 2, 3]


def test_control_frames_as_dpkt_has_them(tmp_path) -> None:
    frames = [*mutated(5, 4000), *mutated(6, 500, 20), *cuts(14)]
    headers, control, cnms = read(tmp_path / "a.pcap", frames)
    assert len(control) > 100
    assert len(cnms) > 100
    by_row = {int(one["row"]): one for one in (*control, *cnms)}
    for index, frame in enumerate(frames):
        if len(frame) < 14 or headers["tags"][index] > 2 or headers["rpid"][index] != ABSENT:
            continue  # dpkt reads two tags at most; CN-TAGs are looked at below
        try:
            ethernet = dpkt.ethernet.Ethernet(frame)
        except dpkt.UnpackError:  # dpkt takes a frame with a cut VLAN tag for none at all
            continue
        layer = ethernet.data
        if ethernet.type <= 1500:  # 802.3 with a length
            continue
        kind, found = headers["kind"][index], by_row.get(index)
        if isinstance(layer, protocols.Cnm):
            assert kind == Kind.CNM
            assert found is not None
            for name in ("version", "feedback", "offset_bytes", "delta_bytes", "priority"):
                assert found[name] == getattr(layer, name), name
            assert found["msdu_length"] == layer.msdu_length
            assert int(found["cpid"]) % 2**64 == layer.cpid
            assert int(found["destination"]).to_bytes(6, "big") == layer.destination
        elif isinstance(layer, protocols.MacControl) and isinstance(layer.data, protocols.Pfc):
            assert kind == Kind.PFC
            assert found is not None
            assert tuple(found["quanta"].tolist()) == layer.data.quanta
            assert found["enabled"] == layer.data.enabled & 0xFF
        elif isinstance(layer, protocols.MacControl) and isinstance(layer.data, protocols.Pause):
            assert kind == Kind.PAUSE
            assert found is not None
            assert set(found["quanta"].tolist()) == {layer.data.quanta}
        else:
            assert found is None, frame.hex()


def test_cn_tag_changes_nothing_else(tmp_path) -> None:
    inner = IP(src="1.2.3.4", dst="5.6.7.8", tos=1) / UDP(sport=8, dport=9) / b"abc"
    plain, tagged = (
        bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / TAG / rest)
        for rest in (inner, CNTag(flow=0xFFFF) / inner)
    )
    headers, _, _ = read(tmp_path / "a.pcap", [plain, tagged])
    one, other = headers
    differing = {name for name in HEADERS.names or () if one[name] != other[name]}
    assert differing == {"rpid", "place"}
    assert (other["rpid"], other["place"] - one["place"]) == (0xFFFF, 4)


@pytest.mark.parametrize("flow", [0, 7, 2**31 - 1])
def test_cnm_about_a_frame_of_ours(tmp_path, flow) -> None:
    octets = coded(
        CNM, 106, source=3, destination=7, inner=9, mark=1500, flow=flow, sequence=2**40,
        feedback=63, offset=6400, delta=-640, priority=4,
    )  # fmt: skip
    _, _, (one,) = read(tmp_path / "a.pcap", [octets])
    assert (one["flow"], one["sequence"], one["feedback"]) == (flow, 2**40, 63)
    assert (one["offset_bytes"], one["delta_bytes"], one["priority"]) == (6400, -640, 4)
    assert one["destination"] == 0x025442000009
    _, _, (one,) = read(tmp_path / "a.pcap", [octets[:80]])
    assert (one["flow"], one["feedback"]) == (ABSENT, 63)


def test_other_link_types_are_not_guessed_at(tmp_path) -> None:
    path = tmp_path / "a.pcap"
    data = bytearray(capture(FRAMES))
    data[20] = 101
    path.write_bytes(data)
    with open_capture(path) as stream:
        (batch,) = stream.batches()
        headers = dissect(batch, stream.interfaces)
    assert (headers["kind"] == Kind.OTHER).all()
    assert (headers["ethertype"] == ABSENT).all()


SYNDROMES = {0x00: "roce_ack", 0x1F: "roce_ack", 0x20: "roce_rnr_nak", 0x2E: "roce_rnr_nak"}
SYNDROMES |= {0x60: "roce_nak", 0x61: "roce_nak", 0x64: "roce_nak", 0x40: "roce"}


@pytest.mark.parametrize("opcode", [0x11, 0x12, 0x31, 0x0D])
@pytest.mark.parametrize("version", [4, 6])
def test_acks_and_naks_of_roce_are_counted_apart(tmp_path: Path, opcode: int, version: int) -> None:
    """By the syndrome of the AETH, which answers alone have and which has to be captured."""
    head = Ether() / {4: IP(), 6: IPv6()}[version] / UDP(sport=50_000, dport=4791)
    octets = [
        bytes(head / BTH(opcode=opcode, dqpn=5, psn=7) / (bytes([syndrome]) + bytes(3)))
        for syndrome in SYNDROMES
    ]
    cut = octets[0][: 14 + {4: 20, 6: 40}[version] + 8 + 12 + 3]
    records = [(1, n, one, len(one)) for n, one in enumerate([*octets, cut])]
    path = tmp_path / "a.pcap"
    path.write_bytes(captures.pcap(records))
    (one,) = analyze(path).interfaces
    answers = opcode & 0x1F in (0x11, 0x12)
    expected = Counter([*SYNDROMES.values(), "roce"]) if answers else {"roce": len(records)}
    assert {kind: count for kind, count in one.frames.items() if count} == expected
    assert [(flow.kind, flow.frames, flow.qp) for flow in one.conversations] == [
        ("roce", len(records), 5)
    ]
