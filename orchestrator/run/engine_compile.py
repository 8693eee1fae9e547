"""Compilation of the engine: reported to the user, and done once per cache."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from orchestrator.engine import cache_paths, jit
from orchestrator.progress import Progress, Report
from orchestrator.run import folder_lock

TYPICAL = "first run of this version, some 13 seconds"


_COMPILED_CACHES = set[str]()
"""Cache folders in which this process found a compiled engine, so that it looks only once."""


def is_compiled() -> bool:
    """Return whether the cache has an engine compiled from these sources."""
    folder = str(cache_paths.folder())
    if folder not in _COMPILED_CACHES and cache_paths.is_engine_cached():
        _COMPILED_CACHES.add(folder)
    return jit.DISABLED or folder in _COMPILED_CACHES


@contextlib.contextmanager
def report_compiling(progress: Report) -> Iterator[None]:
    """Report "compiling" around a block that compiles the engine, unless it is in the cache."""
    if is_compiled():
        yield
        return
    progress(Progress("compiling", 0.0, TYPICAL))
    yield
    progress(Progress("compiling", 1.0))


@contextlib.contextmanager
def compile_lock() -> Iterator[None]:
    """Serialise compiling blocks of processes that share a cache: the first one compiles, the
    others wait and then load the result."""
    folder = cache_paths.folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with folder_lock.held_lock(folder):
        yield
