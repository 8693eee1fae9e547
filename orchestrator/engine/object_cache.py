"""Object cache: machine code called by address, stored on disk and loaded without numba.

An entry is one compiled function with all that it calls, and takes what C can hand over: int64,
float64, records and worlds by their addresses. What it was compiled from names its file: the
engine's sources, and of a function that stands elsewhere the code of all that it calls with the
constants in it. So an entry that is found is right, and importing numba, which takes longer than
most runs, is left to those who find none (`engine.numba_backend`).

A function of Python that may raise an exception is none of these, nor is what needs anything else
of numba's own: a file without code says so.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator import private_cache
from orchestrator.engine import cache_paths, kernel_guards
from orchestrator.engine.lazy_imports import LazyIntrinsic
from orchestrator.errors import OUT_OF_ROOM

Kinds = tuple[str, ...]
"""Types of arguments: "int64", "float64", the place of the numba type of what lies at an address
(`module:name`), or a record's dtype as NumPy writes it."""
RESULTS: dict[str, Any] = {"int64": ctypes.c_int64, "float64": ctypes.c_double, "none": None}
"""Types that an entry may return."""
UNFIT = "unfit"
"""Instead of an entry: numba has to call this function."""
REPORTING = frozenset(
    f"numba_{name}" for name in ("gil_ensure", "gil_release", "unpickle", "do_raise")
)
"""Functions of numba by which a kernel says on stderr that an index was out of range: a caller
by address cannot get an exception."""
_WORD = 1 << 63
_LOCK = threading.Lock()
_alive = list[Any]()
_edited = [False]


@dataclass(frozen=True)
class Entry:
    """Machine code of a function: its address, its result (of `RESULTS`), cached or not."""

    address: int
    result: str
    loaded: bool


def set_edited(edited: bool) -> None:
    """State whether code of functions was exchanged in this process, so that it is not what their
    files say."""
    _edited[0] = edited


def is_edited() -> bool:
    """True if machine code may only be cached by the code that it was made of, not by files."""
    return _edited[0]


def kinds_of(arguments: Sequence[Any]) -> Kinds | None:
    """The types of values of Python; None: something else than C hands over is among them."""
    found = []
    for one in arguments:
        kind = type(one)
        if kind is np.int64 or (kind is int and -_WORD <= one < _WORD):
            found.append("int64")
        elif kind is float or kind is np.float64:
            found.append("float64")
        elif (place := getattr(kind, "compiled_as", None)) is not None:
            found.append(place)
        else:
            return None
    return tuple(found)


def callable_at(entry: Entry, kinds: Kinds) -> Callable[..., Any]:
    """A function of Python that calls an entry, off the GIL."""
    plain: dict[str, Any] = {"int64": ctypes.c_int64, "float64": ctypes.c_double}
    shape = ctypes.CFUNCTYPE(RESULTS[entry.result], *[plain.get(k, ctypes.c_void_p) for k in kinds])
    function = shape(entry.address)
    if all(kind in plain for kind in kinds):
        return function
    by_address = [kind not in plain for kind in kinds]

    def call(*arguments: Any) -> Any:
        given = zip(arguments, by_address, strict=True)
        return function(*[one.address if there else one for one, there in given])

    return call


def file_of(function: Callable[..., Any], kinds: Kinds) -> Path | None:
    """Cache file of a function's entry for such arguments; None: it cannot be cached.

    That is so for functions that are made anew with other constants, as closures are.
    """
    found = code_fingerprint(function)
    if found is None:
        return None
    name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
    state = json.dumps(
        [_machine(), cache_paths.sources_digest(), function.__module__, name, found, kinds]
    )
    digest = hashlib.sha256(state.encode()).hexdigest()[:24]
    return cache_paths.folder() / "entries" / f"{name}-{digest}{cache_paths.ENTRY}"


def load(file: Path) -> Entry | str | None:
    """Content of a cache file: an entry; UNFIT; None: nothing that this user made can be used."""
    try:
        content = private_cache.opened(f"entry {file.name}", file.read_bytes())
    except OSError:
        return None
    if content is None:  # not all of it, or not of this user
        return None
    head, _, code = content.partition(b"\n")
    said = json.loads(head)
    if said["symbol"] is None:
        return UNFIT
    if not are_cached(said["needs"], REPORTING):
        return None
    if not REPORTING.isdisjoint(said["needs"]):
        _report_errors()
    return Entry(_load_object(code, said["symbol"]), said["result"], loaded=True)


def are_cached(symbols: Sequence[str], besides: frozenset[str]) -> bool:
    """True if any process of Python has all of these symbols, without numba, `besides` some."""
    own = besides | {kernel_guards.CELL_SYMBOL}
    return all(name in own or hasattr(ctypes.pythonapi, name) for name in symbols)


