"""Incomplete run folders: of living runs, of dead ones, and of interrupted downloads."""

from __future__ import annotations

import contextlib
import glob
import shutil
from collections.abc import Iterator
from pathlib import Path

from orchestrator.run import folder_lock, reaper

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
    return [path for path in partial_folders(base, suffix) if folder_lock.is_free(path)]


def remove_stale(base: Path, suffix: str = SUFFIX) -> list[Path]:
    """Remove the partial folders in `base` whose process is gone; returns those removed."""
    removed: list[Path] = []
    for path in partial_folders(base, suffix):
        if not folder_lock.is_free(path):
            continue
        try:
            lock = folder_lock.acquire(path)
        except OSError:
            continue  # another process removes it
        shutil.rmtree(path, ignore_errors=True)
        folder_lock.release(lock)
        if not path.exists():
            removed.append(path)
    return removed


# Processes of this machine, of all users, by their command lines.
#
# Linux shows them to every user. Their content is chosen by the process's owner, so it is not
# trusted.

PROC = Path("/proc")
REAPER = Path(reaper.__file__).name


def process_commands() -> dict[int, list[str]]:
    """Process number -> words of its command; processes that ended meanwhile are left out."""
    found = {}
    for folder in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            octets = (folder / "cmdline").read_bytes()
            found[int(folder.name)] = octets.decode("utf-8", "replace").split("\0")[:-1]
    return found


def active_run_folders(commands: dict[int, list[str]]) -> dict[int, Path]:
    """Process number -> final folder of its run, of runs in progress.

    The reaper of such a folder has both on its command line.
    """
    found = {}
    for words in commands.values():
        names = [Path(word).name for word in words]
        if REAPER not in names or len(words) < (place := names.index(REAPER)) + 3:
            continue
        owner, partial = words[place + 1], Path(words[place + 2])
        ending = f".{owner}{SUFFIX}"
        if owner.isdecimal() and partial.name.startswith(".") and partial.name.endswith(ending):
            found[int(owner)] = partial.with_name(partial.name[1 : -len(ending)])
    return found
