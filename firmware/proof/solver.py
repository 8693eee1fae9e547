"""The z3 solver: a context of its own for every proof, answers bounded by resource counts.

What a solver finds hangs on the numbers and names of all terms that were made beside its own, and
whether it finds it in a time, on what else the machine does. So a proof makes its terms in a room
(`apart`) that nothing was made in before, and a question is given so many of the solver's own
steps, as is the proof, of which the same takes the same number every time (`answer`). The clock
bounds a proof as a whole, too (firmware.proof.deadline); what comes before that hangs on neither.

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

from firmware.proof.deadline import left
from orchestrator.errors import Refused

T = TypeVar("T")
LOOK_S = 0.1
"""So often it is looked whether a proof's time is over."""
STEPS_A_SECOND = 1_500_000
"""What a second of a question's or a proof's time is in steps of the solver: about half of what it
takes in one, so that steps are over before the clock says so on a machine half as fast."""
COUNT = "rlimit count"
MOST_STEPS = (1 << 32) - 1
"""What the solver counts to."""


class Room:
    """The solver's module, with a context of its own in the place of the one of the process, and
    so many seconds of STEPS_A_SECOND for all that is asked in it."""

    def __init__(self, module: Any, seconds: float) -> None:
        self._module, self._context = module, module.Context()
        self.kept: dict[object, Any] = {}
        self.steps_left = seconds * STEPS_A_SECOND
        self._counted = 0

    def count(self, solver: Any) -> None:
        """Take off what was done since the last question, and for this one."""
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


_room: ContextVar[Room | None] = ContextVar("room", default=None)
_kept: dict[object, Any] = {}
"""What was made in the context of the process."""


def z3() -> Any:
    """The solver, as it is within a proof. Raises Refused where it is not installed."""
    return _room.get() or _installed()


def _installed() -> Any:
    if importlib.util.find_spec("z3") is None:
        raise Refused("prove", "the solver is missing", "pip install 'tailback[prove]'")
    import z3

    return z3


@contextmanager
def apart(seconds: float) -> Iterator[None]:
    """Within this block all terms are made where none was made before, and the solver gets so many
    seconds of STEPS_A_SECOND. No term may be used behind it or come from before it."""
    token = _room.set(Room(_installed(), seconds))
    try:
        yield
    finally:
        _room.reset(token)


def once(make: Callable[..., T]) -> Callable[..., T]:
    """What a function makes of terms that no proof differs in, made once in each room."""

    @functools.wraps(make)
    def cached(*args: Any) -> T:
        room = _room.get()
        kept = _kept if room is None else room.kept
        if (make, args) not in kept:
            kept[make, args] = make(*args)
        made: T = kept[make, args]
        return made

    return cached


def answer(solver: Any, seconds: float) -> str:
    """What a solver says in so many seconds of STEPS_A_SECOND: "sat", "unsat" or "unknown".

    Of a proof whose steps or time are over nothing is asked; one that is asked when its time is
    over is interrupted.
    """
    room, steps = _room.get(), seconds * STEPS_A_SECOND
    if room is not None:
        steps = min(steps, room.steps_left)
    if steps < 1 or left() <= 0:
        return "unknown"
    solver.set("rlimit", int(min(steps, MOST_STEPS)))
    try:
        with _interrupted(solver, time.process_time() + left()):
            return str(solver.check())
    finally:
        if room is not None:
            room.count(solver)


@contextmanager
def _interrupted(solver: Any, until: float) -> Iterator[None]:
    """Within this block a solver is interrupted when time.process_time() is beyond that."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(LOOK_S):
            if time.process_time() > until:
                solver.ctx.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
