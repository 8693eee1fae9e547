"""Loader of algorithms from a file that is no installed plugin."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from orchestrator.algorithm import Algorithm
from orchestrator.errors import BadInput, Problem
from orchestrator.registry import Registry


def load_algorithms(path: Path) -> list[Algorithm]:
    """The algorithms in a Python file, known to plans from then on. Raises BadInput.

    The file is a plugin as an entry point would name it, or just has algorithms as globals. Of an
    installed plugin, by its own file or an equal one, the installed algorithms are returned.
    """
    source = "--against"
    if path.suffix != ".py" or not path.is_file():
        accepted = "the path of a Python file with algorithms is expected"
        raise BadInput(source, [Problem("FILE", str(path), accepted)])
    if installed := _installed_from(path):
        return installed
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if path.stem in sys.modules:
        accepted = "a name that no module has which is imported already is expected"
        raise BadInput(source, [Problem("FILE", path.name, accepted)])
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[path.stem]
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        raise BadInput(f"{source} {path}", f"it cannot be imported: {text}") from None
    algorithms = [one for one in vars(module).values() if isinstance(one, Algorithm)]
    brought = Registry.load().bring(module, path.stem, str(path), algorithms)
    if not brought:
        Registry.load().manager.unregister(module)
        del sys.modules[path.stem]
        text = "it has no algorithm of its own, whose kind and name no installed plugin has"
        raise BadInput(f"{source} {path}", text)
    return brought


def _installed_from(path: Path) -> list[Algorithm]:
    """Algorithms of installed plugins that stand in this file, or in one of the same content."""
    text = path.read_bytes()
    equal: dict[str, bool] = {}
    for algorithm in Registry.load().algorithms:
        for kernel in algorithm.kernels.values():
            file = kernel.__code__.co_filename
            if file not in equal:
                equal[file] = _content(file) == text
    return [
        one
        for one in Registry.load().algorithms
        if any(equal[kernel.__code__.co_filename] for kernel in one.kernels.values())
    ]


def _content(file: str) -> bytes | None:
    try:
        return Path(file).read_bytes()
    except OSError:
        return None
