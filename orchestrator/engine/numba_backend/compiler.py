"""Interface of the numba back end: compiles functions and kernels; only a compilation imports it.

`link_units` and what it uses change numba's passes, libraries and dispatchers, which differ between
versions of numba. Where they are not as expected, plain numba compiles instead: results are equal,
the first run takes minutes, and faults that a kernel makes while it runs are not noticed.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from orchestrator.engine.numba_backend.numba_import import numba  # isort: skip  # before its modules

import numpy as np
from numba import types
from numba.core.errors import NumbaExperimentalFeatureWarning

from orchestrator.engine import kernel_guards, kernel_mistakes, object_cache
from orchestrator.engine.compile_options import OPTIONS
from orchestrator.engine.kernel_limits import Limits
from orchestrator.engine.lazy_imports import import_attribute
from orchestrator.engine.object_cache import UNFIT, Entry, Kinds
from orchestrator.engine.records import FRAME
from orchestrator.engine.settable_fields import ENTITY, MESSAGE_FIELDS, word_of
from orchestrator.engine.settable_fields import FRAME as FRAME_PLACE

TESTED = (0, 66), (0, 68)
"""First and last version of numba whose internals are known to be as expected; others are tried
with a small kernel first."""

# A record that begins with the fields of another one may be handed over for it: all are int64.
warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)

_alive = list[Any]()


@functools.cache
def _link_units() -> ModuleType | None:
    """The compiler by internals of numba; None, after a sentence on stderr, if it does not work."""
    try:
        from orchestrator.engine.numba_backend import link_units

        version = tuple(int(part) for part in numba.__version__.split(".")[:2])
        if not TESTED[0] <= version <= TESTED[1]:
            _try_kernel(link_units)
    except Exception as error:  # whatever an internal that is missing or another leads to
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        if sys.stderr is not None:
            print(
                f"tailback: numba {numba.__version__} differs inside from {_dotted(TESTED[0])} to "
                f"{_dotted(TESTED[1])} ({reason}). It compiles without tailback's changes: the "
                "first run takes minutes, and answers, divisions by 0 and overflows of kernels are "
                "not checked.",
                file=sys.stderr,
            )
        return None
    return link_units


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version)


def _by_address(units: ModuleType | None) -> dict[str, Any]:
    """Options of what is called by address, and not from Python."""
    linked = {} if units is None else {"pipeline_class": units.KernelPipeline}
    return {**OPTIONS, **linked, "no_cpython_wrapper": True}


def _sum(first: int, second: int) -> int:
    return first + second


def _try_kernel(units: ModuleType) -> None:
    """Compile a kernel that calls a part, and run both; raise if either does not as it has to."""
    part = _linked_dispatcher(units, _sum, inline=False)

    def kernel(first: int, second: int) -> int:
        answer: int = part(first, second) // second
        return answer

    kernel.__module__ = "a_plugin"  # its faults are noted
    kernel_guards.limits_of_kernels[kernel] = Limits(range(5))
    dispatcher = numba.njit(**_by_address(units))(kernel)
    dispatcher.compile((types.int64, types.int64))
    library, symbol = _machine_code(dispatcher)
    library._get_compiled_object()
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(
        library.get_pointer_to_function(symbol)
    )
    kernel_guards.forget_fault()
    outcomes = [call(6, 3), kernel_guards.CELL[0], call(60, 3), kernel_guards.CELL[0], part(2, 3)]
    kernel_guards.forget_fault()
    expected = [3, kernel_guards.FREE, 0, kernel_guards.ANSWER, 5]
    if outcomes != expected:
        raise ArithmeticError(f"a trial of its compiler gave {outcomes} instead of {expected}")


def inner_dispatcher(function: Callable[..., Any], inline: bool) -> Any:
    """numba's dispatcher of a function that is a part of who calls it.

    `inline` False is said as well: a function that is first called by an inlined one would inherit
    that, the whole node would end up in every place that calls any of it, and take minutes to
    compile.
    """
    units = _link_units()
    if units is None:
        return _with_cache(numba.njit(**OPTIONS, forceinline=inline)(function), function)
    return _linked_dispatcher(units, function, inline)


def _linked_dispatcher(units: ModuleType, function: Callable[..., Any], inline: bool) -> Any:
    options = {**OPTIONS, "forceinline": inline}
    decorate = numba.njit(**options, pipeline_class=units.LinkedPipeline)
    return units.LinkUnit(function, options, lambda whole: _with_cache(decorate(whole), whole))


def _with_cache(dispatcher: Any, function: Callable[..., Any]) -> Any:
    """The dispatcher with a sealed cache; without one where numba's cache is not as expected."""
    try:
        from orchestrator.engine.numba_backend import code_cache

        with code_cache.package_cache(function):
            return code_cache.with_code_cache(dispatcher)
    except (ImportError, AttributeError, TypeError):
        return dispatcher


