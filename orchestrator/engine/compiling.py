"""Compiler of functions and kernels with numba; only a compilation imports this module."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def _out_of_reach(name: str) -> Iterator[None]:
    """Within this block only modules that are imported already can be imported."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]


# numba imports coverage, where it is installed, to tell it of compiled lines: a sixth of what
# importing numba takes, and of use only under coverage, which then is there already. SciPy is
# imported to ask for its version.
with _out_of_reach("coverage"), _out_of_reach("scipy"):
    import numba
# Nor is there linear algebra in what is compiled here, for which numba would import SciPy's when it
# compiles or loads the first function.
with _out_of_reach("scipy"), _out_of_reach("scipy.linalg"):
    import numba.np.arraymath
import numpy as np  # noqa: E402
from numba import types  # noqa: E402
from numba.core import config  # noqa: E402
from numba.core.errors import NumbaExperimentalFeatureWarning  # noqa: E402

from orchestrator.engine import entries, kept  # noqa: E402
from orchestrator.engine.entries import UNFIT, Entry, Kinds  # noqa: E402
from orchestrator.engine.later import real  # noqa: E402
from orchestrator.engine.loading import with_kept_code  # noqa: E402
from orchestrator.engine.options import OPTIONS  # noqa: E402
from orchestrator.engine.parts import KernelPipeline, Part, WholePipeline  # noqa: E402
from orchestrator.engine.records import FRAME  # noqa: E402

# A record that begins with the fields of another one may be handed over for it: all are int64.
warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)

config.CACHE_DIR = str(kept.folder())  # type: ignore[attr-defined]

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
def _kept_apart(function: Callable[..., Any]) -> Iterator[None]:
    """Have a function of another package than the engine cached by the state of that package.

    It is compiled with what it calls, which may stand in other files of its package.
    """
    folder = kept.folder()
    top = function.__module__.partition(".")[0]
    if not function.__module__.startswith("orchestrator.engine."):
        folder /= f"{top}-{_sources(top)}"
    before = config.CACHE_DIR  # type: ignore[attr-defined]
    config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        config.CACHE_DIR = before  # type: ignore[attr-defined]


def part(function: Callable[..., Any], inline: bool) -> Part:
    """numba's dispatcher of a function that is a part of who calls it.

    `inline` False is said as well: a function that is first called by an inlined one would inherit
    that, the whole node would end up in every place that calls any of it, and take minutes to
    compile.
    """
    options = {**OPTIONS, "forceinline": inline}
    decorate = numba.njit(**options, pipeline_class=WholePipeline)

    def whole(function: Callable[..., Any]) -> Any:
        with _kept_apart(function):
            return with_kept_code(decorate(function))

    return Part(function, options, whole)


def entry(function: Any, kinds: Kinds, file: Path) -> Entry | str:
    """Compile a function for arguments of these kinds, and keep what comes of it."""
    plain = {"int64": types.int64, "float64": types.float64}
    signature = tuple(plain[kind] if kind in plain else real(kind) for kind in kinds)
    by_address = {"pipeline_class": KernelPipeline, "no_cpython_wrapper": True}
    options = {**OPTIONS, **by_address, "forceinline": function.inline}
    dispatcher = numba.njit(**options)(function.py_func)
    dispatcher.compile(signature)
    return _kept(dispatcher, file, frozenset())


def kernel(
    function: Callable[..., int], state: np.dtype, params: np.dtype, entity: np.dtype, file: Any
) -> int:
    """Compile a kernel for its records; its address. `file` (None: numba's own cache) gets it."""
    records = [numba.from_dtype(np.dtype(d)) for d in (state, params, entity, FRAME)]
    signature = types.int64(*records, types.int64, records[3])
    by_address = {**OPTIONS, "pipeline_class": KernelPipeline, "no_cpython_wrapper": True}
    dispatcher = numba.njit(**by_address)(function)
    if file is None:
        with _kept_apart(function):
            with_kept_code(dispatcher)
    dispatcher.compile(signature)
    dispatcher.disable_compile()
    if file is not None and isinstance(found := _kept(dispatcher, file, entries.REPORTING), Entry):
        return found.address
    _alive.append(dispatcher)
    result = _only(dispatcher)
    address: int = result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)
    return address


def _kept(dispatcher: Any, file: Path, besides: frozenset[str]) -> Entry | str:
    """Put the only result of a dispatcher into a file, if it is fit to be an entry: all that it
    needs is in any process, or one of `besides`."""
    _alive.append(dispatcher)  # with the machine code
    made = _only(dispatcher)
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
        result not in entries.RESULTS
        or library.has_dynamic_globals
        or not entries.there(needs, besides)
    ):
        entries.keep(file)
        return UNFIT
    entries.keep(file, library._get_compiled_object(), symbol, result, needs)
    return Entry(library.get_pointer_to_function(symbol), result, loaded=False)


def _only(dispatcher: Any) -> Any:
    return dispatcher.overloads[dispatcher.signatures[0]]
