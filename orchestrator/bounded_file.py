"""Reader of whole input files with a bound: a device or a pipe without end is refused.

The size that the system reports is no bound: it is 0 for /dev/zero, for a pipe and below /proc, and
a file can grow while it is read.
"""

from __future__ import annotations

import codecs
import itertools
import os
from collections.abc import Iterator
from typing import IO

CHUNK = 1 << 20
"""Octets that are read at once."""


def read_octets(path: str | os.PathLike[str], most: int) -> bytes:
    """The octets of a file, at most `most` of them. Raises OSError; ValueError for a longer one."""
    with open(path, "rb") as file:
        return b"".join(_chunks(file, most))


def read_text(path: str | os.PathLike[str], most: int, encoding: str = "utf-8") -> str:
    """The text of a file of at most `most` octets.

    Raises OSError; ValueError (UnicodeDecodeError among these) for a longer file and for one that
    is no text, after the first `CHUNK` that shows it.
    """
    decoder, parts, count = codecs.getincrementaldecoder(encoding)(), list[str](), 0
    with open(path, "rb") as file:
        for chunk in itertools.chain(_chunks(file, most), [b""]):
            waiting = len(decoder.getstate()[0])
            try:
                parts.append(decoder.decode(chunk, final=not chunk))
            except UnicodeDecodeError as error:
                error.start += count - waiting
                raise
            if (place := chunk.find(b"\0")) >= 0:
                raise ValueError(f"it is no text: octet {count + place} is NUL")
            count += len(chunk)
    return "".join(parts)


def _chunks(file: IO[bytes], most: int) -> Iterator[bytes]:
    left = most
    while chunk := file.read(min(CHUNK, left + 1)):
        if len(chunk) > left:
            raise ValueError(f"it has more than {most} octets")
        left -= len(chunk)
        yield chunk
