"""Limits of a proof: CPU time and number of checks; exceeding one ends the proof.

What may take long looks at the clock by `check`: each statement of a kernel that is followed, each
bound that is computed, each operation of a kernel that runs on checked numbers, each clock of a
module. A solver is asked for no longer than is `left`. So that what is found in a run hangs on no
clock, the run is given up behind so many looks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

EVERY = 32
"""So many looks are one at the clock, which is a call of the system."""
_until: ContextVar[float] = ContextVar("until", default=float("inf"))
_looks = 0


_most = float("inf")


class Late(Exception):
    """A proof's time is over."""


class Endless(Exception):
    """A run took more than it may, whatever the time."""


@contextmanager
def within(cpu_s: float) -> Iterator[None]:
    """Within this block `check` raises Late from so many seconds of this process on."""
    token = _until.set(min(_until.get(), time.process_time() + cpu_s))
    try:
        yield
    finally:
        _until.reset(token)


def left() -> float:
    """Seconds until then; below 0: it is over."""
    return _until.get() - time.process_time()


@contextmanager
def counted(looks: int) -> Iterator[None]:
    """Within this block `check` raises Endless from so many of its calls on."""
    global _most
    before, _most = _most, _looks + looks
    try:
        yield
    finally:
        _most = before


def looks() -> int:
    """How often `check` was called."""
    return _looks


def check() -> None:
    """Raises Late where time is over, Endless where a run is to be given up."""
    global _looks
    _looks += 1
    if _looks >= _most:
        raise Endless
    if _looks % EVERY == 0 and time.process_time() > _until.get():
        raise Late
