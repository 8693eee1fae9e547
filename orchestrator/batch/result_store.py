"""Store of point results on disk, so that no point is run twice.

One file per plan in the store's folder, a line per point, which only grows:

    DIGEST CRC32 {"metrics": ..., "sources": ...}

A line is written at once, and is valid only if it is complete and its checksum matches; a point
whose line was cut by a killed process or a full disk is run again. The last line of a point counts.
`sources` is the digest of the sources that made the line: `tailback clean` drops lines of other
sources (`dropping`).
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from orchestrator.batch.experiment import Point
from orchestrator.errors import BadInput, RunFailed
from orchestrator.run import disk_space, folder_lock

FOLDER = ".points"
"""Below the folder of the runs."""
SUFFIX = ".jsonl"
SOURCES = "sources"
"""Key of a line's row that is the store's own."""
DIGEST = 32
"""Letters of a point's, at the beginning of its line."""
LATEST = 40
"""Points that tell what others of their plan may cost."""
Row = dict[str, Any]


class Store:
    """Results of points, in a folder that is made with the first of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._new: set[bytes] | None = None
        """After `forget`: the points stored since; else None."""
        self._starts: dict[str, dict[bytes, int]] = {}
        """Plan -> digest -> offset of the last line of a point."""

    def get(self, point: Point) -> Row | None:
        """Stored row of a point; None if it is missing or damaged."""
        key = bytes.fromhex(point.digest)
        if self._new is not None and key not in self._new:
            return None
        if (start := self._index(point.subject.name).get(key)) is None:
            return None
        try:
            with self._file(point.subject.name).open("rb") as file:
                file.seek(start)
                line = file.readline()
        except FileNotFoundError:
            return None
        if line.partition(b" ")[0] != point.digest.encode():  # the file was made anew meanwhile
            return None
        row = read_line(line)
        return None if row is None else {k: v for k, v in row.items() if k != SOURCES}

    def put(self, point: Point, row: Row) -> None:
        """Store the row of a point. Raises BadInput, RunFailed where it cannot be written."""
        said = row | {SOURCES: point.subject.sources}
        text = json.dumps(said, allow_nan=False, separators=(",", ":")).encode()
        line = b"%s %08x %s\n" % (point.digest.encode(), zlib.crc32(text), text)
        path = self._file(point.subject.name)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with folder_lock.held_lock(self.folder), path.open("ab+") as file:
                if (end := file.seek(0, os.SEEK_END)) > 0:
                    file.seek(end - 1)
                    if file.read(1) != b"\n":
                        file.write(b"\n")
                        end += 1
                file.write(line)
                if (starts := self._starts.get(point.subject.name)) is not None:
                    starts[bytes.fromhex(point.digest)] = end
                if self._new is not None:
                    self._new.add(bytes.fromhex(point.digest))
        except OSError as error:
            if disk_space.is_full(error):
                raise RunFailed(disk_space.disk_full_message(self.folder)) from error
            raise BadInput(str(path), f"cannot be written: {error.strerror}") from error

    def costs(self, name: str) -> list[float]:
        """Durations (s) of the latest stored points of a plan."""
        starts = sorted(self._index(name).values())[-LATEST:]
        if not starts:
            return []
        with self._file(name).open("rb") as file:
            rows = [read_line(line) for line in _lines(file, starts)]
        return [row["cost_s"] for row in rows if row is not None and "cost_s" in row]

    def forget(self) -> None:
        """Ignore the rows stored so far: every point counts as not run."""
        self._new = set()

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}{SUFFIX}"

    def _index(self, name: str) -> dict[bytes, int]:
        """Digest -> offset of its last line: only this is held in memory."""
        if name not in self._starts:
            starts: dict[bytes, int] = {}
            with contextlib.suppress(FileNotFoundError), self._file(name).open("rb") as file:
                start = 0
                for line in file:
                    with contextlib.suppress(ValueError):  # an incomplete line of a killed process
                        starts[bytes.fromhex(line[:DIGEST].decode("ascii"))] = start
                    start += len(line)
            self._starts[name] = starts
        return self._starts[name]


def _lines(file: BinaryIO, starts: list[int]) -> Iterator[bytes]:
    for start in starts:
        file.seek(start)
        yield file.readline()


def read_line(line: bytes) -> Row | None:
    """Row of a line; None if the line is damaged."""
    _, _, rest = line.partition(b" ")
    check, _, text = rest.partition(b" ")
    text = text.removesuffix(b"\n")
    if check != b"%08x" % zlib.crc32(text):
        return None
    row: Row = json.loads(text)
    return row


@dataclass(frozen=True)
class PrunedFile:
    """Lines and octets that pruning removes from one file of the store."""

    path: Path
    lines: int
    octets: int


def prune_store(folder: Path, sources: str, dry_run: bool = False) -> list[PrunedFile]:
    """Write each file anew without the lines of other sources, of older tries and damaged ones.

    A process that adds a line meanwhile waits; a reader of the old file misses its points. Raises
    OSError.
    """
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with folder_lock.held_lock(folder):
            dropped = _drop(path, sources, dry_run)
        if dropped.lines:
            found.append(dropped)
    return found


def _drop(path: Path, sources: str, dry_run: bool) -> PrunedFile:
    last: dict[bytes, int] = {}
    lines = 0
    with path.open("rb") as file:
        for at, line in enumerate(file):
            lines += 1
            if is_of(line, sources):
                last[line.partition(b" ")[0]] = at
        kept = set(last.values())
        octets = path.stat().st_size
        left = sum(map(len, _chosen(file, kept)))
        if not dry_run and len(kept) < lines:
            _replace(path, file, kept)
    return PrunedFile(path, lines - len(kept), octets - left)


def is_of(line: bytes, sources: str) -> bool:
    """Return whether a line is complete and was made by these sources."""
    row = read_line(line)
    return row is not None and row.get(SOURCES) == sources


def _chosen(file: BinaryIO, kept: set[int]) -> Iterator[bytes]:
    file.seek(0)
    return (line for at, line in enumerate(file) if at in kept)


def _replace(path: Path, file: BinaryIO, kept: set[int]) -> None:
    """Replace a file by the complete new one; a file without lines is removed."""
    if not kept:
        path.unlink()
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as new:
            new.writelines(_chosen(file, kept))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
