"""File source of octets, decompressed where needed (gzip, zstd)."""

from __future__ import annotations

import os
from typing import Any, BinaryIO, Protocol

from orchestrator.errors import BadInput
from traces.capture.damage import Damaged

COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""First octets of a compressed file, and pyarrow's name of what undoes it."""
PIECE = 1 << 16
"""Octets decompressed at a time. What damage spoils of a piece is read again octet by octet."""


class Source(Protocol):
    """Protocol of the sources that captures are read from."""

    def readinto(self, target: memoryview) -> int:
        """Fill `target` from its beginning; 0 only at the end. Raises Damaged."""
        ...

    def close(self) -> None:
        """Give the file back."""
        ...


def open_source(path: str | os.PathLike[str]) -> Source:
    """Open a file. Raises BadInput when that is impossible."""
    name = os.fspath(path)
    try:
        file = open(path, "rb", buffering=0)  # noqa: SIM115 (the source owns it)
        try:
            begin = file.read(4)
            file.seek(0)
        except OSError:
            file.close()
            raise
    except OSError as error:
        raise BadInput(name, f"cannot be read ({error.strerror})") from error
    for magic, kind in COMPRESSIONS.items():
        if begin.startswith(magic):
            file.close()
            return Compressed(name, kind)
    return Plain(file)


class Plain:
    """A file as it is."""

    def __init__(self, file: Any) -> None:
        self._file: BinaryIO = file
        self._at = 0

    def readinto(self, target: memoryview) -> int:
        try:
            count: int = self._file.readinto(target)  # type: ignore[attr-defined]
        except OSError as error:
            raise Damaged(self._at, f"the file cannot be read on ({error.strerror})") from error
        self._at += count
        return count

    def close(self) -> None:
        self._file.close()


class Compressed:
    """A gzip or zstd file, of one or several members, in memory bounded by PIECE."""

    def __init__(self, name: str, kind: str) -> None:
        self._name, self._kind = name, kind
        self._at = 0
        self._piece = PIECE
        self._stream = self._open()

    def _open(self) -> Any:
        import pyarrow as pa

        return pa.CompressedInputStream(pa.OSFile(self._name), self._kind)

    def readinto(self, target: memoryview) -> int:
        try:
            count: int = self._stream.readinto(target[: self._piece])
        except (OSError, ValueError) as error:
            if self._piece == 1:
                raise Damaged(self._at, f"the compressed data end here ({error})") from error
            self._restart()
            return self.readinto(target)
        self._at += count
        return count

    def _restart(self) -> None:
        """Start over and go back to where the failed piece began; from there octet by octet."""
        self._stream.close()
        self._stream, self._piece = self._open(), 1
        left = self._at
        while left:
            left -= len(self._stream.read(min(left, PIECE)))

    def close(self) -> None:
        self._stream.close()
