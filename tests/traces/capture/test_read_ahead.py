"""Batches read ahead are those of the stream, stay whole while the next one is made, and the thread
that reads ends with who looks at them."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.patience import PATIENCE_S
from tests.traces.capture.captures import enhanced, interface, pcap, section
from traces.capture.capture_stream import CaptureStream
from traces.capture.frame_batch import Batch
from traces.capture.read_ahead import BUFFERS, read_ahead

frames = st.lists(st.integers(0, 400), max_size=60).map(
    lambda sizes: [bytes([n % 251]) * size for n, size in enumerate(sizes)]
)


def readers() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name.startswith("reads ")]


def in_a_pcap(path: Path, octets: list[bytes]) -> Path:
    path.write_bytes(pcap([(n, 7 * n, one, len(one)) for n, one in enumerate(octets)]))
    return path


def told(batch: Batch) -> list[tuple[bytes, int, int, int]]:
    """What a batch says of each frame."""
    return [
        (batch.frame(row), int(batch.time_ns[row]), int(batch.interface[row]), batch.described)
        for row in range(len(batch))
    ]


@given(frames, st.integers(64, 300), st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_frames_are_those_of_the_stream(
    tmp_path_factory: pytest.TempPathFactory, octets: list[bytes], buffer: int, rows: int
) -> None:
    # records larger than the buffer among them: it is filled several times before a batch
    path = in_a_pcap(tmp_path_factory.mktemp("ahead") / "some.pcap", octets)
    with CaptureStream(path, buffer, rows) as plain:
        expected = [told(batch) for batch in plain.batches()]
    with CaptureStream(path, buffer, rows, BUFFERS) as stream:
        found = []
        for batch in read_ahead(stream):
            time.sleep(0.0002)  # the next one is made meanwhile
            found.append(told(batch))
    assert found == expected
    assert [frame for batch in found for frame, *_ in batch] == octets


@pytest.mark.parametrize("most", [1 << 20, 30])
def test_a_batch_stays_while_the_next_one_is_made(tmp_path: Path, most: int) -> None:
    # from a source that gives little at a time, a long record is read for twice
    octets = [b"a" * 100, *(bytes([n]) * 200 for n in range(20))]
    with CaptureStream(in_a_pcap(tmp_path / "some.pcap", octets), 256, 2, BUFFERS) as stream:
        whole = stream._source.readinto
        stream._source.readinto = lambda target: whole(target[:most])  # type: ignore[method-assign]
        seen = 0
        for batch in read_ahead(stream):
            before = told(batch)
            seen += len(batch)
            until = time.monotonic() + PATIENCE_S
            while stream.frames == seen < len(octets) and time.monotonic() < until:
                time.sleep(0.0005)
            assert stream.frames > seen or seen == len(octets)  # the next one is there
            assert told(batch) == before
        assert seen == len(octets)


def test_batches_say_how_many_interfaces_there_were(tmp_path: Path) -> None:
    path = tmp_path / "some.pcapng"
    first = b"".join(enhanced(0, n, b"a" * 60) for n in range(4))
    second = b"".join(enhanced(n % 2, n, b"b" * 60) for n in range(4))
    path.write_bytes(section() + interface() + first + interface() + second)
    with CaptureStream(path, 128, 4, BUFFERS) as stream:
        batches = read_ahead(stream)
        begin = next(batches)
        time.sleep(0.05)
        assert begin.described == 1
        rest = [(one.described, len(one)) for one in batches]
    assert rest[-1][0] == 2
    assert len(begin) + sum(size for _, size in rest) == 8


def test_what_reading_raises_is_raised_where_batches_are_taken(tmp_path: Path) -> None:
    path = in_a_pcap(tmp_path / "some.pcap", [b"x" * 60] * 9)
    with CaptureStream(path, 256, 2, BUFFERS) as stream:
        batches = read_ahead(stream)
        next(batches)

        def fails(target: memoryview) -> int:
            raise MemoryError("no more")

        stream._source.readinto = fails  # type: ignore[method-assign]
        with pytest.raises(MemoryError, match="no more"):
            list(batches)
    assert not readers()


def test_damage_ends_it_as_it_ends_the_stream(tmp_path: Path) -> None:
    path = in_a_pcap(tmp_path / "some.pcap", [b"x" * 60] * 9)
    path.write_bytes(path.read_bytes()[:-10])
    with CaptureStream(path, 256, 2, BUFFERS) as stream:
        assert sum(map(len, read_ahead(stream))) == 8
        assert stream.damage is not None
        assert "ends inside a record" in stream.damage.what


def test_the_thread_ends_with_who_looks(tmp_path: Path) -> None:
    path = in_a_pcap(tmp_path / "some.pcap", [b"x" * 60] * 50)
    with CaptureStream(path, 256, 2, BUFFERS) as stream:
        batches = read_ahead(stream)
        assert np.all(next(batches).captured == 60)
        assert readers()
        batches.close()
        assert not readers()
