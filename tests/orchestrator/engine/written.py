"""Modules that a test writes, so that no earlier run has kept anything of them compiled."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from orchestrator.engine import cache_paths


def written(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of this text in a test's folder, imported by a name that no other test's has."""
    file = folder / f"{name}_of_{folder.name}.py"
    file.write_text(text)
    monkeypatch.setenv(cache_paths.VARIABLE, str(folder / "cache"))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, file.stem, module)
    spec.loader.exec_module(module)
    return module