def compile_entry(function: Any, kinds: Kinds, file: Path) -> Entry | str:
    """Compile a function for arguments of these kinds, and keep what comes of it."""
    plain = {"int64": types.int64, "float64": types.float64}
    signature = tuple(plain[kind] if kind in plain else import_attribute(kind) for kind in kinds)
    units = _link_units()
    if units is None:
        function.dispatcher.compile(signature)  # numba keeps it
        object_cache.store_entry(file)
        return UNFIT
    options = {**_by_address(units), "forceinline": function.inline}
    dispatcher = numba.njit(**options)(function.py_func)
    dispatcher.compile(signature)
    return _store_compiled(dispatcher, file, frozenset())


def compile_kernel_entry(
    function: Callable[..., int],
    state: np.dtype,
    params: np.dtype,
    entity: np.dtype,
    file: Any,
    limits: Limits,
) -> int:
    """Compile a kernel for its records; its address. `file` (None: numba's own cache) gets it."""
    units = _link_units()
    kernel_guards.limits_of_kernels[function] = limits
    records = [numba.from_dtype(np.dtype(d)) for d in (state, params, entity, FRAME)]
    signature = types.int64(*records, types.int64, records[3])
    dispatcher = numba.njit(**_by_address(units))(function)
    if file is None or units is None:
        _with_cache(dispatcher, function)
    try:
        dispatcher.compile(signature)
    except Exception as error:  # of numba, or of code of its own that kernels run into
        mistake = kernel_mistakes.explained(function, error, (state, params, entity, FRAME))
        raise mistake from error
    kernel_mistakes.check_types(function, _single_overload(dispatcher).type_annotation)
    allowed = _allowed_stores(limits, entity, records)
    for helper in kernel_guards.helpers(function):
        for made in helper.dispatcher.overloads.values():
            kernel_mistakes.check_types(helper.py_func, made.type_annotation, helper=True)
            kernel_mistakes.check_stores(helper.py_func, made.type_annotation, allowed)
    dispatcher.disable_compile()
    if (
        file is not None
        and units is not None
        and isinstance(found := _store_compiled(dispatcher, file, object_cache.REPORTING), Entry)
    ):
        return found.address
    _alive.append(dispatcher)
    library, symbol = _machine_code(dispatcher)
    address: int = library.get_pointer_to_function(symbol)
    return address


def _allowed_stores(limits: Limits, entity: np.dtype, records: list[Any]) -> dict[Any, Any]:
    """Type of a record -> word for it, and the fields that helpers of a kernel may assign to.

    Helpers may set a timer that no kernel serves: algorithms share them, and not all have timers.
    """
    allowed = {}
    if (fields := limits.settable(ENTITY)) is not None:
        allowed[records[2]] = word_of(entity) or "the entity", fields | limits.unserved
    if (fields := limits.settable(FRAME_PLACE)) is not None:
        allowed[records[3]] = "the frame or message", fields | MESSAGE_FIELDS
    return allowed


def _store_compiled(dispatcher: Any, file: Path, besides: frozenset[str]) -> Entry | str:
    """Put the only result of a dispatcher into a file, if it is fit to be an entry: all that it
    needs is in any process, or one of `besides`."""
    _alive.append(dispatcher)  # with the machine code
    library, symbol = _machine_code(dispatcher)
    result = str(_single_overload(dispatcher).signature.return_type)
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


def _machine_code(dispatcher: Any) -> tuple[Any, str]:
    """Library of a dispatcher's only result, and the symbol of the function of C in it."""
    made = _single_overload(dispatcher)
    return made.library, made.fndesc.llvm_cfunc_wrapper_name
