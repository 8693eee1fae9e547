"""The z3 solver: a context of its own for every proof, answers bounded by resource counts.

The solver's results depend on all terms made in its context, and on the time on the load of the
machine. So a proof makes its terms in a new context (`separate_context`), and a question, like the
proof, is
limited by the solver's resource count, which is reproducible (`check_sat`). The clock bounds a
proof as a whole as well (firmware.proof.time_limit); results before that limit depend on neither.

z3 is only imported here, and only when something is to be proved.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from firmware.proof.time_limit import seconds_left
from orchestrator.deferred_signals import deferred_signals
from orchestrator.errors import Refused

T = TypeVar("T")
POLL_S = 0.1
"""Interval of checks of a proof's time limit."""
STEPS_A_SECOND = 1_500_000
"""Resource count of the solver per second of a limit: about half of its real rate, so that the
count ends before the time on a machine half as fast."""
COUNT = "rlimit count"
MOST_STEPS = (1 << 32) - 1
"""Largest limit of the solver's resource count."""


class SolverContext:
    """The solver's module with a context of its own instead of the process's, and a resource limit
    of so many seconds of STEPS_A_SECOND."""

    def __init__(self, module: Any, seconds: float) -> None:
        self._module, self._context = module, module.Context()
        self.kept: dict[object, Any] = {}
        self.steps_left = seconds * STEPS_A_SECOND
        self._counted = 0

    def count(self, solver: Any) -> None:
        """Subtract the resources used since the last question."""
        counted = solver.statistics().get_key_value(COUNT)
        self.steps_left -= counted - self._counted
        self._counted = counted

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if name in ("And", "Or"):
            found = functools.partial(self._all_of, found)
        elif callable(found) and "ctx" in inspect.signature(found).parameters:
            found = functools.partial(found, ctx=self._context)
        setattr(self, name, found)
        return found

    def _all_of(self, make: Callable[..., Any], *conditions: Any) -> Any:
        return make(*conditions, self._context)


_context: ContextVar[SolverContext | None] = ContextVar("room", default=None)
_process_cache: dict[object, Any] = {}
"""Results made in the context of the process."""


def z3() -> Any:
    """The solver in the current context. Raises Refused where it is not installed."""
    return _context.get() or _installed()


def _installed() -> Any:
    if importlib.util.find_spec("z3") is None:
        raise Refused("prove", "the solver is missing", "pip install 'tailback-testbed[prove]'")
    import z3

    return z3


@contextmanager
def separate_context(seconds: float) -> Iterator[None]:
    """Make all terms of a block in a new context, with a limit of so many seconds of
    STEPS_A_SECOND. No term may cross the ends of the block."""
    token = _context.set(SolverContext(_installed(), seconds))
    try:
        yield
    finally:
        _context.reset(token)


def cached_per_context(make: Callable[..., T]) -> Callable[..., T]:
    """Decorator that caches a function's terms once per context."""

    @functools.wraps(make)
    def cached(*args: Any) -> T:
        room = _context.get()
        kept = _process_cache if room is None else room.kept
        if (make, args) not in kept:
            kept[make, args] = make(*args)
        made: T = kept[make, args]
        return made

    return cached


def check_sat(solver: Any, seconds: float) -> str:
    """Answer of a solver within so many seconds of STEPS_A_SECOND: "sat", "unsat" or "unknown".

    After the limits of the proof nothing is asked; a running question is interrupted at the time
    limit.
    """
    room, steps = _context.get(), seconds * STEPS_A_SECOND
    if room is not None:
        steps = min(steps, room.steps_left)
    if steps < 1 or seconds_left() <= 0:
        return "unknown"
    solver.set("rlimit", int(min(steps, MOST_STEPS)))
    try:
        with _interrupted(solver, time.process_time() + seconds_left()):
            return str(solver.check())
    finally:
        if room is not None:
            room.count(solver)


@contextmanager
def _interrupted(solver: Any, until: float) -> Iterator[None]:
    """Within this block a solver is interrupted when time.process_time() is beyond that."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(POLL_S):
            if time.process_time() > until:
                solver.ctx.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    try:
        with deferred_signals():
            watcher.start()
        yield
    finally:
        with deferred_signals():
            done.set()
            if watcher.ident is not None:
                watcher.join()
