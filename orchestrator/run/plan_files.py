"""Files that parameters of a plan's plugins name: distributions of sizes, traces."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from orchestrator.plan import ResolvedPlan
from orchestrator.plan.algorithm_params import Loaded


def plan_files(resolved: ResolvedPlan) -> dict[str, str]:
    """Path -> SHA-256 of each file that a parameter names."""
    found: dict[str, str] = {}
    for uses in resolved.uses.values():
        for use in uses.values():
            for name, of in type(use.params).model_fields.items():
                if any(isinstance(mark, Loaded) for mark in of.metadata):
                    path = str(getattr(use.params, name))
                    found[path] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return found


def with_absolute_paths(data: Any, files: Collection[str], folder: Path) -> Any:
    """A plan's data in which each text that names one of these files is its absolute path.

    A relative one counts from the plan's `folder`, then from the working directory.
    """
    if isinstance(data, dict):
        return {key: with_absolute_paths(value, files, folder) for key, value in data.items()}
    if isinstance(data, list):
        return [with_absolute_paths(value, files, folder) for value in data]
    if files and isinstance(data, str) and len(data) < 4096 and "\0" not in data:
        named = (str((start / data).resolve()) for start in (folder, Path()))
        return next((path for path in named if path in files), data)
    return data
