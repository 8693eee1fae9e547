"""The digest of what makes results: engine, core, plugins, and the libraries they compute with."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from orchestrator import __version__
from orchestrator.interpreter import ROOT
from orchestrator.registry import Registry
from orchestrator.run.manifest import library_versions

CORE = ("engine", "plan", "assembly", "run", "targets")
"""Rooms of the core that a run passes through. Of the others no number of a run depends."""
COMPUTE = ("numpy", "numba", "llvmlite")
"""Libraries whose version may change the last digit of a metric."""
SUFFIXES = (".py", ".v", ".cpp")
"""Of a plugin's files that make results: what it computes by, and the gateware that it clocks."""


@functools.cache
def digest_of(registry: Registry) -> str:
    """Of the sources of the core and of every plugin that is loaded."""
    found = hashlib.sha256(__version__.encode())
    versions = library_versions()
    for name in COMPUTE:
        found.update(f"{name} {versions[name]}\n".encode())
    for path in sorted(set(_files(registry))):
        found.update(str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path).encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def _files(registry: Registry) -> Iterator[Path]:
    core = ROOT / "orchestrator"
    yield from core.glob("*.py")
    for room in CORE:
        yield from (core / room).rglob("*.py")
    for _, plugin in registry.manager.list_name_plugin():
        name = getattr(plugin, "__name__", type(plugin).__module__).partition(".")[0]
        if name != "orchestrator" and (module := sys.modules.get(name)) is not None:
            yield from _sources(module)


def _sources(module: ModuleType) -> Iterable[Path]:
    """All of a package, or the one file of a module; a module made in memory has none."""
    if hasattr(module, "__path__"):
        folders = [Path(folder) for folder in module.__path__]
        return (path for folder in folders for end in SUFFIXES for path in folder.rglob(f"*{end}"))
    file = getattr(module, "__file__", None)
    return [Path(file)] if file else []
