"""Limits of a proof: CPU time and number of checks; exceeding one ends the proof.

Long work calls `check`: each statement of an executed kernel, each computed bound, each operation
of a kernel on checked numbers, each clock of a module. A solver gets no more time than is `left`. A
concrete run is limited by the number of checks, so that its result does not depend on the clock.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

EVERY = 32
"""Number of checks per reading of the clock, which is a system call."""
_until: ContextVar[float] = ContextVar("until", default=float("inf"))
_looks = 0


_most = float("inf")


class Late(Exception):
    """The CPU time of a proof is exhausted."""


class Endless(Exception):
    """A run exceeded its number of checks."""


@contextmanager
def within(cpu_s: float) -> Iterator[None]:
    """Within this block `check` raises Late after so many CPU seconds of this process."""
    token = _until.set(min(_until.get(), time.process_time() + cpu_s))
    try:
        yield
    finally:
        _until.reset(token)


def left() -> float:
    """CPU seconds until the limit; negative after it."""
    return _until.get() - time.process_time()


@contextmanager
def counted(looks: int) -> Iterator[None]:
    """Within this block `check` raises Endless after so many calls."""
    global _most
    before, _most = _most, _looks + looks
    try:
        yield
    finally:
        _most = before


def looks() -> int:
    """Number of calls of `check`."""
    return _looks


def check() -> None:
    """Raises Late after the time limit, Endless after the limit of checks."""
    global _looks
    _looks += 1
    if _looks >= _most:
        raise Endless
    if _looks % EVERY == 0 and time.process_time() > _until.get():
        raise Late
