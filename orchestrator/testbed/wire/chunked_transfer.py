"""Chunked file transfer: pulled by the receiver, checked by chunk and as a file, resumable.

The holder serves what it has put on its list, under the list's names; no message ever names a
path. The taker asks for what it does not have yet, so an interrupted transfer goes on where it
was, and a slow receiver delays only itself.
"""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path
from typing import Any

from pydantic import Field

from orchestrator.testbed.wire.envelope import CHUNK, Unacceptable, WireMessage


class Listed(WireMessage):
    """A file that can be fetched. `name` is a word of the list, no path."""

    name: str = Field(pattern=r"^[a-z0-9]{1,32}$")
    octets: int = Field(ge=0, lt=2**40)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Stored(Listed):
    """A file of a run folder that can be fetched; the place that it has there is its name."""

    name: str = Field(
        pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{0,99}/)?[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$"
    )


class Chunk(WireMessage):
    """Header of a chunk's octets."""

    offset: int = Field(ge=0, lt=2**40)
    octets: int = Field(ge=0, le=CHUNK)
    crc32: int = Field(ge=0, lt=2**32)


class Damaged(Exception):
    """Received data differ from the sent or the announced."""


def listed(name: str, path: Path) -> Listed:
    """A file as it goes on the list."""
    return Listed(name=name, **measured(path))


def measured(path: Path) -> dict[str, Any]:
    """The length and the checksum of a file, as they stand on a list."""
    digest = hashlib.sha256()
    size = 0
    with path.open("rb") as file:
        while block := file.read(CHUNK):
            digest.update(block)
            size += len(block)
    return {"octets": size, "sha256": digest.hexdigest()}


def cut(path: Path, offset: int) -> tuple[Chunk, bytes]:
    """The chunk at an offset. Raises Unacceptable beyond the end of the file."""
    with path.open("rb") as file:
        file.seek(0, 2)
        if offset > file.tell():
            raise Unacceptable("offset", f"the file has {file.tell()} octets, {offset} is beyond")
        file.seek(offset)
        octets = file.read(CHUNK)
    return Chunk(offset=offset, octets=len(octets), crc32=zlib.crc32(octets)), octets


class Taking:
    """A file that is being fetched to `path`; what lies there already is gone on with."""

    def __init__(self, wanted: Listed, path: Path) -> None:
        self.wanted, self.path = wanted, path
        self.offset = path.stat().st_size if path.exists() else 0
        if self.offset > wanted.octets:
            path.unlink()
            self.offset = 0

    @property
    def complete(self) -> bool:
        """Return whether the whole file has been received."""
        return self.offset == self.wanted.octets

    def take(self, chunk: Chunk, octets: bytes) -> None:
        """Add the chunk at `offset`. Raises Damaged; the same chunk can then be asked for again."""
        if chunk.offset != self.offset or chunk.octets != len(octets):
            raise Damaged(f"{self.wanted.name}: a chunk that was not asked for")
        if zlib.crc32(octets) != chunk.crc32:
            raise Damaged(f"{self.wanted.name}: octets {self.offset} and following came damaged")
        if not octets or self.offset + len(octets) > self.wanted.octets:
            raise Damaged(f"{self.wanted.name}: not the {self.wanted.octets} octets announced")
        with self.path.open("ab") as file:
            file.write(octets)
        self.offset += len(octets)

    def check(self) -> None:
        """Raises Damaged when the whole is not what was announced; then it is removed."""
        if not self.path.exists():
            self.path.touch()
        if measured(self.path)["sha256"] != self.wanted.sha256:
            self.path.unlink()
            self.offset = 0
            raise Damaged(f"{self.wanted.name}: the whole has another checksum than announced")
