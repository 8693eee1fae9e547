"""How kernels and node logic are compiled, cached and called.

Everything compiled here is plain Python that numba accepts; with NUMBA_DISABLE_JIT=1 the same
functions run uncompiled. A kernel is called by address through one fixed signature, so that the
engine is compiled once and a new plugin never makes it compile again.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from orchestrator.engine import kept

kept.folder()  # numba reads NUMBA_CACHE_DIR when it is imported


@contextlib.contextmanager
def _out_of_reach(name: str) -> Iterator[None]:
    """Within this block a module that nobody has imported yet cannot be imported."""
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
from llvmlite import ir  # type: ignore[import-untyped]  # noqa: E402
from numba import types  # noqa: E402
from numba.core import cgutils, config  # noqa: E402
from numba.core.errors import NumbaExperimentalFeatureWarning  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

from orchestrator.engine.loading import with_kept_code  # noqa: E402
from orchestrator.engine.parts import KernelPipeline, Part, WholePipeline  # noqa: E402
from orchestrator.engine.records import FRAME  # noqa: E402

# A record that begins with the fields of another one may be handed over for it: all are int64.
warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)

config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]  # type: ignore[attr-defined]

DISABLED = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]
"""True when everything runs as ordinary Python (NUMBA_DISABLE_JIT=1)."""

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
"""Off the GIL, without reference counts (and so without allocation)."""


LINE_OCTETS = 64
"""Of a line of the caches, on nearly all machines."""


@functools.cache
def _sources(top: str) -> str:
    """What tells the state of those sources of a package that compiled code is made of."""
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
    folder = Path(os.environ["NUMBA_CACHE_DIR"])
    top = function.__module__.partition(".")[0]
    if not function.__module__.startswith("orchestrator.engine."):
        folder /= f"{top}-{_sources(top)}"
    before = config.CACHE_DIR  # type: ignore[attr-defined]
    config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        config.CACHE_DIR = before  # type: ignore[attr-defined]


def _decorator(**options: Any) -> Callable[..., Any]:
    options |= OPTIONS
    decorate = numba.njit(**options, pipeline_class=WholePipeline)

    def whole(function: Callable[..., Any]) -> Any:
        with _kept_apart(function):
            return with_kept_code(decorate(function))

    def compile_later(function: Callable[..., Any]) -> Any:
        return function if DISABLED else Part(function, options, whole)

    return compile_later


compiled: Callable[..., Any] = _decorator(forceinline=False)
"""Decorator for node logic and for helpers of kernels.

Without the last option a function that is first called by an `inlined` one would inherit that: the
whole node would end up in every place that calls any of it, and take minutes to compile.
"""

inlined: Callable[..., Any] = _decorator(forceinline=True)
"""The same for small functions on the path of every frame: put into their callers."""

_callables: list[Callable[..., int]] = [lambda *_: 0]
_addresses: dict[tuple[Any, ...], int] = {}
_records: dict[int, Any] = {}
_places: dict[int, int] = {}


def kernel_address(
    function: Callable[..., int], state: np.dtype, params: np.dtype, entity: np.dtype
) -> int:
    """Compile a kernel for its records and return what `call_kernel` takes.

    The signature is int64(state, params, entity, frame, now, message): records by reference.
    Uncompiled, the "address" is an index into a table of Python functions. All instances of an
    algorithm share one copy of its machine code: a copy for each would not stay in the caches.
    """
    key = (function, state, params, entity)
    if key not in _addresses:
        _addresses[key] = _compile_kernel(function, state, params, entity)
    return _addresses[key]


def _compile_kernel(
    function: Callable[..., int], state: np.dtype, params: np.dtype, entity: np.dtype
) -> int:
    if DISABLED:
        _callables.append(function)
        return len(_callables) - 1
    records = [numba.from_dtype(np.dtype(d)) for d in (state, params, entity, FRAME)]
    signature = types.int64(*records, types.int64, records[3])
    with _kept_apart(function):
        by_address = {**OPTIONS, "pipeline_class": KernelPipeline, "no_cpython_wrapper": True}
        dispatcher = with_kept_code(numba.njit(**by_address)(function))
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    result: Any = dispatcher.overloads[dispatcher.signatures[0]]
    address: int = result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)
    _callables.append(dispatcher)  # keeps the machine code alive
    return address


class _Fields(np.record):  # type: ignore[misc]  # numpy says final of a class that is none
    """A record whose fields are what its names mean, `base` and `size` too, which numpy has of any
    record."""

    def __getattribute__(self, name: str) -> Any:
        fields = np.void.__getattribute__(self, "dtype").fields
        return self[name] if name in fields else np.void.__getattribute__(self, name)


def record_address(array: np.ndarray) -> int:
    """What `call_kernel` takes for a state or parameter record: array has shape (1,)."""
    address: int = array.ctypes.data
    if DISABLED:
        plain = array.view(np.ndarray)  # a recarray would make records of its own again
        _records[address] = plain.view(np.dtype((_Fields, array.dtype)))[0]
        _places[id(_records[address])] = address
    return address


@intrinsic
def _call_by_address(typing_context, kernel, state, params, entity, frame, now, message):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        pointer, word = ir.IntType(8).as_pointer(), ir.IntType(64)
        shape = ir.FunctionType(word, [pointer] * 4 + [word, pointer])
        function = builder.inttoptr(arguments[0], shape.as_pointer())
        return builder.call(
            function,
            [
                builder.inttoptr(arguments[1], pointer),
                builder.inttoptr(arguments[2], pointer),
                builder.bitcast(arguments[3], pointer),
                builder.bitcast(arguments[4], pointer),
                arguments[5],
                builder.bitcast(arguments[6], pointer),
            ],
        )

    return types.int64(kernel, state, params, entity, frame, now, message), generate


@intrinsic
def _word_at(typing_context, address):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))

    return types.int64(types.int64), generate


@intrinsic
def _put_word(typing_context, address, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        builder.store(arguments[1], place)
        return arguments[1]

    return types.int64(types.int64, types.int64), generate


@intrinsic
def _fetch(typing_context, record):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        start = builder.bitcast(arguments[0], ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [start.type, number, number, number])
        fetch = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0")
        how = [ir.Constant(number, word) for word in (0, 2, 1)]  # to be read, soon, as data
        for octet in range(0, signature.args[0].size, LINE_OCTETS):
            builder.call(fetch, [builder.gep(start, [ir.Constant(number, octet)]), *how])
        return context.get_dummy_value()

    return types.void(record), generate


@intrinsic
def _stay_apart(typing_context):  # type: ignore[no-untyped-def]
    """Have the function that calls this not put into its callers: a loop that leaves no register
    free would go without some there."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def _beside(typing_context, record, places):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        size = ir.Constant(ir.IntType(64), signature.args[0].size)
        start = builder.bitcast(arguments[0], ir.IntType(8).as_pointer())
        moved = builder.gep(start, [builder.mul(arguments[1], size)])
        return builder.bitcast(moved, arguments[0].type)

    return record(record, types.int64), generate


