"""Link-time merging: functions that only compiled code calls are linked into their callers.

numba makes a finished library of every function: it links in all that the function calls, optimises
that, makes machine code of it, adds wrappers by which Python could call it, and does the same once
more wherever the function is called. Most of the engine is never called by Python. A part is
only typed and lowered; what Python calls (a whole) takes the parts that it needs, each once,
and is optimised, made into machine code and kept in the cache as one. A part that Python calls all
the same, as tests do, is made a whole then.

The classes below are the places at which numba 0.68 lets a compilation be changed: the library that
a pass fills, the pass, the pipeline that has the pass, and the dispatcher that has the pipeline.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import sigutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

from orchestrator.engine.kernel_guards import is_guarded
from orchestrator.engine.numba_backend.fast_lowering import (
    PlainLower,
    needed,
    without_garbage_collection,
)
from orchestrator.engine.numba_backend.guarded_lowering import GuardedLower
from orchestrator.engine.numba_backend.llvm_attributes import (
    allow_inlining,
    drop_return_initialisation,
    internalize,
)


class InternalLibrary(JITCodeLibrary):
    """A library of functions that are all called by each other."""

    def add_ir_module(self, ir_module: Any) -> None:
        drop_return_initialisation(ir_module)
        super().add_ir_module(ir_module)


class UnitLibrary(InternalLibrary):
    """LLVM's code of one function as it was lowered, to be linked into wholes."""

    def finalize(self) -> None:
        self._finalized = True


class LinkedLibrary(InternalLibrary):
    """A finished library, with all parts that it needs."""

    only = ""

    def finalize(self) -> None:
        self._linking_libraries = list(_with_dependencies(self._linking_libraries))
        super().finalize()

    def _optimize_final_module(self) -> None:
        """Once: numba does it twice, for the sake of reference counts, of which there are none."""
        internalize(self._final_module, self.only)
        passes, builder = self._codegen._module_pass_manager()
        with self._recorded_timings.record("Module passes", builder):
            passes.run(self._final_module, builder)


class KernelLibrary(LinkedLibrary):
    """A finished library of which a wrapper is called by address, and nothing else: numba's own
    function stands in it."""

    only = "cfunc."

    def add_ir_module(self, ir_module: Any) -> None:
        allow_inlining(ir_module)
        super().add_ir_module(ir_module)


def _with_dependencies(libraries: list[Any]) -> Iterator[Any]:
    """The libraries and what they need in turn, each once."""
    seen = set[int]()
    waiting = list(libraries)
    while waiting:
        library = waiting.pop(0)
        if id(library) in seen:
            continue
        seen.add(id(library))
        yield library
        if isinstance(library, UnitLibrary):
            waiting += library._linking_libraries


class _Lowering(NativeLowering):
    _name: Any
    guards = False

    @property
    def lowering_class(self) -> Any:
        return GuardedLower if self.guards else PlainLower

    def run_pass(self, state: Any) -> bool:
        self.guards = is_guarded(state.func_id.modname)
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class LinkedLowering(_Lowering):
    """Lowers into a library that takes parts."""

    _name = "whole_lowering"
    library: type[LinkedLibrary] = LinkedLibrary

    def run_pass(self, state: Any) -> bool:
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(LinkedLowering):
    """The same for what is called by address."""

    _name = "kernel_lowering"
    library = KernelLibrary


@register_pass(mutates_CFG=True, analysis_only=False)
class UnitLowering(_Lowering):
    """Lowers into a part, which nothing but other compiled code can call."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = UnitLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        changed = bool(super().run_pass(state))
        lowered = state["cr"]
        # what its callers know it by; it stands for no machine code
        name = _dynfunc.make_function(
            lowered.fndesc.lookup_module(), lowered.fndesc.qualname, "part", 0, lowered.env, ()
        )
        state.targetctx.insert_user_function(name, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=name)
        return changed


class _Pipeline(CompilerBase):
    """numba's own passes, with another lowering."""

    lowering: type[NativeLowering]

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        chosen = needed(passes.passes, self.state.func_id.code)
        passes.passes = [
            (self.lowering if one is NativeLowering else one, why) for one, why in chosen
        ]
        passes.finalize()
        return [passes]


class LinkedPipeline(_Pipeline):
    """Makes what Python calls."""

    lowering = LinkedLowering

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        with without_garbage_collection():
            return super().compile_extra(func)


class KernelPipeline(LinkedPipeline):
    """Makes what is called by address."""

    lowering = KernelLowering


class UnitPipeline(_Pipeline):
    """Makes what compiled code calls."""

    lowering = UnitLowering


class LinkUnit(CPUDispatcher):
    """A function that compiled code calls as a part, and Python as a whole made for it.

    The whole is made when it is asked for: most of what is loaded is never called by Python, and
    making these two is what loading takes most of its time for.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        make_whole: Callable[[Callable[..., Any]], Any],
    ) -> None:
        narrow = {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True} | options
        super().__init__(function, targetoptions=narrow, pipeline_class=UnitPipeline)
        self._make_whole = make_whole

    @functools.cached_property
    def linked(self) -> Any:
        """The dispatcher for calls from Python, whose machine code is kept in the cache."""
        return self._make_whole(self.py_func)

    def add_overload(self, cres: Any) -> None:
        """Known to compiled callers, not to Python: there is no machine code to be called."""
        self.overloads[tuple(cres.signature.args)] = cres

    def compile(self, sig: Any) -> Any:
        """Lower it for these types, or find that this was done."""
        with global_compiler_lock, self._compiling_counter:
            args, return_type = sigutils.normalize_signature(sig)
            known: Any = self.overloads.get(tuple(args))
            if known is None:
                compiler: Any = self._compiler  # type: ignore[attr-defined]
                known = compiler.compile(args, return_type)
                self.add_overload(known)
            return known.entry_point

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """For numba's types of values, one signature whatever the values are.

        numba would have a function for each constant that it is called with, and LLVM finds those
        that are worth it. Where only a constant will do, it is that.
        """
        try:
            plain = tuple(types.unliteral(one) for one in args)
            return super().get_call_template(plain, kws)
        except TypingError:
            return super().get_call_template(args, kws)

    @property
    def stats(self) -> Any:
        """Counts of compiled and cached code, of the linked function: a part is never cached."""
        return self.linked.stats

    def _compile_for_args(self, *args: Any, **keywords: Any) -> Any:
        insert: Callable[..., None] = self._insert  # type: ignore[attr-defined]
        known = set(self.linked.overloads)
        entry = self.linked._compile_for_args(*args, **keywords)
        for arguments, compiled in self.linked.overloads.items():
            if arguments not in known:
                codes = [one._code for one in arguments]
                insert(codes, compiled.entry_point, compiled.objectmode)
        return entry
