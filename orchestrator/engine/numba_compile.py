"""Compiler of functions and kernels with numba; only a compilation imports this module."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pickle
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from orchestrator.engine.numba_import import numba  # isort: skip  # before numba's own modules

import numpy as np
from numba import types
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.errors import NumbaExperimentalFeatureWarning

from orchestrator import private_cache

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


from orchestrator.engine import cache_paths, kernel_guards, kernel_mistakes, object_cache  # noqa: E402
from orchestrator.engine.compile_options import OPTIONS  # noqa: E402
from orchestrator.engine.guarded_lowering import answers_of_kernels  # noqa: E402
from orchestrator.engine.lazy_imports import import_attribute  # noqa: E402
from orchestrator.engine.link_units import KernelPipeline, LinkedPipeline, LinkUnit  # noqa: E402
from orchestrator.engine.object_cache import UNFIT, Entry, Kinds  # noqa: E402
from orchestrator.engine.records import FRAME  # noqa: E402

# A record that begins with the fields of another one may be handed over for it: all are int64.
warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)

config.CACHE_DIR = str(cache_paths.folder())  # type: ignore[attr-defined]

_alive = list[Any]()


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
def _use_package_cache(function: Callable[..., Any]) -> Iterator[None]:
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


def inner_dispatcher(function: Callable[..., Any], inline: bool) -> LinkUnit:
    """numba's dispatcher of a function that is a part of who calls it.

    `inline` False is said as well: a function that is first called by an inlined one would inherit
    that, the whole node would end up in every place that calls any of it, and take minutes to
    compile.
    """
    options = {**OPTIONS, "forceinline": inline}
    decorate = numba.njit(**options, pipeline_class=LinkedPipeline)

    def dispatcher_of(function: Callable[..., Any]) -> Any:
        with _use_package_cache(function):
            return with_code_cache(decorate(function))

    return LinkUnit(function, options, dispatcher_of)


def compile_entry(function: Any, kinds: Kinds, file: Path) -> Entry | str:
    """Compile a function for arguments of these kinds, and keep what comes of it."""
    plain = {"int64": types.int64, "float64": types.float64}
    signature = tuple(plain[kind] if kind in plain else import_attribute(kind) for kind in kinds)
    by_address = {"pipeline_class": KernelPipeline, "no_cpython_wrapper": True}
    options = {**OPTIONS, **by_address, "forceinline": function.inline}
    dispatcher = numba.njit(**options)(function.py_func)
    dispatcher.compile(signature)
    return _store_compiled(dispatcher, file, frozenset())


def compile_kernel_entry(
    function: Callable[..., int],
    state: np.dtype,
    params: np.dtype,
    entity: np.dtype,
    file: Any,
    answers: Collection[int] | None,
) -> int:
    """Compile a kernel for its records; its address. `file` (None: numba's own cache) gets it."""
    answers_of_kernels[function] = answers
    records = [numba.from_dtype(np.dtype(d)) for d in (state, params, entity, FRAME)]
    signature = types.int64(*records, types.int64, records[3])
    by_address = {**OPTIONS, "pipeline_class": KernelPipeline, "no_cpython_wrapper": True}
    dispatcher = numba.njit(**by_address)(function)
    if file is None:
        with _use_package_cache(function):
            with_code_cache(dispatcher)
    try:
        dispatcher.compile(signature)
    except Exception as error:  # of numba, or of code of its own that kernels run into
        mistake = kernel_mistakes.explained(function, error, (state, params, entity, FRAME))
        raise mistake from error
    kernel_mistakes.check_types(function, _single_overload(dispatcher).type_annotation)
    for helper in kernel_guards.helpers(function):
        for made in helper.dispatcher.overloads.values():
            kernel_mistakes.check_types(helper.py_func, made.type_annotation, helper=True)
    dispatcher.disable_compile()
    if file is not None and isinstance(
        found := _store_compiled(dispatcher, file, object_cache.REPORTING), Entry
    ):
        return found.address
    _alive.append(dispatcher)
    result = _single_overload(dispatcher)
    address: int = result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)
    return address


def _store_compiled(dispatcher: Any, file: Path, besides: frozenset[str]) -> Entry | str:
    """Put the only result of a dispatcher into a file, if it is fit to be an entry: all that it
    needs is in any process, or one of `besides`."""
    _alive.append(dispatcher)  # with the machine code
    made = _single_overload(dispatcher)
    library, symbol = made.library, made.fndesc.llvm_cfunc_wrapper_name
    result = str(made.signature.return_type)
    module = library._final_module
    needs = [
        one.name
        for several in (module.functions, module.global_variables)
        for one in several
        if one.is_declaration and not one.name.startswith("llvm.")
    ]
    if (
        result not in object_cache.RESULTS
        or library.has_dynamic_globals
        or not object_cache.are_cached(needs, besides)
    ):
        object_cache.store_entry(file)
        return UNFIT
    object_cache.store_entry(file, library._get_compiled_object(), symbol, result, needs)
    return Entry(library.get_pointer_to_function(symbol), result, loaded=False)


def _single_overload(dispatcher: Any) -> Any:
    return dispatcher.overloads[dispatcher.signatures[0]]
