"""Source of a capture's octets: a file, a pipe or standard input, decompressed where needed.

gzip, bzip2, LZ4 frames, zstd (with skippable frames, as pzstd writes) and xz are told apart by
their first octets. A source is read once from its beginning to its end and never seeks.
"""

from __future__ import annotations

import io
import os
import stat
import struct
import tempfile
from typing import Any, BinaryIO, Protocol

from orchestrator.errors import BadInput
from traces.capture.damage import Damaged

STANDARD_INPUT = "-"
"""Name of a capture that is read from standard input."""
COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
}
"""First octets of a compressed file, and the name of its format."""
LONGEST_MAGIC = max(len(magic) for magic in COMPRESSIONS)
SKIPPABLE, SKIPPABLE_KINDS = 0x184D2A50, 16
"""Magic numbers of skippable frames, of zstd and of LZ4 alike (RFC 8878, 3.1.2): from this one on;
a size in octets follows. What is behind them says which of the two it is."""
MOST_SKIPPED = 1 << 20
"""Octets of skippable frames at the beginning at most."""
PIECE = 1 << 16
"""Octets decompressed at a time. What damage spoils of a piece is read again octet by octet."""
MOST_XZ_MEMORY = 1 << 28
"""Octets that an xz stream may ask for; `xz -9` asks for 65 MiB."""
MOST_SPOOLED_MEMORY = 1 << 24
"""Octets of a compressed pipe that stay in memory; what is beyond goes to an unnamed file."""


class Source(Protocol):
    """Protocol of the sources that captures are read from."""

    def readinto(self, target: memoryview) -> int:
        """Fill `target` from its beginning; 0 only at the end. Raises Damaged."""
        ...

    def close(self) -> None:
        """Give the file back."""
        ...


def open_source(path: str | os.PathLike[str]) -> Source:
    """Open a file, a pipe, or standard input ("-"). Raises BadInput when that is impossible."""
    name = os.fspath(path)
    if name == STANDARD_INPUT and os.isatty(0):
        raise BadInput(name, "is standard input, a terminal: pipe a capture to it, or name a file")
    try:
        file: Any = (
            os.fdopen(os.dup(0), "rb", buffering=0)
            if name == STANDARD_INPUT
            else open(path, "rb", buffering=0)  # noqa: SIM115 (the source owns it)
        )
        try:
            begin = _read_exactly(file, LONGEST_MAGIC)
            kind, begin = _compression(file, begin)
            regular = name != STANDARD_INPUT and stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        except OSError:
            file.close()
            raise
    except OSError as error:
        raise BadInput(name, f"cannot be read ({error.strerror})") from error
    if not kind:
        return Plain(file, begin)
    if not regular:
        return Compressed(Spool(file, begin), kind)
    file.close()
    return Compressed(open(path, "rb"), kind)


def _read_exactly(file: Any, wanted: int) -> bytes:
    """The next octets of an unbuffered file, fewer only at its end."""
    found = b""
    while len(found) < wanted and (more := file.read(wanted - len(found))):
        found += more
    return found


def _compression(file: Any, begin: bytes) -> tuple[str, bytes]:
    """Compression of a file ("" for none) by its first octets, and all octets read so far."""
    at = 0
    while at <= MOST_SKIPPED and len(begin) >= at + 4:
        (magic,) = struct.unpack_from("<I", begin, at)
        if not SKIPPABLE <= magic < SKIPPABLE + SKIPPABLE_KINDS:
            break
        begin += _read_exactly(file, max(at + 8 - len(begin), 0))
        if len(begin) < at + 8:
            break
        at += 8 + struct.unpack_from("<I", begin, at + 4)[0]
        if at <= MOST_SKIPPED:
            begin += _read_exactly(file, max(at + LONGEST_MAGIC - len(begin), 0))
    first = begin[at : at + LONGEST_MAGIC]
    for magic_octets, kind in COMPRESSIONS.items():
        if first.startswith(magic_octets):
            return kind, begin
    return "", begin


