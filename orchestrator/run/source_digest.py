"""Digest of what makes results: engine, core, plugins, and the libraries they compute with."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType

from orchestrator import __version__
from orchestrator.python_command import ROOT
from orchestrator.registry import Registry
from orchestrator.run.manifest import library_versions

CORE = ("engine", "plan", "assembly", "run", "targets")
"""Packages of the core that a run depends on. No number of a run depends on the others."""
COMPUTE = ("numpy", "numba", "llvmlite")
"""Libraries whose version may change the last digit of a metric."""
SUFFIXES = (".py", ".v", ".cpp")
"""Suffixes of a plugin's files that affect results: its code, and the gateware that it clocks."""


@functools.cache
def digest_of(registry: Registry) -> str:
    """SHA-256 of the sources of the core and of every loaded plugin."""
    found = hashlib.sha256(__version__.encode())
    versions = library_versions()
    for name in COMPUTE:
        found.update(f"{name} {versions[name]}\n".encode())
    here = f"{ROOT}{os.sep}"
    for path in sorted(set(_files(registry)), key=lambda path: path.split(os.sep)):
        found.update(path.removeprefix(here).encode())
        with open(path, "rb") as file:
            found.update(file.read())
    return found.hexdigest()


def _files(registry: Registry) -> Iterator[str]:
    """Absolute paths of the sources; as text, because every run lists hundreds of them."""
    core = os.path.join(ROOT, "orchestrator")
    yield from (entry.path for entry in os.scandir(core) if entry.name.endswith(".py"))
    for room in CORE:
        yield from _below(os.path.join(core, room), (".py",))
    for _, plugin in registry.manager.list_name_plugin():
        name = getattr(plugin, "__name__", type(plugin).__module__).partition(".")[0]
        if name != "orchestrator" and (module := sys.modules.get(name)) is not None:
            yield from _sources(module)


def _sources(module: ModuleType) -> Iterable[str]:
    """All files of a package, or the file of a module; a module made in memory has none."""
    if hasattr(module, "__path__"):
        return (path for folder in module.__path__ for path in _below(folder, SUFFIXES))
    file = getattr(module, "__file__", None)
    return [file] if file else []


def _below(folder: str, ends: tuple[str, ...]) -> Iterator[str]:
    """Files of a folder and of its subfolders, except linked ones."""
    for place, _, names in os.walk(folder):
        yield from (os.path.join(place, name) for name in names if name.endswith(ends))
