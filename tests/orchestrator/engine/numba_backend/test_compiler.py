"""What is kept is loaded without what a compilation needs, and a compilation works all the same."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MODULE = """
import sys
import numpy as np
from orchestrator.engine.jit import compiled

@compiled
def total(values):
    found = 0
    for value in values:
        found += value
    return found

@compiled
def twice(x):
    return 2 * x

print(total(np.arange(5)), "numba.typed.typedlist" in sys.modules)
if sys.argv[1:]:
    print(twice(21), twice(1.5), "numba.typed.typedlist" in sys.modules)
"""


def printed(folder: Path, *words: str) -> str:
    """What the module prints, with its cache in the folder."""
    done = subprocess.run(
        [sys.executable, "-m", "sample", *words],
        cwd=folder,
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "NUMBA_CACHE_DIR": str(folder / "cache"),
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout or done.stderr


def test_only_a_compilation_imports_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(MODULE)

    def said(*words: str) -> str:
        return printed(tmp_path, *words)

    assert said() == "10 True\n"  # compiled
    assert said() == "10 False\n"  # loaded
    # loaded, and then compiled in the same process what nobody had kept
    assert said("too") == "10 False\n42 3.0 True\n"
    assert said("too") == "10 False\n42 3.0 False\n"


class Planted:
    """A pickle that makes a file when it is loaded."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.made),)


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_index_and_data_that_this_user_did_not_seal_are_not_unpickled(
    suffix: str, tmp_path: Path
) -> None:
    (tmp_path / "sample.py").write_text(MODULE)
    assert printed(tmp_path) == "10 True\n"
    found = sorted((tmp_path / "cache").rglob(f"*{suffix}"))
    assert found
    planted = pickle.dumps(Planted(tmp_path / "ran"))
    for file in found:
        octets = file.read_bytes()
        file.write_bytes(planted)
        assert printed(tmp_path) == "10 True\n"  # compiled again
        file.write_bytes(octets[:32] + planted)
        assert printed(tmp_path) == "10 True\n"
        assert printed(tmp_path) == "10 False\n"
    assert not (tmp_path / "ran").exists()
