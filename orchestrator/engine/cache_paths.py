"""Paths of the cache of compiled code, found without importing numba (a slow import)."""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

ENGINE = Path(__file__).parent
"""The room of all that is compiled, and of nothing else."""
VARIABLE = "NUMBA_CACHE_DIR"
ENTRY = ".entry"
"""The end of the name of a file that has compiled code."""


def folder() -> Path:
    """The cache folder of this process and of those that it starts.

    The default is a folder for these sources.
    """
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = str(_folder_of_sources())
    return Path(os.environ[VARIABLE])


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
    own in it (see `compiling._kept_apart`).
    """
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "tailback" / "numba" / sources_digest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError as error:
        print(f"tailback: {folder}: {error.strerror}; compiled code is not kept", file=sys.stderr)
    once = Path(tempfile.mkdtemp(prefix="tailback-numba-"))
    atexit.register(shutil.rmtree, once, ignore_errors=True)
    return once
