"""Compilation of the engine: reported to the user, and done once per cache."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from orchestrator.engine import jit, kept
from orchestrator.progress import Progress, Report
from orchestrator.run import folderlock

TYPICAL = "first run of this version, some 13 seconds"


_FOUND = set[str]()
"""Cache folders in which this process found a compiled engine, so that it looks only once."""


def is_compiled() -> bool:
    """Return whether the cache has an engine compiled from these sources."""
    folder = str(kept.folder())
    if folder not in _FOUND and kept.has_engine():
        _FOUND.add(folder)
    return jit.DISABLED or folder in _FOUND


@contextlib.contextmanager
def announced(progress: Report) -> Iterator[None]:
    """Report "compiling" around a block that compiles the engine, unless it is in the cache."""
    if is_compiled():
        yield
        return
    progress(Progress("compiling", 0.0, TYPICAL))
    yield
    progress(Progress("compiling", 1.0))


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Serialise compiling blocks of processes that share a cache: the first one compiles, the
    others wait and then load the result."""
    folder = kept.folder()
    folder.mkdir(parents=True, exist_ok=True)
    with folderlock.in_turn(folder):
        yield
