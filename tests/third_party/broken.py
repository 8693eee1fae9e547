"""Sources of two packages that are wrong, written beside a right one's build files."""

from __future__ import annotations

import shutil
from pathlib import Path

RIGHT = Path(__file__).parent / "threshold-cp"

IMPORTS_WHAT_IS_NOT_THERE = """
import a_library_that_nobody_has

def tailback_algorithms():
    return []
"""

INVALID_ALGORITHM = """
import numpy as np

from tailback.plugin import Algorithm
from tailback.plugin import hookimpl
from tailback.plugin import Params

@hookimpl
def tailback_algorithms():
    return [Algorithm("odd-cp", "router", "of no kind", Params, np.dtype([("x", "i8")]), {})]
"""

INVALID_TARGET = """
from tailback.plugin import hookimpl

@hookimpl
def tailback_targets():
    return ["the moon"]
"""


def write_package(folder: Path, name: str, source: str) -> Path:
    """A package of one module, named like its distribution; its entry point too."""
    package = folder / name
    package.mkdir()
    shutil.copy(RIGHT / "build_backend.py", package)
    module = name.replace("-", "_")
    (package / f"{module}.py").write_text(source, encoding="utf-8")
    (package / "pyproject.toml").write_text(
        f"""[build-system]
requires = []
build-backend = "build_backend"
backend-path = ["."]

[project]
name = "{name}"
version = "1.0"

[project.entry-points.tailback]
{name} = "{module}"
""",
        encoding="utf-8",
    )
    return package
