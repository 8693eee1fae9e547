"""Messages of error queues: crafted control messages through the compiled reader."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.datapath import error_queue as at
from orchestrator.engine.datapath.mmsg_batch import CONTROL

WORDS = CONTROL


def message(level: int, kind: int, body: bytes) -> bytes:
    """A struct cmsghdr with its content and padding."""
    octets = struct.pack("QII", 16 + len(body), level, kind) + body
    return octets + bytes(-len(octets) % 8)


def times(*ns: int) -> bytes:
    stamps = b"".join(struct.pack("qq", *divmod(each, 10**9)) for each in ns)
    return message(1, 37, stamps)


def report(origin: int, code: int = 0, info: int = 0, data: int = 0) -> bytes:
    return message(263, 16, struct.pack("IBBBBII", 42, origin, 0, code, 0, info, data))


def told(octets: bytes, length: int | None = None) -> tuple[bool, list[int]]:
    control = np.full(WORDS, -1, np.int64)
    words = np.frombuffer(octets.ljust(len(octets) + -len(octets) % 8, b"\0"), np.int64)
    control[: len(words)] = words[:WORDS]
    found = np.full(4, 77, np.int64)
    known = at.parse_report(control, len(octets) if length is None else length, found)
    return bool(known), found.tolist()


def test_a_time_of_departure() -> None:
    octets = times(1_764_000_000_123_456_789, 0, 5) + report(
        at.TIMESTAMP_REPORT, info=at.SENT, data=9
    )
    assert told(octets) == (True, [at.TIMESTAMP_REPORT, 0, at.SENT, 2])


def test_a_launch_that_came_to_nothing_has_no_times() -> None:
    assert told(report(at.LAUNCH_REPORT, at.MISSED, 0xFFFFFFFF)) == (
        True,
        [at.LAUNCH_REPORT, at.MISSED, 0xFFFFFFFF, 0],
    )


@given(st.permutations([times(1, 2, 3), report(at.TIMESTAMP_REPORT), message(263, 8, bytes(20))]))
def test_the_order_of_messages_does_not_matter(parts: list[bytes]) -> None:
    octets = b"".join(parts)
    known, found = told(octets[: WORDS * 8], min(len(octets), WORDS * 8))
    place = 0
    for part in parts:
        if part == times(1, 2, 3) and place + len(part) <= WORDS * 8:
            assert found[at.TIMES] == place // 8 + 2
        if part == report(at.TIMESTAMP_REPORT):
            assert known == (place + len(part) <= WORDS * 8)
        place += len(part)


@given(st.binary(max_size=WORDS * 8), st.integers(0, 4 * WORDS * 8))
def test_no_octets_whatever_lead_beyond_the_end(octets: bytes, length: int) -> None:
    known, found = told(octets, length)
    if found[at.TIMES]:
        assert found[at.TIMES] + 6 <= WORDS
    if not known:
        assert found[: at.TIMES] == [0, 0, 0]


def test_a_message_that_is_cut_short_tells_nothing() -> None:
    octets = report(at.TIMESTAMP_REPORT)
    assert told(octets, len(octets) - 8) == (False, [0, 0, 0, 0])
    assert told(times(1, 2, 3)[:56] + bytes(8), 56)[1][at.TIMES] == 0
    assert told(struct.pack("QII", 2**63 - 8, 1, 37) + bytes(48)) == (False, [0, 0, 0, 0])
    assert told(struct.pack("QII", 0, 263, 16) + bytes(48)) == (False, [0, 0, 0, 0])


def test_a_message_that_is_too_short_for_what_it_is_tells_nothing() -> None:
    assert told(message(1, 37, bytes(40))) == (False, [0, 0, 0, 0])
    assert told(message(263, 16, bytes(8))) == (False, [0, 0, 0, 0])


@pytest.mark.parametrize(("whole", "least"), [(report(at.LAUNCH_REPORT), 32), (times(1, 2, 3), 64)])
def test_the_shortest_message_that_tells_what_it_is_of(whole: bytes, least: int) -> None:
    """By the length that it states, in all of its octets."""
    silent = told(b"")
    for stated in range(16, len(whole) + 1):
        octets = struct.pack("Q", stated) + whole[8:]
        assert (told(octets) != silent) == (stated >= least), stated
