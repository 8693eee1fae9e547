"""Compilation of the engine: reported to the user, and done once per cache."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from orchestrator.engine import jit, kept
from orchestrator.progress import Progress, Report
from orchestrator.run import folderlock

TYPICAL = "first run of this version, some 13 seconds"


_FOUND = set[str]()
"""Cache folders in which a compiled engine was found by this process, which may run it often."""


def is_compiled() -> bool:
    """Whether an engine compiled from these sources lies in the cache."""
    folder = str(kept.folder())
    if folder not in _FOUND and kept.has_engine():
        _FOUND.add(folder)
    return jit.DISABLED or folder in _FOUND


@contextlib.contextmanager
def announced(progress: Report) -> Iterator[None]:
    """Reports "compiling" around a block that compiles what is not in the cache."""
    if is_compiled():
        yield
        return
    progress(Progress("compiling", 0.0, TYPICAL))
    yield
    progress(Progress("compiling", 1.0))


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Around a block that compiles: processes that start together and share a cache would all
    compile the same; the others wait here and then load what the first one has made."""
    folder = kept.folder()
    folder.mkdir(parents=True, exist_ok=True)
    with folderlock.in_turn(folder):
        yield
