"""Decorators that compile kernels and node logic, and calls of kernels by address.

Everything compiled here is plain Python that numba accepts; with NUMBA_DISABLE_JIT=1 the same
functions run uncompiled. A kernel is called by address through one fixed signature, so that the
engine is compiled once and a new plugin never makes it compile again. numba is imported when
something has to be compiled (`engine.compiling`), and not for what is in the cache.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from orchestrator.engine import entries, kept
from orchestrator.engine.entries import Entry
from orchestrator.engine.function import COMPILING, Function
from orchestrator.engine.later import Later, real
from orchestrator.engine.options import LINE_OCTETS as LINE_OCTETS
from orchestrator.engine.options import OPTIONS as OPTIONS
from orchestrator.engine.records import FRAME

kept.folder()  # numba reads NUMBA_CACHE_DIR when it is imported

DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0")
"""True when everything runs as ordinary Python (NUMBA_DISABLE_JIT=1)."""


def compiled(function: Callable[..., Any]) -> Any:
    """Decorator for node logic and for helpers of kernels."""
    return function if DISABLED else Function(function, inline=False)


def inlined(function: Callable[..., Any]) -> Any:
    """The same for small functions on the path of every frame: put into their callers."""
    return function if DISABLED else Function(function, inline=True)


def plain(function: Any) -> Callable[..., Any]:
    """The function of Python that one of these was made of."""
    python: Callable[..., Any] = getattr(function, "py_func", function)
    return python


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
    records = tuple(str(np.dtype(one)) for one in (state, params, entity, FRAME))
    file = entries.file_of(function, records)
    found = None if file is None else entries.load(file)
    if isinstance(found, Entry):
        return found.address
    compile_kernel = real(f"{COMPILING}:kernel")
    address: int = compile_kernel(function, state, params, entity, None if found else file)
    return address


class _Fields(np.record):  # type: ignore[misc]  # numpy says final of a class that is none
    """A record whose fields are what its names mean, `base` and `size` too, which numpy has of any
    record."""

    def __getattribute__(self, name: str) -> Any:
        fields = np.void.__getattribute__(self, "dtype").fields
        return self[name] if name in fields else np.void.__getattribute__(self, name)


def record_address(array: np.ndarray) -> int:
    """Address of a state or parameter record for `call_kernel`: array has shape (1,)."""
    address: int = array.ctypes.data
    if DISABLED:
        plain = array.view(np.ndarray)  # a recarray would make records of its own again
        _records[address] = plain.view(np.dtype((_Fields, array.dtype)))[0]
        _places[id(_records[address])] = address
    return address


_call_by_address = Later("orchestrator.engine.lowered.memory:call_by_address")
_word_at = Later("orchestrator.engine.lowered.memory:word_at")
_put_word = Later("orchestrator.engine.lowered.memory:put_word")
_fetch = Later("orchestrator.engine.lowered.memory:fetch")
_beside = Later("orchestrator.engine.lowered.memory:beside")
_binary_digits = Later("orchestrator.engine.lowered.memory:binary_digits")
_stay_apart = Later("orchestrator.engine.lowered.memory:stay_apart")

if DISABLED:

    def binary_digits(value):  # type: ignore[no-untyped-def]
        """Number of binary digits of a number that is not negative; 0 has none."""
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
    stay_apart = _stay_apart

    @inlined
    def binary_digits(value):  # type: ignore[no-untyped-def]
        """Number of binary digits of a number that is not negative; 0 has none."""
        return _binary_digits(value)

    @inlined
    def fetch(record):  # type: ignore[no-untyped-def]
        """Have a record brought near that is read soon: its values are what they were."""
        _fetch(record)

    @inlined
    def flow_state(state, flow):  # type: ignore[no-untyped-def]
        """A receiver's state of a flow; `state` is that for all flows, which its kernels get."""
        return _beside(state, flow + 1)

    @inlined
    def word_at(address, index):  # type: ignore[no-untyped-def]
        """The int64 that lies `index` words behind an address: of a file that a parameter names."""
        return _word_at(address + 8 * index)

    @compiled
    def zero_words(address, first, count):  # type: ignore[no-untyped-def]
        """Set `count` int64 to 0, from the one on that lies `first` words behind an address."""
        for word in range(first, first + count):
            _put_word(address + 8 * word, 0)

    @inlined
    def call_kernel(kernel, state, params, entity, frame, now, message):  # type: ignore[no-untyped-def]
        """Call the kernel of a `kernel_address` on the records of two `record_address`es."""
        arguments = (kernel, state, params, entity, frame, now, message)
        return _call_by_address(*arguments)
