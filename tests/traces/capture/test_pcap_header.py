"""pcap: both byte orders, both resolutions, damage named, all buffer borders crossed."""

from __future__ import annotations

import gzip
import tarfile
import zipfile
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import BadInput
from tests.traces.capture.captures import Record, pcap
from traces.capture import frames, open_capture
from traces.capture.capture_stream import CaptureStream

RECORDS: list[Record] = [
    (1_763_000_000, 123_456, bytes(range(60)), 60),
    (1_763_000_000, 999_999, b"", 1500),
    (2**32 - 1, 0, b"\xff" * 61, 61),
]


def read(path) -> list[tuple[int | None, bytes, int]]:
    return [(frame.time_ns, frame.octets, frame.length) for frame in frames(path)]


def expected(records: list[Record], unit: int) -> list[tuple[int | None, bytes, int]]:
    return [(s * 10**9 + f * unit, octets, length) for s, f, octets, length in records]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "unit"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1)])
def test_byte_orders_and_resolutions(tmp_path, order, magic, unit) -> None:
    path = tmp_path / "port.pcap"
    path.write_bytes(pcap(RECORDS, order, magic))
    assert read(path) == expected(RECORDS, unit)
    with open_capture(path) as capture:
        (batch,) = capture.batches()
        assert (capture.format, capture.damage) == ("pcap", None)
        assert capture.interfaces[0].name == "port"
        assert (batch.direction == 0).all()
        assert (batch.interface == 0).all()


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("leaf.spine.pcap.gz", "leaf.spine"),
        ("a", "a"),
        ("x\x1b.cap", "x\ufffd"),
        (".pcap", ".pcap"),
    ],
)
def test_the_interface_is_called_like_the_file(tmp_path, file, name) -> None:
    path = tmp_path / file
    path.write_bytes(pcap(RECORDS))
    with open_capture(path) as capture:
        assert capture.interfaces[0].name == name


@given(
    sizes=st.lists(st.integers(0, 90), max_size=40),
    buffer=st.integers(64, 300),
    rows=st.integers(1, 9),
)
def test_any_buffer_gives_the_same(tmp_path_factory, sizes, buffer, rows) -> None:
    path = tmp_path_factory.mktemp("p") / "a.pcap"
    records = [(i, i, bytes([i]) * size, size + i) for i, size in enumerate(sizes)]
    path.write_bytes(pcap(records))
    found, places = [], []
    with CaptureStream(path, buffer, rows) as capture:
        for batch in capture.batches():
            assert batch.number == len(found)
            for row in range(len(batch)):
                found.append((int(batch.time_ns[row]), batch.frame(row), int(batch.original[row])))
                places.append(batch.origin + int(batch.offset[row]))
        assert capture.damage is None
    assert found == expected(records, 1000)
    for place, (_, octets, _) in zip(places, found, strict=True):
        assert path.read_bytes()[place : place + len(octets)] == octets


def test_a_frame_larger_than_the_buffer(tmp_path) -> None:
    path = tmp_path / "a.pcap"
    records = [(1, 2, bytes(250_000), 250_000), (1, 3, b"x", 1)]
    path.write_bytes(pcap(records))
    with CaptureStream(path, 1000) as capture:
        assert [batch.frame(0) for batch in capture.batches()] == [bytes(250_000), b"x"]


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_compressed(tmp_path, kind) -> None:
    records = [(i, 0, bytes([i % 251]) * 100, 100) for i in range(3000)]
    data = pcap(records)
    pack = gzip.compress if kind == "gzip" else lambda x: pa.Codec("zstd").compress(x).to_pybytes()
    path = tmp_path / "a.bin"
    path.write_bytes(pack(data[:1000]) + pack(data[1000:]))  # two members
    assert read(path) == expected(records, 1000)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    with open_capture(path) as capture:
        count = sum(len(batch) for batch in capture.batches())
        assert capture.damage is not None
        assert "the compressed data end here" in capture.damage.what
        # all that could be decompressed was read
        assert count == (capture.damage.offset - 24) // 116
        assert 100 < count < 3000
    path.write_bytes(whole + b"junk")
    with open_capture(path) as capture:
        assert sum(len(batch) for batch in capture.batches()) == 3000
        assert capture.damage is not None


