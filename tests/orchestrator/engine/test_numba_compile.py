"""What is kept is loaded without what a compilation needs, and a compilation works all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


def test_only_a_compilation_imports_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(MODULE)

    def said(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "sample", *words],
            cwd=tmp_path,
            env=os.environ
            | {
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.stdout or done.stderr

    assert said() == "10 True\n"  # compiled
    assert said() == "10 False\n"  # loaded
    # loaded, and then compiled in the same process what nobody had kept
    assert said("too") == "10 False\n42 3.0 True\n"
    assert said("too") == "10 False\n42 3.0 False\n"
