"""Limits of a proof: CPU time and number of checks; exceeding one ends the proof.

Long work calls `check_limits`: each statement of an executed kernel, each computed bound, each
operation of a kernel on checked numbers, each clock of a module. A solver gets no more time than is
`seconds_left`. A
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
_checks = 0


_most = float("inf")


class ProofTimeout(Exception):
    """The CPU time of a proof is exhausted."""


class StepLimitExceeded(Exception):
    """A run exceeded its number of checks."""


@contextmanager
def time_limit(cpu_s: float) -> Iterator[None]:
    """Within this block `check_limits` raises Late after so many CPU seconds of this process."""
    token = _until.set(min(_until.get(), time.process_time() + cpu_s))
    try:
        yield
    finally:
        _until.reset(token)


def seconds_left() -> float:
    """CPU seconds until the limit; negative after it."""
    return _until.get() - time.process_time()


@contextmanager
def step_limit(looks: int) -> Iterator[None]:
    """Within this block `check_limits` raises Endless after so many calls."""
    global _most
    before, _most = _most, _checks + looks
    try:
        yield
    finally:
        _most = before


def checks_made() -> int:
    """Number of calls of `check_limits`."""
    return _checks


def check_limits() -> None:
    """Raises Late after the time limit, Endless after the limit of checks."""
    global _checks
    _checks += 1
    if _checks >= _most:
        raise StepLimitExceeded
    if _checks % EVERY == 0 and time.process_time() > _until.get():
        raise ProofTimeout
