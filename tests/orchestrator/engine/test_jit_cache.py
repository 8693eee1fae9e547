"""Compiled code of a package is not used any more when another file of that package has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

INNER = """
from orchestrator.engine.jit import compiled
FACTOR = {factor}

@compiled
def inner(x):
    return FACTOR * x
"""
OUTER = """
from orchestrator.engine.jit import compiled
from sample_package.inner import inner

@compiled
def outer(x):
    return inner(x) + 1

print(outer(3))
"""


def test_a_change_in_another_file_counts(tmp_path: Path) -> None:
    package = tmp_path / "sample_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "outer.py").write_text(OUTER)
    said = []
    for factor in (2, 5, 2):
        (package / "inner.py").write_text(INNER.format(factor=factor))
        done = subprocess.run(
            [sys.executable, "-c", "import sample_package.outer"],
            env=os.environ
            | {
                "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)]),
                "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
                # Python's own cache takes a file of the same size and second for the same
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        said.append(done.stdout.strip() or done.stderr)
    assert said == ["7", "16", "7"]
    kept = {path.name.rpartition("-")[0] for path in (tmp_path / "cache").iterdir()}
    assert "sample_package" in kept
