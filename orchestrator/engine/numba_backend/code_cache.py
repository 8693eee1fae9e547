"""Cache of numba's dispatchers: sealed files, a folder for each state of a package's sources."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile

from orchestrator import private_cache
from orchestrator.engine import cache_paths, object_cache

config.CACHE_DIR = str(cache_paths.folder())  # type: ignore[attr-defined]

# Loader of numba's cached code that skips the refresh which only a compilation needs.
#
# Before numba 0.68 looks for kept code it brings its contexts up to date: it imports the
# implementations of lists, dictionaries, dates, random numbers, and asks each of them for what it
# knows. That takes longer than all that a plan loads. A compilation does it for itself where
# nothing is kept, so here it is left out.


class SealedCacheFile(IndexDataCacheFile):
    """Index and data files of numba's cache, sealed (`private_cache`): numba unpickles both, which
    runs whatever code they name. A file with another seal, or none, counts as missing."""

    def _load_index(self) -> dict[Any, str]:
        content = self._opened(self._index_name)
        if content is None:
            return {}
        version, stamp, overloads = pickle.loads(content)
        fresh = version == self._version and stamp == self._source_stamp
        return overloads if fresh else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        content = (self._version, self._source_stamp, overloads)
        self._save_data(self._index_name, content)

    def _load_data(self, name: str) -> Any:
        content = self._opened(name)
        if content is None:
            raise FileNotFoundError(self._data_path(name))  # numba compiles the function again
        return pickle.loads(content)

    def _save_data(self, name: str, data: Any) -> None:
        sealed = private_cache.sealed(self._sealed_name(name), self._dump(data))
        with self._open_for_write(self._data_path(name)) as file:
            file.write(sealed)

    def _opened(self, name: str) -> bytes | None:
        try:
            data = Path(self._data_path(name)).read_bytes()
        except FileNotFoundError:
            return None
        return private_cache.opened(self._sealed_name(name), data)

    def _sealed_name(self, name: str) -> str:
        """The name of a file with its folder, which numba names by the source of the function."""
        return f"numba {Path(self._cache_path).name}/{name}"


class CachedCode(FunctionCache):
    """The cache of one function: numba's, but for what it refreshes and that it is sealed."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = SealedCacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kept result for a signature, or None."""
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def with_code_cache(dispatcher: Any) -> Any:
    """The dispatcher of a function, which looks for its machine code in the cache first.

    Nothing is cached while code of this process is edited: numba tells cached code by the file of
    the function, not by what it calls.
    """
    if object_cache.is_edited():
        return dispatcher
    dispatcher._cache = CachedCode(dispatcher.py_func)
    return dispatcher


@functools.cache
def _sources(top: str) -> str:
    """Digest of the sources of a package that compiled code is made of."""
    module = sys.modules.get(top)
    files = {
        source: _text(source)
        for folder in getattr(module, "__path__", [])
        for source in Path(folder).rglob("*.py")
    } or {Path(str(getattr(module, "__file__", ""))): top}
    used = {source for source, text in files.items() if "orchestrator.engine.jit" in text} or set(
        files
    )
    waiting = list(used)
    while waiting:  # and those that they import: their constants are compiled in
        names = re.findall(r"^\s*(?:from|import)\s+([\w.]+)", files[waiting.pop()], re.MULTILINE)
        places = {tuple(name.split(".")) for name in names if name.startswith(top)}
        for source in files:
            parts = source.with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            if source not in used and any(parts[-len(place) :] == place for place in places):
                used.add(source)
                waiting.append(source)
    digest = hashlib.sha256()
    for source in sorted(used):
        digest.update(f"{source}\n{_text(source)}".encode())
    return digest.hexdigest()[:16]


def _text(source: Path) -> str:
    try:
        return source.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


@contextlib.contextmanager
def package_cache(function: Callable[..., Any]) -> Iterator[None]:
    """Have a function of another package than the engine cached by the state of that package.

    It is compiled with what it calls, which may stand in other files of its package.
    """
    folder = cache_paths.folder()
    top = function.__module__.partition(".")[0]
    if not function.__module__.startswith("orchestrator.engine."):
        folder /= f"{top}-{_sources(top)}"
    before = config.CACHE_DIR  # type: ignore[attr-defined]
    config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        config.CACHE_DIR = before  # type: ignore[attr-defined]
