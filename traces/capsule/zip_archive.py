"""Reader of untrusted capsule archives (ZIP) with size limits. All errors are BadInput.

Before anything is unpacked: that there are not too many files, that their names lead nowhere, that
none is a link, that they do not say they are far larger than the capsule. What is unpacked is
bounded by the stated sizes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from orchestrator.errors import BadInput
from traces.capsule.capsule_layout import HASHES, MOST_FILES, MOST_OCTETS

END = struct.Struct("<4s4H2LH")
"""The end of the central directory: signature, disks, entries, its octets, its place, comment."""
END_OF_64 = b"PK\x06\x07"
PER_FILE = 1 << 10
"""Octets of the central directory for one file, more than its name may have."""
NARROW, SPARE = 200, 2**26
"""Largest ratio of unpacked to packed size, and the size that is accepted at any ratio."""
CHUNK = 1 << 20
LONGEST = 255
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 1
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, struct.error, ValueError)


class Archive:
    """An open capsule. Use `open_archive`."""

    def __init__(self, path: Path, file: zipfile.ZipFile, raw: BufferedReader) -> None:
        self.path, self._file, self._raw = path, file, raw
        self._before = self._digest()
        self.sizes = {one.filename: one.file_size for one in file.infolist() if not one.is_dir()}
        """Name -> octets."""

    def __contains__(self, name: str) -> bool:
        return name in self.sizes

    def read(self, name: str, most: int) -> bytes:
        """A file of at most so many octets."""
        if self.sizes.get(name, 0) > most:
            raise self.bad(f"{name} has {self.sizes[name]} octets; {most} at most are read")
        return b"".join(self._chunks(name))

    def text(self, name: str, most: int) -> str:
        """A file as text."""
        try:
            return self.read(name, most).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.bad(f"{name} is no UTF-8 text (octet {error.start})") from None

    def unpack(self, name: str, to: Path) -> Path:
        """Write one file to a path that the caller has chosen."""
        to.parent.mkdir(parents=True, exist_ok=True)
        with to.open("xb") as file:
            for chunk in self._chunks(name):
                file.write(chunk)
        return to

    def digest(self, name: str) -> str:
        """SHA-256 of a file."""
        found = hashlib.sha256()
        for chunk in self._chunks(name):
            found.update(chunk)
        return found.hexdigest()

    def sha256(self) -> str:
        """SHA-256 of the capsule that was read. Raises BadInput if the file was written to
        meanwhile."""
        if self._digest() != self._before:
            raise self.bad("was changed while it was verified; verify it again")
        return self._before

    def _digest(self) -> str:
        self._raw.seek(0)
        return hashlib.file_digest(self._raw, "sha256").hexdigest()

    def hashes(self) -> dict[str, str]:
        """Name -> SHA-256, as the capsule says."""
        said: dict[str, str] = {}
        for number, line in enumerate(self.text(HASHES, MOST_FILES * 400).splitlines(), 1):
            match = _LINE.fullmatch(line)
            if match is None or match[2] in said:
                raise self.bad(f"{HASHES}:{number} is no hash and name of a file, each once")
            said[match[2]] = match[1]
        return said

    def bad(self, text: str) -> BadInput:
        """The error that says what is wrong with it."""
        return BadInput(str(self.path), text)

    def _chunks(self, name: str) -> Iterator[bytes]:
        if name not in self.sizes:
            raise self.bad(f"holds no {name[:LONGEST]}")
        try:
            with self._file.open(name) as file:
                while chunk := file.read(CHUNK):
                    yield chunk
        except (*BROKEN, OSError, RuntimeError) as error:
            raise self.bad(f"{name} cannot be read, the capsule is damaged ({error})") from None


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """A capsule, looked over."""
    if not path.is_file():
        what = "is no file" if path.exists() else "there is no such file"
        raise BadInput(str(path), f"{what}; a capsule is expected, which `tailback pack` makes")
    with contextlib.ExitStack() as stack:
        try:
            raw = stack.enter_context(path.open("rb"))  # once: the path may lead elsewhere later
            _check_end_record(path, raw)
            file = stack.enter_context(zipfile.ZipFile(raw))
        except OSError as error:
            raise BadInput(str(path), f"cannot be read ({error.strerror})") from None
        except BROKEN as error:
            raise BadInput(str(path), f"is no capsule, or a damaged one ({error})") from None
        _check_entries(path, os.fstat(raw.fileno()).st_size, file.infolist())
        yield Archive(path, file, raw)


def _check_end_record(path: Path, raw: BufferedReader) -> None:
    """Check the ZIP end record: it states the number of files; more entries are rejected."""
    size = raw.seek(0, 2)
    raw.seek(max(size - END.size - (1 << 16) - 20, 0))
    tail = raw.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < END.size:
        raise zipfile.BadZipFile("it has no end that a ZIP file has")
    directory = END.unpack_from(tail, at)[5]
    if END_OF_64 in tail[max(at - 20, 0) : at] or directory > MOST_FILES * PER_FILE:
        text = f"at most {MOST_FILES} files and {MOST_OCTETS} octets are expected"
        raise BadInput(str(path), f"lists more files than a capsule may have; {text}")


def _check_entries(path: Path, octets: int, entries: list[zipfile.ZipInfo]) -> None:
    def bad(text: str) -> BadInput:
        return BadInput(str(path), text)

    if len(entries) > MOST_FILES:
        raise bad(f"holds {len(entries)} files; at most {MOST_FILES} are expected")
    seen: set[str] = set()
    for one in entries:
        said = repr(one.orig_filename[:80])
        if not _stays_inside(one.orig_filename):
            raise bad(f"the name {said} leads out of the capsule; nothing was unpacked")
        if one.filename.casefold() in seen:
            raise bad(f"holds {said} twice")
        seen.add(one.filename.casefold())
        kind = stat.S_IFMT(one.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise bad(f"{said} is a link or a device, and a capsule holds files")
        if one.flag_bits & ENCRYPTED or one.compress_type not in METHODS:
            raise bad(f"{said} is encrypted or packed in a way that capsules are not")
    total, room = sum(one.file_size for one in entries), octets * NARROW + SPARE
    if total > min(room, MOST_OCTETS):
        raise bad(
            f"says that {total} octets are in it, which {min(room, MOST_OCTETS)} at most are; "
            "nothing was unpacked"
        )


def _stays_inside(name: str) -> bool:
    parts = name.rstrip("/").split("/")
    return (
        0 < len(name) <= LONGEST
        and name.isprintable()
        and not any(part in ("", ".", "..") for part in parts)
        and not any(sign in name for sign in "\\:")
    )
