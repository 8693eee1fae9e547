"""Lazy imports of numba and LLVM: proxies that a compilation alone resolves.

Machine code that is in the cache is loaded without numba (`engine.object_cache`), and importing
numba takes longer than most runs of the simulator do. So what is made with it stands in modules of
its own (`engine.intrinsics`), and compiled functions know it by objects of these classes: numba
asks a value of a function's module for its `_numba_type_`, and is given that of the real one.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any


def import_attribute(place: str) -> Any:
    """Object that `module:name` names; the module is imported."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


class LazyIntrinsic:
    """An intrinsic that a module of `engine.intrinsics` makes."""

    def __init__(self, place: str) -> None:
        self.place = place

    @functools.cached_property
    def _numba_type_(self) -> Any:
        made = import_attribute(self.place)
        from numba.core.registry import cpu_target

        cpu_target.typing_context.refresh()  # it was made known to numba just now
        return cpu_target.typing_context.resolve_value_type(made)

    def __call__(self, *arguments: Any) -> Any:
        """Not from Python: there, functions have another way to do the same."""
        raise TypeError(f"{self.place} is for compiled functions")


class ExternalFunction(LazyIntrinsic):
    """A function of the C library. Types are "int32", "uint64" and so on."""

    def __init__(self, name: str, result: str, arguments: tuple[str, ...]) -> None:
        super().__init__(name)
        self._result, self._arguments = result, arguments

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from numba import types

        arguments = [getattr(types, argument) for argument in self._arguments]
        return types.ExternalFunction(self.place, getattr(types, self._result)(*arguments))
