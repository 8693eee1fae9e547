"""Background compilation: on the first run of a version a second process compiles the engine.

Compiling keeps one core busy. Meanwhile this process imports modules, reads the plan, lays it out
and compiles the algorithms' kernels; then it waits, and loads the engine from the cache that the
other process filled (`orchestrator.run.compile_process`). If that process fails, this one compiles
the engine.

Nothing here imports numba, so that the other process starts at once.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator

from orchestrator import python_command
from orchestrator.engine import cache_paths

LEAST_CORES = 2
SIMULATED = "simulated"
PATIENCE_S = 5.0
"""Time for a terminated process to end."""

_children = list[subprocess.Popen[bytes]]()


def available_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_useful(target: str | None) -> bool:
    """Return whether a run on a target (None: the plan's) would have to wait for the compiler."""
    return (
        target in (None, SIMULATED)
        and os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
        and available_cores() >= LEAST_CORES
        and not cache_paths.is_engine_cached()
    )


@contextlib.contextmanager
def background_compile(target: str | None) -> Iterator[None]:
    """Compile the engine in the background of a block that reads a plan and runs it, if useful.

    The other process ends with this block, and with this process (its stdin is then closed).
    """
    if not is_useful(target):
        yield
        return
    child = subprocess.Popen(
        python_command.module("orchestrator.run.compile_process"),
        env=python_command.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    _children.append(child)
    try:
        yield
    finally:
        _children.remove(child)
        _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process."""
    if child.stdin is not None:
        child.stdin.close()
    try:
        child.terminate()
        child.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def wait_for_compile() -> None:
    """Wait for the processes that `background_compile` started; return at once without any."""
    for child in _children:
        child.wait()