@pytest.mark.parametrize(
    ("cut", "count", "offset", "part"),
    [
        (0, 3, None, ""),
        (1, 2, 24 + 16 + 60 + 16, "the file ends inside a record (76 of 77 octets)"),
        (61 + 3, 2, 24 + 16 + 60 + 16, "inside a record (13 of at least 16 octets)"),
        (61 + 16 + 1, 1, 24 + 16 + 60, "inside a record (15 of at least 16 octets)"),
    ],
)
def test_truncation_is_named(tmp_path, cut, count, offset, part) -> None:
    path = tmp_path / "a.pcap"
    data = pcap(RECORDS)
    path.write_bytes(data[: len(data) - cut])
    with open_capture(path) as capture:
        assert sum(len(batch) for batch in capture.batches()) == count
        if offset is None:
            assert capture.damage is None
        else:
            assert capture.damage is not None
            assert capture.damage.offset == offset
            assert part in capture.damage.what


def test_a_kept_length_beyond_reason_is_damage(tmp_path) -> None:
    path = tmp_path / "a.pcap"
    data = bytearray(pcap(RECORDS))
    data[24 + 76 + 8 : 24 + 76 + 12] = (300_000).to_bytes(4, "little")
    path.write_bytes(data)
    with open_capture(path) as capture:
        assert sum(len(batch) for batch in capture.batches()) == 1
        assert str(capture.damage) == (
            "offset 100: a frame of 300000 kept octets does not fit into its record"
        )


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "offset 0: not a pcap or pcapng file"),
        (b"GET / HTTP/1.1\r\n\r\n", "offset 0: not a pcap or pcapng file"),
        (b"\xd4\xc3\xb2\xa1\x02\x00", "ends inside its header (6 of 24"),
        (b"\x34\xcd\xb2\xa1" + bytes(20), "a modified pcap file"),
        (b"\xd4\xc3\xb2\xa1\x07" + bytes(19), "offset 4: pcap of version 7"),
        (b"\x1f\x8b not gzip", "compressed data end here"),
        (gzip.compress(b"hello", mtime=0), "not a pcap or pcapng file"),
    ],
)
def test_strangers_are_refused(tmp_path, data, part) -> None:
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(BadInput) as error:
        open_capture(path)
    assert part in str(error.value)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("zip", "a zip archive, not a capture; unpack it: pcap or pcapng is expected, plain or"),
        ("tar", "a tar archive, not a capture; unpack it"),
        ("snoop", "a capture of format snoop, which is not read; `editcap -F pcapng` converts it"),
    ],
)
def test_archives_and_other_captures_are_named(tmp_path, kind, said, packed) -> None:
    """Also where the archive is compressed as a whole, as .tar.gz is."""
    inside = tmp_path / "a.pcap"
    inside.write_bytes(pcap([]))
    path = tmp_path / f"a.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(inside)
    elif kind == "tar":
        with tarfile.open(path, "w") as archive:
            archive.add(inside)
    else:
        path.write_bytes(b"snoop\0\0\0" + bytes(80))
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(BadInput) as error:
        open_capture(path)
    assert said in str(error.value)


def test_missing_files_and_folders_are_refused(tmp_path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(BadInput, match="cannot be read"):
            open_capture(path)


@given(st.integers(0, 2**64 - 1), st.integers(1, 18), st.booleans())
def test_clock_is_exact(ticks, digits, binary) -> None:
    from traces.capture.capture_interface import BINARY, MAX_NS, Interface, clock
    from traces.capture.scanner import TOO_LATE, nanoseconds

    tsresol = BINARY | (digits * 3 + 9) if binary else digits
    row = clock(Interface("a", 1, 0, tsresol, 0))[None, :]
    exact = Fraction(ticks * 10**9, 2 ** (digits * 3 + 9) if binary else 10**digits).__floor__()
    found = nanoseconds(ticks >> 32, ticks & 0xFFFFFFFF, row, 0)
    if found == TOO_LATE:
        assert exact > MAX_NS - 2 * 10**9
    else:
        assert found == exact
