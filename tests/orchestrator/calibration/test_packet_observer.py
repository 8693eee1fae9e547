"""Slots of the kernel's ring, made by hand: tags put back, times, directions; any octets at all."""

from __future__ import annotations

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.calibration.packet_observer import (
    SLOT,
    SNAP,
    USER,
    VLAN_VALID,
    ObservedFrames,
    unpacked,
)
from orchestrator.errors import RunFailed

HEAD = bytes.fromhex("025442000002 025442000001")
OFFSET_NS = 10**18


def slot(
    frame: bytes, at_ns: int, tag: int | None = None, outgoing: bool = False, start: int = 66
) -> bytes:
    """struct tpacket2_hdr, struct sockaddr_ll, a frame; `tag`: told beside it."""
    status = USER | (VLAN_VALID if tag is not None else 0)
    seconds, rest = divmod(at_ns + OFFSET_NS, 10**9)
    header = struct.pack(
        "<IIIHHIIHH4x", status, len(frame), len(frame), start, 80, seconds, rest, tag or 0, 0x8100
    )
    address = struct.pack("<HHiHBB8x", 17, 3, 2, 1, 4 if outgoing else 3, 6)
    return (header + address).ljust(start, b"\0") + frame[:SNAP].ljust(SLOT - start, b"\0")


def seen(*slots: bytes) -> ObservedFrames:
    return unpacked(np.frombuffer(b"".join(slots), np.uint8).reshape(-1, SLOT), OFFSET_NS, 0)


def test_a_tag_that_was_taken_out_is_put_back() -> None:
    plain = HEAD + bytes.fromhex("0800") + bytes(range(100))
    tagged = HEAD + bytes.fromhex("8100 6001 0800") + bytes(range(100))
    found = seen(slot(plain, 5, tag=0x6001), slot(tagged, 7, outgoing=True, start=78))
    assert found.octets[0].tobytes()[:100] == tagged[:100]
    assert (found.octets[0] == found.octets[1])[:118].all()
    assert found.lengths.tolist() == [len(tagged), len(tagged)]
    assert found.times_ns.tolist() == [5, 7]
    assert found.outgoing.tolist() == [False, True]


def test_kinds_are_told_by_their_types() -> None:
    data = bytearray(HEAD + bytes.fromhex("8100 6001 0800") + bytes(100))
    data[46:50], data[54:62], data[62:70] = b"tBK1", (7).to_bytes(8), (9).to_bytes(8)
    cnm = HEAD + bytes.fromhex("8100 e001 22e7") + bytes(80)
    pause = bytes.fromhex("0180c2000001 025442000001 8808 0001 ffff") + bytes(42)
    other = HEAD + bytes.fromhex("86dd") + bytes(60)
    found = seen(*(slot(bytes(one), 0) for one in (data, cnm, pause, other)))
    assert [len(found.data.octets), len(found.notifications.octets)] == [1, 1]
    assert found.pauses.lengths.tolist() == [60]
    assert (found.data.sequence.tolist(), found.data.created_ps.tolist()) == ([7], [9])


def test_nothing_came() -> None:
    none = unpacked(np.zeros((0, SLOT), np.uint8), 0, 3)
    assert (len(none.data.times_ns), none.dropped) == (0, 3)


@given(st.lists(st.binary(min_size=SLOT, max_size=SLOT), min_size=1, max_size=4))
def test_any_octets_are_frames_or_a_sentence(slots: list[bytes]) -> None:
    try:
        found = seen(*slots)
    except RunFailed:
        return
    assert len(found.times_ns) == len(found.octets) == len(slots)
    assert len(found.data.sequence) <= len(slots)
