"""Files in chunks: whole at the end or refused, gone on with after an interruption."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from orchestrator.testbed.wire.chunked_transfer import Chunk, Damaged, Listed, Taking, cut, listed
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


def test_more_than_is_wanted_lies_there_already(source: Path, tmp_path: Path):
    """It is another file: it goes, and the transfer begins anew."""
    copy = tmp_path / "copy"
    copy.write_bytes(bytes(11))
    wanted = listed("x", source)
    assert Taking(wanted.model_copy(update={"octets": 11}), copy).complete
    taking = Taking(wanted.model_copy(update={"octets": 10}), copy)
    assert (taking.offset, taking.complete, copy.exists()) == (0, False, False)


def test_the_end_of_a_file_has_an_empty_chunk_and_nothing_is_behind_it(source: Path):
    chunk, octets = cut(source, SIZE)
    assert (chunk.offset, chunk.octets, octets) == (SIZE, 0, b"")
    with pytest.raises(Unacceptable, match=f"the file has {SIZE} octets, {SIZE + 1} is beyond"):
        cut(source, SIZE + 1)


def test_a_chunk_of_another_length_than_its_own_was_not_asked_for(source: Path, tmp_path: Path):
    taking = Taking(listed("x", source), tmp_path / "copy")
    chunk, octets = cut(source, 0)
    with pytest.raises(Damaged, match="not asked for"):
        taking.take(chunk, octets[:-1])


def test_damage_is_told_with_its_place(source: Path, tmp_path: Path):
    taking = Taking(listed("x", source), tmp_path / "copy")
    taking.take(*cut(source, 0))
    chunk, octets = cut(source, CHUNK)
    with pytest.raises(Damaged, match=f"x: octets {CHUNK} and following came damaged"):
        taking.take(chunk, b"?" + octets[1:])


def test_the_last_octet_that_was_announced_is_taken_and_none_after_it(tmp_path: Path):
    short, copy = tmp_path / "short", tmp_path / "copy"
    short.write_bytes(b"octets")
    taking = Taking(listed("x", short), copy)
    taking.take(*cut(short, 0))
    assert taking.complete
    short.write_bytes(b"octets!")
    with pytest.raises(Damaged, match="not the 6 octets announced"):
        taking.take(*cut(short, 6))
    assert copy.read_bytes() == b"octets"


def test_what_was_not_right_as_a_whole_is_fetched_again(tmp_path: Path):
    short, copy = tmp_path / "short", tmp_path / "copy"
    short.write_bytes(b"octets")
    taking = Taking(listed("x", short), copy)
    copy.write_bytes(b"OCTETS")
    taking.offset = 6
    with pytest.raises(Damaged, match="checksum"):
        taking.check()
    assert not taking.complete
    taking.take(*cut(short, 0))
    taking.check()


@pytest.mark.parametrize(
    ("field", "least", "most"),
    [("offset", 0, 2**40 - 1), ("octets", 0, CHUNK), ("crc32", 0, 2**32 - 1)],
)
def test_numbers_that_come_with_a_chunk_are_bound(field: str, least: int, most: int):
    table = {"offset": 7, "octets": 7, "crc32": 7}
    for value in (least, most):
        assert getattr(Chunk.model_validate(table | {field: value}), field) == value
    for value in (least - 1, most + 1):
        with pytest.raises(ValidationError, match=field):
            Chunk.model_validate(table | {field: value})


def test_lengths_on_the_list_are_bound():
    table = {"name": "x", "sha256": "0" * 64}
    for value in (0, 2**40 - 1):
        assert Listed.model_validate(table | {"octets": value}).octets == value
    for value in (-1, 2**40):
        with pytest.raises(ValidationError, match="octets"):
            Listed.model_validate(table | {"octets": value})
