"""Cached code is loaded without numba's compiler, and plain numba compiles where that differs."""

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


def printed(folder: Path, *words: str, streams: str = "either") -> str:
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
    return {"out": done.stdout, "err": done.stderr}.get(streams, done.stdout or done.stderr)


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


WITHOUT = """
import numba.core.typed_passes
del numba.core.typed_passes.NativeLowering
"""
KERNEL = """
import numpy as np
from orchestrator.engine.jit import call_kernel, compiled, kernel_address, record_address
from orchestrator.engine.kernel_limits import Limits
from orchestrator.engine.records import FRAME

RECORD = np.dtype([("total", np.int64), ("octets", np.int64)], align=True)

@compiled
def doubled(value):
    return 2 * value

def arrival(state, params, queue, frame, now, message):
    state.total += doubled(params.octets) // 3 + now
    return state.total % 5

@compiled
def call(kernel, state, params, queue, frame, now):
    return call_kernel(kernel, state, params, queue[0], frame[0], now, frame[0])

state, params, queue = (np.zeros(1, RECORD) for _ in range(3))
frame = np.zeros(1, FRAME)
params["octets"] = 10
kernel = kernel_address(arrival, RECORD, RECORD, RECORD, Limits(range(5)))
addresses = record_address(state), record_address(params)
print([call(kernel, *addresses, queue, frame, now) for now in (1, 2, 3)], state["total"][0])
"""
RIGHT = "[2, 0, 4] 24\n"


@pytest.mark.parametrize(("source", "right"), [(MODULE, "10 "), (KERNEL, RIGHT)])
def test_without_an_internal_plain_numba_gives_the_same(
    source: str, right: str, tmp_path: Path
) -> None:
    for place, beginning in ("linked", ""), ("plain", WITHOUT):
        folder = tmp_path / place
        folder.mkdir()
        (folder / "sample.py").write_text(beginning + source)
        for _ in ("compiled", "loaded"):
            assert printed(folder, streams="out").startswith(right)
    (tmp_path / "plain" / "cache").rename(tmp_path / "before")
    said = printed(tmp_path / "plain", streams="err")
    assert said.count("NativeLowering") == 1
    assert "are not checked" in said


def test_internals_of_another_version_are_tried_first(monkeypatch: pytest.MonkeyPatch) -> None:
    from orchestrator.engine.numba_backend import compiler, guarded_lowering, link_units

    monkeypatch.setattr(compiler, "TESTED", ((9, 0), (9, 1)))
    assert compiler._link_units.__wrapped__() is link_units
    monkeypatch.setattr(guarded_lowering.GuardedLower, "_note", lambda *_: None)
    assert compiler._link_units.__wrapped__() is None
    monkeypatch.undo()
    monkeypatch.setattr(compiler, "TESTED", ((9, 0), (9, 1)))
    monkeypatch.setattr(link_units.UnitLibrary, "finalize", None)
    assert compiler._link_units.__wrapped__() is None
