"""Files in chunks: whole at the end or refused, gone on with after an interruption."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.testbed.wire.chunks import Chunk, Damaged, Taking, cut, listed
from orchestrator.testbed.wire.envelope import CHUNK, Unacceptable

SIZE = 2 * CHUNK + 12_345


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(bytes(range(256)) * (SIZE // 256) + bytes(SIZE % 256))
    return path


def test_a_file_arrives_whole(source: Path, tmp_path: Path):
    taking = Taking(listed("x", source), tmp_path / "copy")
    while not taking.complete:
        taking.take(*cut(source, taking.offset))
    taking.check()
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()


def test_an_interrupted_transfer_goes_on_where_it_was(source: Path, tmp_path: Path):
    Taking(listed("x", source), tmp_path / "copy").take(*cut(source, 0))
    again = Taking(listed("x", source), tmp_path / "copy")
    assert again.offset == CHUNK
    while not again.complete:
        again.take(*cut(source, again.offset))
    again.check()


def test_damage_is_noticed_and_the_chunk_can_come_again(source: Path, tmp_path: Path):
    taking = Taking(listed("x", source), tmp_path / "copy")
    chunk, octets = cut(source, 0)
    with pytest.raises(Damaged, match="damaged"):
        taking.take(chunk, octets[:-1] + b"!")
    with pytest.raises(Damaged, match="not asked for"):
        taking.take(*cut(source, CHUNK))
    taking.take(chunk, octets)
    assert taking.offset == CHUNK


def test_what_has_another_checksum_as_a_whole_is_not_kept(source: Path, tmp_path: Path):
    wanted = listed("x", source).model_copy(update={"sha256": "0" * 64})
    taking = Taking(wanted, tmp_path / "copy")
    while not taking.complete:
        taking.take(*cut(source, taking.offset))
    with pytest.raises(Damaged, match="checksum"):
        taking.check()
    assert not (tmp_path / "copy").exists()


def test_more_than_was_announced_is_refused(source: Path, tmp_path: Path):
    wanted = listed("x", source).model_copy(update={"octets": 10})
    with pytest.raises(Damaged, match="10 octets announced"):
        Taking(wanted, tmp_path / "copy").take(*cut(source, 0))


def test_an_empty_file_and_an_offset_beyond_the_end(tmp_path: Path):
    empty = tmp_path / "empty"
    empty.touch()
    taking = Taking(listed("x", empty), tmp_path / "copy")
    assert taking.complete
    taking.check()
    with pytest.raises(Unacceptable, match="beyond"):
        cut(empty, 1)
    with pytest.raises(Damaged):
        taking.take(Chunk(offset=0, octets=0, crc32=0), b"")
