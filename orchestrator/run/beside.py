"""Background compilation: on the first run of a version a second process compiles the engine.

Compiling keeps one core busy. While it goes on, this process imports what it needs, reads the plan,
lays it out and compiles the algorithms' kernels; then it waits, and loads from the cache what the
other one has put there (`orchestrator.run.beforehand`). Should that one fail, this one compiles the
engine itself.

Nothing here imports numba: the other process is to begin at once.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator

from orchestrator import interpreter
from orchestrator.engine import kept

LEAST_CORES = 2
SIMULATED = "simulated"
PATIENCE_S = 5.0
"""For a process that was told to end."""

_beside = list[subprocess.Popen[bytes]]()


def cores() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_of_use(target: str | None) -> bool:
    """Whether a run that is about to begin on a target (None: on the plan's) would have to wait."""
    return (
        target in (None, SIMULATED)
        and os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
        and cores() >= LEAST_CORES
        and not kept.has_engine()
    )


@contextlib.contextmanager
def compiling(target: str | None) -> Iterator[None]:
    """Around the reading of a plan and its run: has the engine compiled beside, if that is of use.

    The other process ends with this block, and with this process (its stdin is then closed).
    """
    if not is_of_use(target):
        yield
        return
    child = subprocess.Popen(
        interpreter.module("orchestrator.run.beforehand"),
        env=interpreter.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    _beside.append(child)
    try:
        yield
    finally:
        _beside.remove(child)
        _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Have a process gone."""
    if child.stdin is not None:
        child.stdin.close()
    try:
        child.terminate()
        child.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def wait() -> None:
    """Until what `compiling` has started is done; at once where nothing was started."""
    for child in _beside:
        child.wait()
