"""Lazy exports of a package: names that are imported at their first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def from_modules(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: `places` has the module of it in which each name lies.

    A place "module:name" is that name of any module, under which the package exports it.
    It is for `if not TYPE_CHECKING`: else every name would do for a checker of types.
    """

    def find(name: str) -> Any:
        """Attribute of a module of the package, stored in the package from then on."""
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = places[name].partition(":")
        home = import_module(module if attribute else f"{package}.{module}")
        found = getattr(home, attribute or name)
        setattr(sys.modules[package], name, found)
        return found

    return find
