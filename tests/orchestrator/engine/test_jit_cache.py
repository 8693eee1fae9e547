"""Compiled code is not used any more when anything has changed that it was made from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLACES = {
    "sample_package/inner.py": """
from orchestrator.engine.jit import compiled
from other_package.far import FAR, far
FACTOR = 2

@compiled
def inner(x):
    return FACTOR * x + far(x) + FAR
""",
    "sample_package/outer.py": """
import sys
import numpy as np
from orchestrator.engine.jit import compiled
from sample_package import table
from sample_package.inner import inner
TABLE = (1, 2)

@compiled
def plain(x, more=3):
    return inner(x) + TABLE[1] + more + table.LAST

@compiled
def outer(x):
    return plain(x) + 1

@compiled
def of_array(values):
    return outer(values[0])

print(outer(3), "numba" in sys.modules, of_array(np.full(1, 3)))
""",
    "sample_package/table.py": "LAST = 40\n",
    "sample_package/__init__.py": "",
    "other_package/far.py": """
from orchestrator.engine.jit import compiled
FAR = 100

@compiled
def far(x):
    return x * 1000
""",
    "other_package/__init__.py": "",
}
BEFORE = 6 + 3000 + 100 + 2 + 3 + 40 + 1


def written(folder: Path) -> None:
    """Those files."""
    for place, text in PLACES.items():
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_text(text)


def said(folder: Path, **more: str) -> list[str]:
    """What a process of its own prints that imports the outer one."""
    done = subprocess.run(
        [sys.executable, "-c", "import sample_package.outer"],
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)]),
            "NUMBA_CACHE_DIR": str(folder / "cache"),
            # Python's own cache takes a file of the same size and second for the same
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        | more,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert not done.stderr
    return done.stdout.split()


@pytest.fixture(scope="module")
def compiled_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages, and what was compiled of them."""
    folder = tmp_path_factory.mktemp("changed")
    written(folder)
    assert said(folder) == [str(BEFORE), "True", str(BEFORE)]
    return folder


def test_what_is_kept_is_loaded_without_numba(compiled_before: Path) -> None:
    assert said(compiled_before) == [str(BEFORE), "False", str(BEFORE)]


CHANGES = {
    "a constant in another file": ("sample_package/inner.py", "FACTOR = 2", "FACTOR = 5", 9),
    "code in another file": ("sample_package/inner.py", "+ far(x)", "+ far(x) * x", 6000),
    "a constant in another package": ("other_package/far.py", "FAR = 100", "FAR = 101", 1),
    "code in another package": ("other_package/far.py", "x * 1000", "x * 1001", 3),
    "a number in the code": ("sample_package/outer.py", "plain(x) + 1", "plain(x) + 2", 1),
    "an element of a tuple": ("sample_package/outer.py", "(1, 2)", "(1, 4)", 2),
    "a default": ("sample_package/outer.py", "more=3", "more=4", 1),
    "a constant of a module": ("sample_package/table.py", "40", "41", 1),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_counts(compiled_before: Path, what: str) -> None:
    place, old, new, more = CHANGES[what]
    file = compiled_before / place
    try:
        file.write_text(PLACES[place].replace(old, new))
        assert said(compiled_before)[:2] == [str(BEFORE + more), "True"]
    finally:
        file.write_text(PLACES[place])
    assert said(compiled_before) == [str(BEFORE), "False", str(BEFORE)]


def test_code_of_another_processor_is_not_used(compiled_before: Path) -> None:
    other = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    assert said(compiled_before, **other) == [str(BEFORE), "True", str(BEFORE)]


def test_what_numba_keeps_is_kept_apart_by_the_state_of_the_package(compiled_before: Path) -> None:
    kept = {path.name.rpartition("-")[0] for path in (compiled_before / "cache").iterdir()}
    assert "sample_package" in kept
