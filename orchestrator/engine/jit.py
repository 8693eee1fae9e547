"""Decorators that compile kernels and node logic, and calls of kernels by address.

Everything compiled here is plain Python that numba accepts; with NUMBA_DISABLE_JIT=1 the same
functions run uncompiled. A kernel is called by address through one fixed signature, so that the
engine is compiled once and a new plugin never makes it compile again. numba is imported when
something has to be compiled (`engine.numba_backend`), and not for what is in the cache.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from orchestrator.engine import (
    cache_paths,
    kernel_guards,
    kernel_mistakes,
    kernel_rules,
    object_cache,
)
from orchestrator.engine.kernel_limits import Limits, bounded_values, breach_of
from orchestrator.engine.lazy_imports import LazyIntrinsic, import_attribute
from orchestrator.engine.object_cache import UNFIT, Entry, Kinds
from orchestrator.engine.records import FRAME, Frame, Record

# Compiled functions as Python sees them: each is compiled at its first call.
#
# It is made without numba. Called from Python with what C can hand over it is an entry
# (`engine.object_cache`), which a later process loads without numba, too. With arrays, strings,
# tuples, or
# where an exception may be raised, it is numba's own dispatcher; called by a compiled function it
# is a part of that (`engine.numba_backend.link_units`).

NO_LIMITS = Limits()
COMPILING = "orchestrator.engine.numba_backend.compiler"
"""The module that imports numba."""
_of_plugins: weakref.WeakSet[Function] = weakref.WeakSet()
"""Compiled functions of other packages than the engine."""


class Function:
    """`py_func` compiled; `inline`: put it into its compiled callers."""

    def __init__(self, function: Callable[..., Any], inline: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.inline = inline
        self.entries: dict[Kinds, Entry | str] = {}
        self._calls: dict[Kinds, Callable[..., Any]] = {}
        if not function.__module__.startswith("orchestrator.engine."):
            _of_plugins.add(self)

    def forget(self) -> None:
        """Forget the machine code of this process: it is loaded or compiled at the next call."""
        self.entries.clear()
        self._calls.clear()
        self.__dict__.pop("dispatcher", None)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call it, compiled for the types of these arguments."""
        kinds = None if keywords else object_cache.kinds_of(arguments)
        if kinds is None:
            return self.dispatcher(*arguments, **keywords)
        call = self._calls.get(kinds)
        if call is None:
            entry = self.entry(kinds)
            call = (
                object_cache.callable_at(entry, kinds)
                if isinstance(entry, Entry)
                else self.dispatcher
            )
            self._calls[kinds] = call
        return call(*arguments)

    def entry(self, kinds: Kinds) -> Entry | str:
        """The entry for arguments of these kinds, from the cache or compiled; UNFIT."""
        if kinds not in self.entries:
            file = object_cache.file_of(self.py_func, kinds)
            found = None if file is None else object_cache.load(file)
            if found is None:
                found = (
                    UNFIT
                    if file is None
                    else import_attribute(f"{COMPILING}:compile_entry")(self, kinds, file)
                )
            self.entries[kinds] = found
        return self.entries[kinds]

    @functools.cached_property
    def dispatcher(self) -> Any:
        """numba's, which calls of other arguments and compiled functions go to."""
        return import_attribute(f"{COMPILING}:inner_dispatcher")(self.py_func, self.inline)

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_

    def __reduce__(self) -> Any:
        """It is what stands under its name; what was made of a function elsewhere is made again.

        numba pickles what a function calls to tell whether what it has kept is of the same code.
        """
        module = sys.modules.get(self.py_func.__module__)
        if getattr(module, self.py_func.__qualname__, None) is self:
            return self.py_func.__qualname__
        return _recreate_function, (
            self.py_func,
            self.inline,
            object_cache.code_fingerprint(self.py_func),
        )


def _recreate_function(function: Callable[..., Any], inline: bool, made_of: Any) -> Function:
    return Function(function, inline)


cache_paths.folder()  # numba reads NUMBA_CACHE_DIR when it is imported

DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0")
"""True when everything runs as ordinary Python (NUMBA_DISABLE_JIT=1)."""


Called = TypeVar("Called", bound=Callable[..., Any])
"""Type of a function, which is also that of the compiled one."""


def compiled(function: Called) -> Called:
    """Decorator for node logic and for helpers of kernels."""
    return function if DISABLED else Function(function, inline=False)  # type: ignore[return-value]


def inlined(function: Called) -> Called:
    """The same for small functions on the path of every frame: put into their callers."""
    return function if DISABLED else Function(function, inline=True)  # type: ignore[return-value]


def plain(function: Any) -> Callable[..., Any]:
    """The function of Python that one of these was made of."""
    python: Callable[..., Any] = getattr(function, "py_func", function)
    return python


_callables: list[tuple[Callable[..., int], Limits]] = [(lambda *_: 0, Limits())]
_addresses: dict[tuple[Any, ...], int] = {}
_records: dict[int, Any] = {}
_addresses_by_id: dict[int, int] = {}


def kernel_address(
    function: Callable[..., int],
    state: np.dtype,
    params: np.dtype,
    entity: np.dtype,
    limits: Limits = NO_LIMITS,
) -> int:
    """Compile a kernel for its records and return what `call_kernel` takes.

    The signature is int64(state, params, entity, frame, now, message): records by reference.
    Uncompiled, the "address" is an index into a table of Python functions. All instances of an
    algorithm share one copy of its machine code: a copy for each would not stay in the caches.
    `limits`: what it may answer, assign to and send. Raises KernelMistake.
    """
    key = (function, state, params, entity, str(limits))
    if key not in _addresses:
        _addresses[key] = _compile_kernel(function, state, params, entity, limits)
    return _addresses[key]


