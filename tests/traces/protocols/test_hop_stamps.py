"""Stamps of hops in data frames and acknowledgements: every reader reads what the codec wrote."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.l2 import Ether

from orchestrator.engine.frames import encode, type_table
from orchestrator.engine.frames import telemetry_header as engine
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_codec import encode_by
from orchestrator.engine.frames.header_options import HeaderOptions
from orchestrator.engine.frames.roce_frame_types import WRITE_FIRST
from orchestrator.engine.records import ACK, CREDIT, DATA, ROCE_DATA, SACK
from traces import run_queries
from traces.protocols import Stamps, stamps
from traces.scapy_layers import Ack, Data, Sack
from traces.scapy_layers import Stamps as ScapyStamps

word = st.integers(0, 2**32 - 1)
STAMP = st.tuples(word, word, word, word, word)
LAYERS = {DATA: Data, ACK: Ack, SACK: Sack}


def framed(kind: int, room: int, hops: list[tuple[int, ...]], **fields: int) -> bytes:
    """A frame with the stamps of some ports, as it is on a wire, padded to 20 octets more."""
    frame = empty_descriptors(1)[0]
    begin = int(type_table()[kind].stamps)
    frame.kind, frame.flow, frame.source, frame.destination = kind, 5, 5, 9
    frame.length = begin + (2 + 20 * room if room else 0) + 20
    for name, value in fields.items():
        frame[name] = value
    octets = np.zeros(frame.length, np.uint8)
    assert encode(frame, octets) == begin
    if room:
        row = np.zeros(engine.FIRST + engine.WORDS * engine.MOST_STAMPS, np.int64)
        row[engine.ROOM] = room
        for queued, sent, time, rate, port in hops:
            engine.write_stamp(row, queued, sent, time * 1000, rate * 1000, port)
        engine.put_stamps(begin, row, octets)
    return octets.tobytes()


@settings(max_examples=60)
@given(
    kind=st.sampled_from([DATA, ACK, SACK]),
    room=st.integers(1, engine.MOST_STAMPS),
    hops=st.lists(STAMP, max_size=engine.MOST_STAMPS + 2),
)
def test_what_ports_wrote_comes_back(kind: int, room: int, hops: list[tuple[int, ...]]) -> None:
    """From dpkt's class, from scapy's layer, and octets of both again."""
    octets = framed(kind, room, hops)
    begin = int(type_table()[kind].stamps)
    found = stamps(octets)
    assert found is not None
    there = [(one.queued, one.sent, one.time_ns, one.rate_kbps, one.port) for one in found.stamps]
    assert there == hops[:room]
    assert (found.room, found.stamped) == (room, len(hops))
    assert (bytes(found), len(found)) == (octets[begin:], len(octets) - begin)
    assert all(one.rate_bps == 1000 * one.rate_kbps for one in found.stamps)
    packet = Ether(octets)
    layer = packet[LAYERS[kind]]
    assert layer.flow == 5
    said = packet[ScapyStamps]
    assert (said.room, said.stamped) == (room, len(hops))
    told = [(one.queued, one.sent, one.time_ns, one.rate_kbps, one.port) for one in said.stamps]
    assert told == hops[:room]
    assert bytes(packet) == octets
    assert bytes(Stamps(bytes(said))) == bytes(said)


def test_fields_of_the_table_are_those_of_the_layer() -> None:
    """An acknowledgement's own fields, before its stamps."""
    fields = {"sequence": 7, "created": 2**40, "offset": 3, "delta": 9, "feedback": 1}
    packet = Ether(framed(SACK, 2, [], **fields, inner=0b101))[Sack]
    assert {name: getattr(packet, name) for name in fields} == fields
    assert packet.inner == 0b101
    assert packet[ScapyStamps].stamps == []
    data = Ether(framed(DATA, 0, [], sequence=8, created=11))[Data]
    assert (data.sequence, data.created, data.haslayer(ScapyStamps)) == (8, 11, 0)


def test_frames_without_room_have_none() -> None:
    assert stamps(framed(DATA, 0, [])) is None
    frame = empty_descriptors(1)[0]
    frame.kind, frame.length, frame.flow, frame.source, frame.destination = CREDIT, 70, 1, 1, 2
    octets = np.zeros(128, np.uint8)
    assert encode(frame, octets) == 70
    assert stamps(octets[:70].tobytes()) is None, "a type that carries none"
    whole = framed(DATA, 3, [(1, 2, 3, 4, 5)])
    assert stamps(whole[:100], len(whole)) is None, "cut off within its room"
    assert stamps(whole[:132], len(whole)) is not None
    assert stamps(b"\xff" * 200) is None


@pytest.mark.parametrize("vlan", [None, 1])
def test_rocev2_packets_have_none_whatever_their_dma_length_says(vlan: int | None) -> None:
    """Octet 70, where stamps of a data frame begin, is in the DMA length of a RETH."""
    options = HeaderOptions(vlan, roce=True)
    frame = empty_descriptors(1)[0]
    frame.kind, frame.length, frame.flow, frame.source, frame.destination = DATA, 1102, 1, 1, 2
    frame.feedback, frame.offset = WRITE_FIRST, 0x01010101
    octets = np.zeros(1102, np.uint8)
    assert encode_by(type_table(options)[ROCE_DATA], frame, octets) == 1102
    assert stamps(octets.tobytes()) is None
    assert stamps(octets[:128].tobytes(), 1102) is None


@pytest.mark.parametrize(("kind", "name"), [(DATA, "data"), (ACK, "ACK")])
def test_the_console_says_what_ports_said(kind: int, name: str) -> None:
    octets = np.frombuffer(framed(kind, 2, [(9, 1, 1, 10_000, 4), (0, 1, 1, 2_000, 5)]), np.uint8)
    called, text = run_queries.frame_text(octets, len(octets))
    assert called == name
    assert text.endswith(", 2 stamped (port 4: 9 of 10000000 bit/s; port 5: 0 of 2000000 bit/s)")