@intrinsic
def _binary_digits(typing_context, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(ir.IntType(64), 64), zeros)

    return types.int64(types.int64), generate


if DISABLED:

    def binary_digits(value):  # type: ignore[no-untyped-def]
        """How many binary digits a number has that is not negative; 0 has none."""
        return int(value).bit_length()

    def fetch(record):  # type: ignore[no-untyped-def]
        """Have a record brought near that is read soon: its values are what they were."""

    def stay_apart():  # type: ignore[no-untyped-def]
        """Have the function that calls this not put into its callers: of compiled ones alone."""

    def flow_state(state, flow):  # type: ignore[no-untyped-def]
        """A receiver's state of a flow; `state` is that for all flows, which its kernels get."""
        return _records[_places[id(state)] + state.dtype.itemsize * (flow + 1)]

    def word_at(address, index):  # type: ignore[no-untyped-def]
        """The int64 that lies `index` words behind an address: of a file that a parameter names."""
        return ctypes.c_int64.from_address(int(address + 8 * index)).value

    def zero_words(address, first, count):  # type: ignore[no-untyped-def]
        """Set `count` int64 to 0, from the one on that lies `first` words behind an address."""
        ctypes.memset(int(address + 8 * first), 0, int(8 * max(count, 0)))

    def call_kernel(kernel, state, params, entity, frame, now, message):  # type: ignore[no-untyped-def]
        """Call the kernel of a `kernel_address` on the records of two `record_address`es."""
        return _callables[kernel](_records[state], _records[params], entity, frame, now, message)

else:
    stay_apart = _stay_apart  # type: ignore[assignment]

    @inlined
    def binary_digits(value):  # type: ignore[no-untyped-def]
        """How many binary digits a number has that is not negative; 0 has none."""
        return _binary_digits(value)  # type: ignore[call-arg]

    @inlined
    def fetch(record):  # type: ignore[no-untyped-def]
        """Have a record brought near that is read soon: its values are what they were."""
        _fetch(record)  # type: ignore[call-arg]

    @inlined
    def flow_state(state, flow):  # type: ignore[no-untyped-def]
        """A receiver's state of a flow; `state` is that for all flows, which its kernels get."""
        return _beside(state, flow + 1)  # type: ignore[call-arg]

    @inlined
    def word_at(address, index):  # type: ignore[no-untyped-def]
        """The int64 that lies `index` words behind an address: of a file that a parameter names."""
        return _word_at(address + 8 * index)  # type: ignore[call-arg]

    @compiled
    def zero_words(address, first, count):  # type: ignore[no-untyped-def]
        """Set `count` int64 to 0, from the one on that lies `first` words behind an address."""
        for word in range(first, first + count):
            _put_word(address + 8 * word, 0)  # type: ignore[call-arg]

    @inlined
    def call_kernel(kernel, state, params, entity, frame, now, message):  # type: ignore[no-untyped-def]
        """Call the kernel of a `kernel_address` on the records of two `record_address`es."""
        arguments = (kernel, state, params, entity, frame, now, message)
        return _call_by_address(*arguments)  # type: ignore[call-arg]
