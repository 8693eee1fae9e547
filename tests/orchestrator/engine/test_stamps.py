"""Stamps: what their octets say is what they say, and what is none is not taken for one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.frames import decode, encode, telemetry_header, type_table
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.telemetry_header import (
    HIGHEST,
    LOWEST,
    WORD_MASK,
    get_stamps,
    put_stamps,
    room_octets,
    write_extreme_stamp,
    write_stamp,
)
from orchestrator.engine.records import ACK, DATA
from orchestrator.engine.workload import ENDLESS, HEADERS

int64 = st.integers(-(2**63), 2**63 - 1)
STAMP = st.tuples(int64, int64, st.integers(0, 2**62), int64, st.integers(0, 2**24))
WIDTH = telemetry_header.FIRST + telemetry_header.WORDS * telemetry_header.MOST_STAMPS


def row(room: int) -> np.ndarray:
    """Of a new frame; what was there before is left behind it."""
    made = np.full(WIDTH, 77, np.int64)
    made[: telemetry_header.FIRST] = room, 0
    return made


def said(one: np.ndarray) -> list[int]:
    """What a row says: the room, the count, the stamps that are there."""
    there = min(int(one[telemetry_header.STAMPED]), int(one[telemetry_header.ROOM]))
    return one[: telemetry_header.FIRST + telemetry_header.WORDS * there].tolist()  # type: ignore[no-any-return]


@settings(max_examples=60)
@given(
    kind=st.sampled_from([DATA, ACK]),
    room=st.integers(1, telemetry_header.MOST_STAMPS),
    hops=st.lists(STAMP, max_size=telemetry_header.MOST_STAMPS + 2),
)
def test_a_frame_with_stamps_comes_back_from_its_octets(
    kind: int, room: int, hops: list[tuple[int, int, int, int, int]]
) -> None:
    """`decode(encode(frame))`: descriptor and stamps, whatever the ports say of themselves."""
    first, back = row(room), row(3)
    for queued, sent, time, rate, port in hops:
        write_stamp(first, queued, sent, time, rate, port)
    frame, again = empty_descriptors(2)
    frame.kind, frame.flow, frame.source, frame.destination = kind, 5, 5, 9
    frame.length, frame.priority = 70 + room_octets(room), 3
    octets = np.full(frame.length + 20, 0xEE, np.uint8)
    begin = type_table()[kind].stamps
    assert encode(frame, octets) == begin
    assert put_stamps(begin, first, octets) == frame.length
    assert np.all(octets[frame.length :] == 0xEE)
    assert decode(octets, int(frame.length), again) == kind
    get_stamps(begin, octets, int(frame.length), back)
    assert said(back) == said(first)
    assert back[telemetry_header.STAMPED] == len(hops), "counted, though there is no room"


def test_the_words_have_their_units() -> None:
    one = row(2)
    write_stamp(one, 9_000, (1 << 32) + 5, 7_999_999, 10_000_000_999, 12)
    write_stamp(one, -1, -1, (1 << 32) * 1000 + 4_000, 1 << 62, 13)
    most = telemetry_header.WORD_MASK
    assert said(one)[2:7] == [9_000, 5, 7_999, 10_000_000_000, 12]
    assert said(one)[7:] == [0, most, 4, most * 1000, 13]


@settings(max_examples=60)
@given(
    which=st.sampled_from([HIGHEST, LOWEST]),
    hops=st.lists(STAMP, min_size=1, max_size=telemetry_header.MOST_STAMPS + 2),
)
def test_a_frame_keeps_the_stamp_that_says_most_or_least(
    which: int, hops: list[tuple[int, int, int, int, int]]
) -> None:
    """That of the first port of several alike, in its octets too; all ports are counted."""
    one, back, other = row(1), row(3), row(1)
    for hop in hops:
        write_extreme_stamp(one, which, *hop)
    best = (max if which == HIGHEST else min)(hops, key=lambda hop: min(max(hop[0], 0), WORD_MASK))
    write_stamp(other, *best)
    assert said(one)[2:] == said(other)[2:]
    assert one[telemetry_header.STAMPED] == len(hops)
    octets = np.full(70 + room_octets(1) + 20, 0xEE, np.uint8)
    assert put_stamps(70, one, octets) == 70 + room_octets(1)
    get_stamps(70, octets, 70 + room_octets(1), back)
    assert said(back) == said(one)


@pytest.mark.parametrize(
    ("octets", "length"),
    [
        ([0, 0], 200),
        ([2, 1], 70 + room_octets(2) - 1),
        ([telemetry_header.MOST_STAMPS + 1, 0], 1500),
        ([5, 5], 71),
    ],
)
def test_what_does_not_fit_is_no_room(octets: list[int], length: int) -> None:
    data = np.zeros(1500, np.uint8)
    data[70:72] = octets
    one = row(4)
    get_stamps(70, data, length, one)
    assert said(one) == [0, 0]


def test_a_message_without_end_is_within_an_int64_with_all_its_headers() -> None:
    """In segments of one octet, two of them handed over: `flow.demand` adds them up."""
    headers = HEADERS + room_octets(telemetry_header.MOST_STAMPS)
    assert ENDLESS * (1 + int(headers)) * 2 < 2**63
