"""Faults planted at import: a module is compiled from another text than its file has.

Nothing is written where the sources are, and processes that do not know of it see none of it.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from types import CodeType, ModuleType

Change = Callable[[str], str]


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles what `change` makes of the file's text; reads and writes no byte code."""

    change: Change

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        text = self.get_data(path).decode("utf-8")
        return compile(self.change(text), path, "exec", dont_inherit=True)


class Planted(MetaPathFinder):
    """Finds modules as always, and gives those of `changes` their other text."""

    def __init__(self, changes: dict[str, Change]) -> None:
        self._changes = changes

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See importlib."""
        if fullname not in self._changes:
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if found is None or found.origin is None:
            return None
        loader = _Loader(fullname, found.origin)
        loader.change = self._changes[fullname]
        found.loader = loader
        return found


def plant(changes: dict[str, Change]) -> None:
    """From here on, in this process. Raises RuntimeError for a module that is imported already."""
    if late := set(changes) & set(sys.modules):
        raise RuntimeError(f"{min(late)} is imported already: its text stays as it is")
    sys.meta_path.insert(0, Planted(changes))


def exchanged(old: str, new: str) -> Change:
    """A text with one piece of it exchanged. Raises LookupError where it is not there just once."""

    def change(text: str) -> str:
        if text.count(old) != 1:
            raise LookupError(f"found {text.count(old)} times, not once: {old!r}")
        return text.replace(old, new)

    return change


def plant_all(changes: Sequence[Sequence[str]]) -> None:
    """Exchange (module, old, new) each."""
    found: dict[str, Change] = {}
    for module, old, new in changes:
        before = found.get(module)
        found[module] = _both(before, exchanged(old, new)) if before else exchanged(old, new)
    plant(found)


def _both(first: Change, second: Change) -> Change:
    return lambda text: second(first(text))