class Plain:
    """A file as it is; `begin`: octets that have been read of it."""

    def __init__(self, file: Any, begin: bytes) -> None:
        self._file: BinaryIO = file
        self._begin = begin
        self._at = 0

    def readinto(self, target: memoryview) -> int:
        if self._begin:
            count = min(len(self._begin), len(target))
            target[:count] = self._begin[:count]
            self._begin = self._begin[count:]
        else:
            try:
                count = self._file.readinto(target)  # type: ignore[attr-defined]
            except OSError as error:
                raise Damaged(self._at, f"the file cannot be read on ({error.strerror})") from error
        self._at += count
        return count

    def close(self) -> None:
        self._file.close()


class Spool(io.RawIOBase):
    """Octets of a pipe, kept as they are read, so that reading can start over.

    `begin`: octets that have been read of it.
    """

    def __init__(self, file: Any, begin: bytes) -> None:
        super().__init__()
        self._file: BinaryIO = file
        self._kept: Any = tempfile.SpooledTemporaryFile(MOST_SPOOLED_MEMORY)  # noqa: SIM115
        self._kept.write(begin)
        self._kept.seek(0)
        self._is_at_end = False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place that has been read."""
        self._kept.seek(offset, whence)
        return int(self._kept.tell())

    def readinto(self, target: Any) -> int:
        kept: bytes = self._kept.read(len(target))
        if not kept and not self._is_at_end:
            kept = self._file.read(len(target))
            self._is_at_end = not kept
            self._kept.write(kept)
        target[: len(kept)] = kept
        return len(kept)

    def close(self) -> None:
        if not self.closed:
            self._kept.close()
            self._file.close()
        super().close()


class Compressed:
    """A compressed file of one or several members, in memory bounded by PIECE.

    `file` can be read and sought; `kind` is one of COMPRESSIONS.
    """

    def __init__(self, file: Any, kind: str) -> None:
        self._file, self._kind = file, kind
        self._at = 0
        self._piece = PIECE
        self._stream = self._open()

    def _open(self) -> Any:
        self._file.seek(0)
        if self._kind == "xz":
            return XzStream(self._file)
        import pyarrow as pa

        return pa.CompressedInputStream(pa.PythonFile(_Unowned(self._file), "r"), self._kind)

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
        left, room = self._at, memoryview(bytearray(PIECE))
        while left:
            left -= self._stream.readinto(room[:left])

    def close(self) -> None:
        self._stream.close()
        self._file.close()


class _Unowned:
    """A file that a decompressor reads and does not close."""

    closed = False

    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        found: bytes = self._file.read(size)
        return found

    def close(self) -> None:
        """The file stays open: it is read again after damage."""


class XzStream:
    """Decompressed octets of an xz file of one or several streams. Errors are ValueError."""

    def __init__(self, file: Any) -> None:
        import lzma

        self._lzma = lzma
        self._file = file
        self._decoder: Any = None
        self._rest = b""

    def readinto(self, target: memoryview) -> int:
        """Fill the beginning of `target`; 0 only at the end. Raises ValueError for damage."""
        while True:
            if self._decoder is None or self._decoder.eof:
                while not self._rest:
                    if not (more := self._file.read(PIECE)):
                        return 0
                    self._rest = more.lstrip(b"\0")  # padding between streams
                self._decoder = self._lzma.LZMADecompressor(
                    self._lzma.FORMAT_XZ, memlimit=MOST_XZ_MEMORY
                )
            elif self._decoder.needs_input and not self._rest:
                self._rest = self._file.read(PIECE)
                if not self._rest:
                    raise ValueError("the file ends inside an xz stream")
            try:
                found: bytes = self._decoder.decompress(self._rest, len(target))
            except self._lzma.LZMAError as error:
                raise ValueError(str(error)) from error
            self._rest = self._decoder.unused_data.lstrip(b"\0") if self._decoder.eof else b""
            if found:
                target[: len(found)] = found
                return len(found)

    def close(self) -> None:
        """Nothing is held but the file, which belongs to the caller."""
