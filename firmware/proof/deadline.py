"""How long a proof may take, of a core's time, wherever it is at: nothing goes on behind that.

What may take long looks at the clock by `check`: each statement of a kernel that is followed, each
bound that is computed, each operation of a kernel that runs on checked numbers, each clock of a
module. A solver is asked for no longer than is `left`.
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


class Late(Exception):
    """A proof's time is over."""


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


def check() -> None:
    """Raises Late where time is over."""
    global _looks
    _looks += 1
    if _looks >= EVERY:
        _looks = 0
        if time.process_time() > _until.get():
            raise Late
