"""Pruning of the store: drops lines whose sources differ from the present ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from orchestrator.points.store import SOURCES, SUFFIX, read_line
from orchestrator.run import folderlock


@dataclass(frozen=True)
class Dropped:
    """Lines and octets that pruning removes from one file of the store."""

    path: Path
    lines: int
    octets: int


def drop_old(folder: Path, sources: str, dry_run: bool = False) -> list[Dropped]:
    """Write each file anew without the lines of other sources, of older tries and damaged ones.

    A process that adds a line meanwhile waits; a reader of the old file misses its points. Raises
    OSError.
    """
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with folderlock.in_turn(folder):
            dropped = _drop(path, sources, dry_run)
        if dropped.lines:
            found.append(dropped)
    return found


def _drop(path: Path, sources: str, dry_run: bool) -> Dropped:
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
    return Dropped(path, lines - len(kept), octets - left)


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
