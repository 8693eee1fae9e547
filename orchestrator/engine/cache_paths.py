"""Paths of the cache of compiled code, found without importing numba (a slow import)."""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path

from orchestrator import private_cache

ENGINE = Path(__file__).parent
"""The room of all that is compiled, and of nothing else."""
VARIABLE = "NUMBA_CACHE_DIR"
ENTRY = ".entry"
"""The end of the name of a file that has compiled code."""


def folder() -> Path:
    """The cache folder of this process and of those that it starts.

    The default is a folder for these sources. A folder that other users could write to is replaced
    with a private one (`private_cache`).
    """
    named = os.environ.get(VARIABLE)
    found = private_cache.usable(Path(named).absolute()) if named else _folder_of_sources()
    os.environ[VARIABLE] = str(found)
    return found


def is_engine_cached() -> bool:
    """True if an engine that the simulator can load lies there."""
    return any(folder().glob(f"entries/event_loop.simulate-*{ENTRY}"))


@functools.cache
def sources_digest() -> str:
    """Digest of the engine's sources."""
    digest = hashlib.sha256()
    for source in sorted(ENGINE.rglob("*.py")):
        digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def _folder_of_sources() -> Path:
    """A cache folder of its own for every state of the engine's sources.

    numba decides by the file of the compiled function alone whether its cached code is fresh;
    a change in a function that it calls would go unnoticed. Other packages have folders of their
    own in it (see `numba_backend.code_cache.package_cache`).
    """
    return private_cache.folder(f"numba/{sources_digest()}")