def forget_kernels(edited: bool) -> None:
    """Forget the machine code of all kernels and of the functions of plugins that they call.

    Call it after the code of a function was exchanged in this process (`edited`), or put back: the
    next run compiles the kernels that call that function, and loads the others from the cache.
    """
    object_cache.set_edited(edited)
    _addresses.clear()
    for function in _of_plugins:
        function.forget()


def _compile_kernel(
    function: Callable[..., int],
    state: np.dtype,
    params: np.dtype,
    entity: np.dtype,
    limits: Limits,
) -> int:
    if DISABLED:
        _callables.append((function, limits))
        return len(_callables) - 1
    kernel_rules.check_function(function)
    records = tuple(str(np.dtype(one)) for one in (state, params, entity, FRAME))
    records += (str(limits),)
    file = object_cache.file_of(function, records)
    found = None if file is None else object_cache.load(file)
    if isinstance(found, Entry):
        return found.address
    kernel_mistakes.check_arguments(function)
    kernel_mistakes.check_source(function, limits.answers)
    kernel_rules.check_rules(function, limits)
    for helper in kernel_guards.helpers(function):
        kernel_rules.check_rules(helper.py_func, helper=True)
    compile_kernel = import_attribute(f"{COMPILING}:compile_kernel_entry")
    address: int = compile_kernel(function, state, params, entity, None if found else file, limits)
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
        _addresses_by_id[id(_records[address])] = address
    return address


_call_by_address = LazyIntrinsic("orchestrator.engine.intrinsics.memory_intrinsics:call_by_address")
_word_at = LazyIntrinsic("orchestrator.engine.intrinsics.memory_intrinsics:word_at")
_put_word = LazyIntrinsic("orchestrator.engine.intrinsics.memory_intrinsics:put_word")
_prefetch = LazyIntrinsic("orchestrator.engine.intrinsics.memory_intrinsics:prefetch")
_record_at_offset = LazyIntrinsic(
    "orchestrator.engine.intrinsics.memory_intrinsics:record_at_offset"
)
_binary_digits = LazyIntrinsic("orchestrator.engine.intrinsics.memory_intrinsics:binary_digits")
_prevent_inlining = LazyIntrinsic(
    "orchestrator.engine.intrinsics.memory_intrinsics:prevent_inlining"
)

if DISABLED:

    def binary_digits(value: int) -> int:
        """Number of binary digits of a number that is not negative; 0 has none."""
        return int(value).bit_length()

    def prefetch(record: Record) -> None:
        """Have a record brought near that is read soon: its values are what they were."""

    def prevent_inlining() -> None:
        """Have the function that calls this not put into its callers: of compiled ones alone."""

    def flow_state(state: Any, flow: int) -> Any:
        """A receiver's state of a flow; `state` is that for all flows, which its kernels get."""
        return _records[_addresses_by_id[id(state)] + state.dtype.itemsize * (flow + 1)]

    def word_at(address: int, index: int) -> int:
        """The int64 that lies `index` words behind an address: of a file that a parameter names."""
        return ctypes.c_int64.from_address(int(address + 8 * index)).value

    def zero_words(address: int, first: int, count: int) -> None:
        """Set `count` int64 to 0, from the one on that lies `first` words behind an address."""
        ctypes.memset(int(address + 8 * first), 0, int(8 * max(count, 0)))

    def call_kernel(
        kernel: int,
        state: int,
        params: int,
        entity: Record,
        frame: Frame,
        now: int,
        message: Frame,
    ) -> int:
        """Call the kernel of a `kernel_address` on the records of two `record_address`es."""
        function, limits = _callables[kernel]
        own = _records[state], _records[params]
        before = bounded_values(limits, entity, frame)
        try:
            with np.errstate(divide="raise", over="raise"):
                answer = int(function(*own, entity, frame, now, message))
        except (ArithmeticError, IndexError) as error:
            raise kernel_guards.plain_refusal(function, limits, error) from error
        if limits.answers is not None and answer not in limits.answers:
            raise kernel_guards.plain_refusal(function, limits, answer)
        if breach := breach_of(limits, answer, before, entity, frame, message):
            raise kernel_guards.plain_refusal(function, limits, breach)
        return answer

else:
    prevent_inlining = _prevent_inlining

    @inlined
    def binary_digits(value: int) -> int:
        """Number of binary digits of a number that is not negative; 0 has none."""
        return _binary_digits(value)

    @inlined
    def prefetch(record: Record) -> None:
        """Have a record brought near that is read soon: its values are what they were."""
        _prefetch(record)

    @inlined
    def flow_state(state: Any, flow: int) -> Any:
        """A receiver's state of a flow; `state` is that for all flows, which its kernels get."""
        return _record_at_offset(state, flow + 1)

    @inlined
    def word_at(address: int, index: int) -> int:
        """The int64 that lies `index` words behind an address: of a file that a parameter names."""
        return _word_at(address + 8 * index)

    @compiled
    def zero_words(address: int, first: int, count: int) -> None:
        """Set `count` int64 to 0, from the one on that lies `first` words behind an address."""
        for word in range(first, first + count):
            _put_word(address + 8 * word, 0)

    @inlined
    def call_kernel(
        kernel: int,
        state: int,
        params: int,
        entity: Record,
        frame: Frame,
        now: int,
        message: Frame,
    ) -> int:
        """Call the kernel of a `kernel_address` on the records of two `record_address`es."""
        arguments = (kernel, state, params, entity, frame, now, message)
        return _call_by_address(*arguments)
