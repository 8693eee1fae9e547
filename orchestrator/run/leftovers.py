"""Incomplete run folders: of living runs, of dead ones, and of interrupted downloads."""

from __future__ import annotations

import glob
import shutil
from collections.abc import Iterator
from pathlib import Path

from orchestrator.run import folderlock

SUFFIX = ".partial"
"""Suffix of the hidden name of an incomplete run folder."""
FETCHING = ".fetching"
"""Suffix of the hidden name of an incomplete download of a run folder; it outlives its process, so
that the next download resumes it."""


def partial_folders(base: Path, suffix: str = SUFFIX) -> Iterator[Path]:
    """All incomplete run folders in `base`, of living and dead processes."""
    # glob.glob passes over folders that vanish while it looks; Path.glob raises (Python 3.11)
    for name in sorted(glob.glob(f"*/.*{suffix}", root_dir=base)):
        path = base / name
        if path.is_dir() and not path.is_symlink():
            yield path


def stale_folders(base: Path, suffix: str = SUFFIX) -> list[Path]:
    """The partial folders in `base` whose process is gone."""
    return [path for path in partial_folders(base, suffix) if folderlock.is_free(path)]


def remove_stale(base: Path, suffix: str = SUFFIX) -> list[Path]:
    """Remove the partial folders in `base` whose process is gone; returns those removed."""
    removed: list[Path] = []
    for path in partial_folders(base, suffix):
        if not folderlock.is_free(path):
            continue
        try:
            lock = folderlock.acquire(path)
        except OSError:
            continue  # another process removes it
        shutil.rmtree(path, ignore_errors=True)
        folderlock.release(lock)
        if not path.exists():
            removed.append(path)
    return removed
