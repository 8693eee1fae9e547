"""Sources of packages that are wrong, each written with what builds it."""

from __future__ import annotations

from pathlib import Path

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
    module = name.replace("-", "_")
    (package / f"{module}.py").write_text(source, encoding="utf-8")
    (package / "pyproject.toml").write_text(
        f"""[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "1.0"

[project.entry-points.tailback]
{name} = "{module}"
""",
        encoding="utf-8",
    )
    return package