def store_entry(
    file: Path, code: bytes = b"", symbol: str | None = None, result: str = "", needs: Any = ()
) -> None:
    """Write an entry, or without code the fact that there is none; atomic, as others may do it too.

    Where nothing may be written it is compiled every time. Raises OSError when the disk is full.
    """
    head = {"symbol": symbol, "result": result, "needs": list(needs)}
    content = private_cache.sealed(f"entry {file.name}", json.dumps(head).encode() + b"\n" + code)
    new = file.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new.write_bytes(content)
        new.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        if error.errno in OUT_OF_ROOM:
            raise


@functools.cache
def _report_errors() -> None:
    """Have the functions of `REPORTING` known: they stand in a library that needs no numba."""
    import llvmlite.binding as llvm  # type: ignore[import-untyped]

    numba = importlib.util.find_spec("numba")
    assert numba is not None
    finder = importlib.machinery.PathFinder()
    found = finder.find_spec("numba._helperlib", numba.submodule_search_locations)
    assert found is not None
    assert found.loader is not None
    known = sys.modules.get(found.name)
    helpers = importlib.util.module_from_spec(found) if known is None else known
    if known is None:
        found.loader.exec_module(helpers)
        sys.modules.pop(found.name, None)  # numba is to import its own
        _alive.append(helpers)
    for name in REPORTING:
        llvm.add_symbol(name, helpers.c_helpers[name.removeprefix("numba_")])


@functools.cache
def _machine() -> list[str]:
    """Properties of machine and libraries on which machine code depends besides its sources."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    asked = {name: os.environ.get(f"NUMBA_{name}", "") for name in ("CPU_NAME", "CPU_FEATURES")}
    return [
        sys.version,
        np.__version__,
        importlib.metadata.version("numba"),
        importlib.metadata.version("llvmlite"),
        llvm.get_process_triple(),
        asked["CPU_NAME"] or llvm.get_host_cpu_name(),
        asked["CPU_FEATURES"] or llvm.get_host_cpu_features().flatten(),
        os.environ.get("NUMBA_OPT", ""),
    ]


def _load_object(code: bytes, symbol: str) -> int:
    """Load an object file; the address of one of its functions.

    Each is loaded for itself: two may have functions of one name.
    """
    import llvmlite.binding as llvm

    llvm.add_symbol(kernel_guards.CELL_SYMBOL, kernel_guards.CELL.ctypes.data)
    with _LOCK:
        machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address: int = engine.get_function_address(symbol)
        _alive.append(engine)
    return address


def code_fingerprint(function: Callable[..., Any]) -> list[Any] | None:
    """Sources of a function's code besides the engine's; None: they cannot be determined."""
    try:
        return list(_reachable_code(function, set()))
    except _UnknownError:
        return None


class _UnknownError(Exception):
    """A value that a function uses is none that can be written down."""


def _reachable_code(function: Any, seen: set[int]) -> Iterator[Any]:
    """The code of a function and of those that it calls, and their constants."""
    plain = getattr(function, "py_func", function)
    if id(plain) in seen:
        return
    seen.add(id(plain))
    module = sys.modules.get(plain.__module__)
    owner: Any = getattr(module, plain.__qualname__, None)
    if plain.__closure__ or vars(module or object).get("__file__") != plain.__code__.co_filename:
        raise _UnknownError
    if getattr(owner, "py_func", owner) is not plain or plain.__globals__ is not vars(module):
        raise _UnknownError
    yield [plain.__module__, plain.__qualname__]
    if plain.__module__.startswith("orchestrator.engine."):
        return
    yield repr(plain.__defaults__)
    yield from _code(plain.__code__)
    for name in sorted(_names(plain.__code__)):
        if name in plain.__globals__:
            yield name
            yield from _value(plain.__globals__[name], plain.__code__, seen)


def _value(value: Any, code: types.CodeType, seen: set[int]) -> Iterator[Any]:
    """Source of the value of a name that code uses."""
    if isinstance(value, types.FunctionType) or hasattr(value, "py_func"):
        yield from _reachable_code(value, seen)
    elif isinstance(value, int | float | str | bytes | None | np.dtype | np.generic):
        yield repr(value)
    elif isinstance(value, tuple) and type(value) is tuple:
        for one in value:
            yield from _value(one, code, seen)
    elif isinstance(value, LazyIntrinsic):
        yield value.place
    elif isinstance(value, types.ModuleType):
        yield value.__name__
        if value.__name__.partition(".")[0] in ("numpy", "math"):
            return
        for name in sorted(_names(code) & set(vars(value))):
            yield from _value(getattr(value, name), code, seen)
    elif isinstance(value, types.BuiltinFunctionType | np.ufunc):
        yield [str(getattr(value, "__module__", "")), value.__name__]
    else:
        raise _UnknownError


def _names(code: types.CodeType) -> set[str]:
    within = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return set(code.co_names).union(*(_names(one) for one in within))


def _code(code: types.CodeType) -> Iterator[Any]:
    yield [code.co_code.hex(), code.co_names, code.co_varnames, code.co_argcount]
    yield code.co_linetable.hex()  # counted from the first line: faults name theirs
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _code(one)
        else:
            yield repr(one)
