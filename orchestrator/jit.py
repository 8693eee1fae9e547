"""How kernels and node logic are compiled, cached and called.

Everything compiled here is plain Python that numba accepts; with NUMBA_DISABLE_JIT=1 the same
functions run uncompiled. A kernel is called by address through one fixed signature, so that the
engine is compiled once and a new plugin never makes it compile again.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

CORE = Path(__file__).parent


def _cache_folder() -> Path:
    """A cache folder of its own for every state of the core's sources.

    numba decides by the file of the compiled function alone whether its cached code is fresh;
    a change in a function that it calls would go unnoticed.
    """
    digest = hashlib.sha256()
    for source in sorted(CORE.rglob("*.py")):
        digest.update(source.name.encode() + source.read_bytes())
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "tailback" / "numba" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError as error:
        print(f"tailback: {folder}: {error.strerror}; compiled code is not kept", file=sys.stderr)
    once = Path(tempfile.mkdtemp(prefix="tailback-numba-"))
    atexit.register(shutil.rmtree, once, ignore_errors=True)
    return once


if "NUMBA_CACHE_DIR" not in os.environ:
    os.environ["NUMBA_CACHE_DIR"] = str(_cache_folder())

import numba  # noqa: E402  (reads NUMBA_CACHE_DIR when imported)
import numpy as np  # noqa: E402
from llvmlite import ir  # type: ignore[import-untyped]  # noqa: E402
from numba import types  # noqa: E402
from numba.core import config  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

from orchestrator.node.records import FRAME  # noqa: E402

config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]  # type: ignore[attr-defined]

DISABLED = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]
"""True when everything runs as ordinary Python (NUMBA_DISABLE_JIT=1)."""

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "_nrt": False}
"""Off the GIL, cached, without reference counts (and so without allocation)."""

compiled: Callable[..., Any] = numba.njit(**OPTIONS, forceinline=False)
"""Decorator for node logic and for helpers of kernels.

Without the last option a function that is first called by an `inlined` one would inherit that: the
whole node would end up in every place that calls any of it, and take minutes to compile.
"""

inlined: Callable[..., Any] = numba.njit(**OPTIONS, forceinline=True)
"""The same for small functions on the path of every frame: put into their callers."""

_callables: list[Callable[..., int]] = [lambda *_: 0]
_addresses: dict[tuple[Any, ...], int] = {}
_records: dict[int, Any] = {}


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
    dispatcher = numba.njit(signature, **OPTIONS)(function)
    result: Any = dispatcher.overloads[dispatcher.signatures[0]]
    address: int = result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)
    _callables.append(dispatcher)  # keeps the machine code alive
    return address


def record_address(array: np.ndarray) -> int:
    """What `call_kernel` takes for a state or parameter record: array has shape (1,)."""
    address: int = array.ctypes.data
    if DISABLED:
        _records[address] = array.view(np.recarray)[0]
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
def _select(typing_context, condition, one, other):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        chosen = builder.select(*arguments)
        chosen.set_metadata("unpredictable", builder.module.add_metadata([]))
        return chosen

    return types.int64(types.boolean, types.int64, types.int64), generate


if DISABLED:

    def select(condition, one, other):  # type: ignore[no-untyped-def]
        """`one` if the condition holds, else `other`."""
        return one if condition else other

    def call_kernel(kernel, state, params, entity, frame, now, message):  # type: ignore[no-untyped-def]
        """Call the kernel of a `kernel_address` on the records of two `record_address`es."""
        return _callables[kernel](_records[state], _records[params], entity, frame, now, message)

else:

    @inlined
    def select(condition, one, other):  # type: ignore[no-untyped-def]
        """`one` if the condition holds, else `other`: without a branch, which LLVM would make."""
        return _select(condition, one, other)  # type: ignore[call-arg]

    @inlined
    def call_kernel(kernel, state, params, entity, frame, now, message):  # type: ignore[no-untyped-def]
        """Call the kernel of a `kernel_address` on the records of two `record_address`es."""
        arguments = (kernel, state, params, entity, frame, now, message)
        return _call_by_address(*arguments)  # type: ignore[call-arg]
