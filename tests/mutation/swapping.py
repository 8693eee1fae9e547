"""A mutant put into a process in which the file and its tests are imported already.

Where the change lies in a function, the code of that function is exchanged in place: everybody who
has it, under whatever name, has the mutant then, and nothing is imported again.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator
from types import CodeType, FunctionType

from tests.mutation.mutants import meaning_of


class Swapping:
    """The functions of one imported file. Make it when everything is imported."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._code = compile(text, path, "exec", dont_inherit=True)
        self._held: defaultdict[str, list[FunctionType]] = defaultdict(list)
        gc.unfreeze()  # what is frozen is not among the objects
        for thing in gc.get_objects():
            # by its type: a weak proxy would be asked for what it stands for, which may be gone
            if issubclass(type(thing), FunctionType) and thing.__code__.co_filename == path:
                self._held[thing.__code__.co_qualname].append(thing)

    def change(self, text: str) -> dict[str, CodeType] | None:
        """What another text changes, by function; None where it is not the body of functions that
        can be told by their names."""
        made = compile(text, self._path, "exec", dont_inherit=True)
        if _frame(self._code) != _frame(made):
            return None
        pairs = list(zip(_functions(self._code), _functions(made), strict=True))
        names = [code.co_qualname for code, _ in pairs]
        changed = {a.co_qualname: b for a, b in pairs if meaning_of(a) != meaning_of(b)}
        for name, code in changed.items():
            held = self._held.get(name, [])
            if names.count(name) > 1 or not held or self._has_made(name):
                return None
            if any(function.__code__.co_freevars != code.co_freevars for function in held):
                return None
        return changed or None

    def _has_made(self, name: str) -> bool:
        """Whether a function made others that are in use: those would stay as they are."""
        return any(made.startswith(f"{name}.<locals>.") for made in self._held)

    def swap(self, changed: dict[str, CodeType]) -> None:
        """Do it, in this process."""
        for name, code in changed.items():
            for function in self._held[name]:
                function.__code__ = code


def _is_function(code: object) -> bool:
    return isinstance(code, CodeType) and bool(code.co_flags & 2)  # it has fast locals: no class


def _functions(code: CodeType) -> Iterator[CodeType]:
    """The outermost functions of a module, methods among them; what they hold comes with them."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if _is_function(constant):
                yield constant
            else:
                yield from _functions(constant)


def _frame(code: CodeType) -> object:
    """What is carried out at import, but for the bodies of functions."""
    inner: list[object] = []
    for constant in code.co_consts:
        if not isinstance(constant, CodeType):
            inner.append((type(constant), repr(constant)))
        elif _is_function(constant):
            inner.append(constant.co_qualname)
        else:
            inner.append(_frame(constant))
    return code.co_name, code.co_code, code.co_names, tuple(inner)
