"""Compressed captures and captures without a name: each is read as the plain file is."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from orchestrator.errors import BadInput
from tests.traces.capture import captures as make
from traces.capture import Damage, open_capture

SKIPPABLE = [struct.pack("<II", 0x184D2A50 + kind, 5) + b"abcde" for kind in range(16)]


def arrow(kind: str) -> Callable[[bytes], bytes]:
    """Compression by pyarrow, a whole frame."""

    def compress(data: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, kind) as stream:
            stream.write(data)
        return sink.getvalue().to_pybytes()

    return compress


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "lz4": arrow("lz4"),
    "zstd": arrow("zstd"),
}


def capture(frames: int = 300) -> bytes:
    """A capture that hardly compresses, so that it takes several reads."""
    rng = random.Random(3)
    return make.pcap((1, n, rng.randbytes(1000), 1500) for n in range(frames))


def read(path: str | os.PathLike[str]) -> tuple[list[bytes], Damage | None]:
    """All frames of a capture, and its damage."""
    with open_capture(path) as stream:
        return [
            batch.frame(row) for batch in stream.batches() for row in range(len(batch))
        ], stream.damage


def through_pipe(octets: bytes) -> tuple[list[bytes], Damage | None]:
    """What is read of a pipe with these octets, written in small pieces."""
    reader, writer = os.pipe()

    def write() -> None:
        with os.fdopen(writer, "wb", buffering=0) as file:
            for at in range(0, len(octets), 5000):
                file.write(octets[at : at + 5000])

    thread = threading.Thread(target=write)
    thread.start()
    try:
        return read(f"/dev/fd/{reader}")
    finally:
        os.close(reader)
        thread.join()


@pytest.mark.parametrize("kind", COMPRESS)
def test_members_cuts_and_pipes(tmp_path: Path, kind: str) -> None:
    data, path = capture(), tmp_path / "a"
    path.write_bytes(data)
    expected = read(path)
    assert len(expected[0]) == 300
    whole = COMPRESS[kind](data)
    members = COMPRESS[kind](data[:100_001]) + COMPRESS[kind](data[100_001:])
    for octets in (whole, members):
        path.write_bytes(octets)
        assert read(path) == expected
        assert through_pipe(octets) == expected
    cut = members[: len(members) - 40_000]
    path.write_bytes(cut)
    found, damage = read(path)
    assert 90 <= len(found) < 300
    assert found == expected[0][: len(found)]
    assert damage is not None
    assert through_pipe(cut) == (found, damage)


@pytest.mark.parametrize("kind", ["lz4", "zstd"])
def test_skippable_frames(tmp_path: Path, kind: str) -> None:
    data, path = capture(3), tmp_path / "a"
    compressed = COMPRESS[kind](data)
    for skipped in (*SKIPPABLE, b"".join(SKIPPABLE)):
        octets = skipped + compressed + skipped
        path.write_bytes(octets)
        assert len(read(path)[0]) == 3
        assert read(path) == through_pipe(octets)


@pytest.mark.parametrize("octets", [b"", b"\x50", SKIPPABLE[0], SKIPPABLE[0][:9], b"Rar!\x1a\x07"])
def test_what_is_no_capture_is_refused(tmp_path: Path, octets: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(octets)
    with pytest.raises(BadInput):
        read(path)
    with pytest.raises(BadInput):
        through_pipe(octets)


def test_an_xz_stream_that_asks_for_much_memory(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": 1 << 30}]
    path = tmp_path / "a.xz"
    octets = lzma.compress(b"\0" * 99, filters=filters)
    path.write_bytes(octets)
    with pytest.raises(BadInput, match=r"[Mm]emory"):
        read(path)


@pytest.mark.parametrize(
    ("name", "kind"), [("-", ""), ("-", "xz"), ("/dev/stdin", ""), ("/dev/stdin", "zstd")]
)
def test_analyze_reads_standard_input(tmp_path: Path, name: str, kind: str) -> None:
    octets = capture(20)
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator.cli", "analyze", name, "--json"],
        input=COMPRESS[kind](octets) if kind else octets,
        capture_output=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert b'"frames": 20,' in done.stdout
    assert not list(tmp_path.iterdir())
