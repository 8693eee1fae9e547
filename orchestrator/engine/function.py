"""Compiled functions as Python sees them: each is compiled at its first call.

It is made without numba. Called from Python with what C can hand over it is an entry
(`engine.entries`), which a later process loads without numba, too. With arrays, strings, tuples, or
where an exception may be raised, it is numba's own dispatcher; called by a compiled function it is
a part of that (`engine.parts`).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from orchestrator.engine import entries
from orchestrator.engine.entries import UNFIT, Entry, Kinds
from orchestrator.engine.later import real

COMPILING = "orchestrator.engine.compiling"
"""The module that imports numba."""


class Function:
    """`py_func` compiled; `inline`: put it into its compiled callers."""

    def __init__(self, function: Callable[..., Any], inline: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.inline = inline
        self.entries: dict[Kinds, Entry | str] = {}
        self._calls: dict[Kinds, Callable[..., Any]] = {}

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call it, compiled for the types of these arguments."""
        kinds = None if keywords else entries.kinds_of(arguments)
        if kinds is None:
            return self.dispatcher(*arguments, **keywords)
        call = self._calls.get(kinds)
        if call is None:
            entry = self.entry(kinds)
            call = (
                entries.callable_at(entry, kinds) if isinstance(entry, Entry) else self.dispatcher
            )
            self._calls[kinds] = call
        return call(*arguments)

    def entry(self, kinds: Kinds) -> Entry | str:
        """The entry for arguments of these kinds, from the cache or compiled; UNFIT."""
        if kinds not in self.entries:
            file = entries.file_of(self.py_func, kinds)
            found = None if file is None else entries.load(file)
            if found is None:
                found = UNFIT if file is None else real(f"{COMPILING}:entry")(self, kinds, file)
            self.entries[kinds] = found
        return self.entries[kinds]

    @functools.cached_property
    def dispatcher(self) -> Any:
        """numba's, which calls of other arguments and compiled functions go to."""
        return real(f"{COMPILING}:part")(self.py_func, self.inline)

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
        return _again, (self.py_func, self.inline, entries.made_of(self.py_func))


def _again(function: Callable[..., Any], inline: bool, made_of: Any) -> Function:
    return Function(function, inline)
