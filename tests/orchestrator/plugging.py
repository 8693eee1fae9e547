"""Plugins that exist in memory only, for tests of the registry."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

import pytest

from orchestrator.hookspecs import hookimpl
from orchestrator.registry import GROUP


def entry_point(
    monkeypatch: pytest.MonkeyPatch, name: str, **hooks: Callable[..., Any]
) -> EntryPoint:
    """The entry point of a module with these hooks."""
    module = ModuleType(f"in_memory_{name}")
    for hook, function in hooks.items():
        setattr(module, hook, hookimpl(function))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return EntryPoint(name, module.__name__, GROUP)
