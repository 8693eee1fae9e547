"""pcapng of any origin: sections, byte orders, clocks, other packet blocks, what is skipped."""

from __future__ import annotations

import struct

import pytest

from tests.traces.capture import captures as make
from traces.capture import NO_TIME, frames, open_capture

T = 1_763_000_000_123_456_789


def write(path, *blocks: bytes):
    path.write_bytes(b"".join(blocks))
    return path


@pytest.mark.parametrize("order", ["<", ">"])
def test_sections_interfaces_and_clocks(tmp_path, order) -> None:
    offset = struct.pack(order + "q", -3600)
    statistics = struct.pack(order + "III", 1, 0, 0)
    statistics += make.option(4, struct.pack(order + "Q", 9), order)
    statistics += make.option(5, struct.pack(order + "Q", 2), order)
    other = "<" if order == ">" else ">"
    path = write(
        tmp_path / "a",
        make.section(order, make.option(4, b"somebody's tool", order)),
        make.interface(order, [(2, b"eth0\0"), (9, b"\x09"), (14, offset)]),
        make.interface(order, [(2, b"a\x1b[31mb"), (13, b"\x04")]),
        make.block(0xBAD, b"custom", order),
        make.enhanced(0, T, b"abc", order, make.option(2, struct.pack(order + "I", 1), order)),
        make.enhanced(1, T // 1000, b"defgh", order, length=99),
        make.block(4, bytes(8), order),
        make.block(5, statistics, order),
        make.section(other),
        make.interface(other, [(9, bytes([0x80 | 30]))]),
        make.enhanced(0, 5 << 29, b"", other),
    )
    with open_capture(path) as capture:
        (batch,) = capture.batches()
        assert capture.damage is None
        one, two, three = capture.interfaces
    assert (one.name, two.name, three.name) == ("eth0", "a\ufffd[31mb", "interface 2")
    assert (two.received, two.dropped, one.received) == (9, 2, None)
    assert two.fcs_octets == 4
    assert batch.time_ns.tolist() == [
        T - 3600 * 10**9,
        T // 1000 * 1000,
        2_500_000_000,
    ]
    assert batch.interface.tolist() == [0, 1, 2]
    assert batch.direction.tolist() == [1, 0, 0]
    assert batch.original.tolist() == [3, 99 - 4, 0]
    assert [batch.frame(row) for row in range(3)] == [b"abc", b"defgh", b""]


def test_simple_and_obsolete_packets(tmp_path) -> None:
    obsolete = struct.pack("<HHIIII", 0, 7, T // 1000 >> 32, T // 1000 & 0xFFFFFFFF, 3, 60)
    path = write(
        tmp_path / "a",
        make.section(),
        make.interface(snaplen=5),
        make.simple(b"12345", 1500),
        make.simple(b"123", 3),
        make.block(2, obsolete + b"xyz\0" + make.option(2, struct.pack("<I", 2))),
    )
    with open_capture(path) as capture:
        (batch,) = capture.batches()
    assert batch.time_ns.tolist() == [NO_TIME, NO_TIME, T // 1000 * 1000]
    assert [batch.frame(row) for row in range(3)] == [b"12345", b"123", b"xyz"]
    assert batch.original.tolist() == [1500, 3, 60]
    assert batch.direction.tolist() == [0, 0, 2]
    assert [frame.time_ns for frame in frames(path)] == [None, None, T // 1000 * 1000]


GOOD = make.section() + make.interface() + make.enhanced(0, 1, b"abcd")


def word(value: int) -> bytes:
    return struct.pack("<I", value)


@pytest.mark.parametrize(
    ("bad", "part"),
    [
        (make.enhanced(1, 1, b"abcd"), "interface 1 has not been described"),
        (word(6) + word(34) + bytes(26), "a block of type 6 cannot be 34 octets long"),
        (word(6) + word(28) + bytes(16) + word(28), "type 6 cannot be 28 octets"),
        (word(9) + word(1 << 25), "the file ends inside a block (8 of at least 12 octets)"),
        (word(9) + word(1 << 25) + bytes(4), "cannot be 33554432 octets long"),
        (word(9) + word(16) + bytes(4) + word(20), "two lengths differ (the first is 16)"),
        (make.enhanced(0, 1, b"", options=make.option(2, b"1234")[:-4]), "an option runs over"),
        (
            make.block(6, struct.pack("<5I", 0, 0, 0, 5, 5) + b"abcd"),
            "a frame of 5 kept octets does not fit",
        ),
        (make.section(version=2), "a pcapng section of version 2"),
        (make.section()[:20], "the file ends inside a block (20 of 28 octets)"),
        (make.section() + make.simple(b"a", 1), "interface 0 has not been described"),
        (make.interface(options=[(9, b"\x13")]), "time resolution 0x13 is not read"),
        (make.interface(options=[(14, b"\x13")]), "option 14 has 1 octets, not 8"),
        (make.block(5, struct.pack("<III", 3, 0, 0)), "interface 3 has not been described"),
        (word(0x0A0D0D0A) + word(28) + bytes(20), "byte-order mark is 00000000"),
    ],
)
def test_damage_is_named_and_what_was_before_is_read(tmp_path, bad, part) -> None:
    path = write(tmp_path / "a", GOOD, bad, GOOD)
    if "ends inside" in part:
        path.write_bytes(GOOD + bad)
    with open_capture(path) as capture:
        (batch,) = capture.batches()
        assert batch.frame(0) == b"abcd"
        assert capture.damage is not None
        assert part in capture.damage.what
        place = len(GOOD) + (28 if bad.startswith(make.section()) else 0)
        # a bad option is named at its own place, everything else at its block's
        assert place <= capture.damage.offset <= place + 16


def test_interfaces_cannot_fill_the_memory(tmp_path) -> None:
    path = write(tmp_path / "a", make.section(), make.interface() * 66_000)
    with open_capture(path) as capture:
        assert list(capture.batches()) == []
        assert "more than 65536 interfaces" in str(capture.damage)
        assert len(capture.interfaces) == 65_536
