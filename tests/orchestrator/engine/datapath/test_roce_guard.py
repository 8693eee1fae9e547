"""Check words of RoCEv2 packets: their ICRC stays right on the wire, and any change is found."""

from __future__ import annotations

import random

import numpy as np
import pytest

from orchestrator.engine.datapath import frame_guard as at
from orchestrator.engine.frames import FOREIGN
from orchestrator.engine.frames.frame_codec import decode
from orchestrator.engine.frames.header_options import HeaderOptions
from orchestrator.engine.frames.roce_frame_types import encode_frame, layout_of
from orchestrator.engine.frames.roce_icrc import ICRC_OCTETS, is_icrc
from orchestrator.engine.frames.type_registry import type_table
from orchestrator.engine.records import ACK, CNP, DATA, FLOW, ROCE_WRITE
from orchestrator.targets.software import link_guards
from tests.orchestrator.engine.datapath.test_frame_guard import US, Ends, World

EVERY = [HeaderOptions(vlan, None, ip, roce=True) for vlan in (None, 1) for ip in (4, 6)]
LENGTHS = {DATA: 400, ACK: 0, CNP: 0}


class RoceEnds(Ends):
    """Both ends of a link for packets of a queue pair with some headers."""

    def __init__(self, options: HeaderOptions) -> None:
        super().__init__()
        types = type_table(options)
        flows = np.zeros(8, FLOW).view(np.recarray)
        flows.roce = ROCE_WRITE
        plain = self.world
        self.world = World(types, plain.frames, plain.octets, plain.stamps, flows)
        self.guard = self.guard._replace(layouts=link_guards.layouts(types))
        self.ip = options.msdu + 2

    def plain(self, kind: int, sequence: int = 7) -> bytes:
        w = self.world
        frame = w.frames[0]
        frame.kind, frame.flow, frame.source, frame.destination = kind, 3, 3, 9
        frame.sequence, frame.created, frame.due = sequence, 10**9, sequence * US
        frame.feedback, frame.delta, frame.offset, frame.inner, frame.mark = 7, 1, 0, -1, 2
        frame.length = LENGTHS[kind] or int(w.types[layout_of(w, frame)].octets)
        w.octets[0] = 0
        assert encode_frame(w, frame, w.octets[0]) == frame.length
        return w.octets[0, : frame.length].tobytes()

    def receive(self, octets: bytes, now: int = 0) -> int:
        w = self.world
        w.octets[1] = 0
        w.octets[1, : len(octets)] = list(octets)
        kind = decode(w.types, w.octets[1], len(octets), w.frames[1])
        if kind != FOREIGN:
            at.guard_received(w, self.guard, self.row, 1, now)
        return int(kind)


@pytest.mark.parametrize("options", EVERY, ids=str)
@pytest.mark.parametrize("kind", LENGTHS)
def test_a_guarded_packet_has_the_right_icrc_and_comes_out_as_before(
    kind: int, options: HeaderOptions
) -> None:
    ends = RoceEnds(options)
    for sequence in range(300):
        before = ends.plain(kind, sequence)
        on_wire = ends.sent(kind, sequence)
        assert on_wire != before
        row = np.frombuffer(on_wire, np.uint8)
        assert is_icrc(row, len(row) - ICRC_OCTETS, ends.ip)
        assert ends.receive(on_wire, sequence * US) == kind
        assert ends.world.octets[1, : len(before)].tobytes() == before
    assert ends.counted(at.RECEIVED) == 300
    assert ends.counted(at.CHANGED) == 0


@pytest.mark.parametrize("options", EVERY[:2], ids=str)
@pytest.mark.parametrize("kind", LENGTHS)
def test_a_changed_packet_is_none_of_ours_or_counted(kind: int, options: HeaderOptions) -> None:
    """By its ICRC or by the check word. Octets that routers change, and the UDP checksum of IPv6,
    which has the low half of the word, are covered by neither."""
    rng = random.Random(kind)
    ends = RoceEnds(options)
    length = len(ends.plain(kind))
    for place in range(ends.ip, length):
        octets = bytearray(ends.sent(kind))
        octets[place] ^= 1 << rng.randrange(8)
        before = ends.counted(at.CHANGED)
        passed = ends.receive(bytes(octets)) != FOREIGN and ends.counted(at.CHANGED) == before
        assert not passed, place - ends.ip
