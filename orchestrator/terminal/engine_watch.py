"""Ends a process whose compiled code does not return although a signal asks it to end.

Python calls handlers of signals between its own instructions. A kernel whose loop ends by its data
may never get there, so that neither Ctrl-C nor SIGTERM would end its run. Numbers of signals are
written to a pipe as they arrive; a thread reads them and looks if the main thread moves on.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import os
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from orchestrator.engine.kernel_guards import helpers
from orchestrator.plan import ResolvedPlan
from orchestrator.terminal import exit_codes

PATIENCE_S = 10.0
"""Time for compiled code to return after a signal; the simulator's takes some 50 ms."""
LOOK_S = 0.1
CALLERS = (
    "orchestrator.engine.object_cache",
    "orchestrator.engine.jit",
    "orchestrator.targets.simulated",
    "orchestrator.targets.parallel.parallel_run",
)
"""Modules whose functions call compiled code that kernels run in."""
SIGNALLED = 128
MOST_NAMED = 5
SHOW_CURSOR = "\x1b[?25h"

_running: list[ResolvedPlan] = []
"""The plan in the engine, innermost last."""


@contextlib.contextmanager
def watched_engine(resolved: ResolvedPlan) -> Iterator[None]:
    """Within this block a signal ends the process if the main thread does not get to its handler.

    The sentence on stderr names the plan's kernels with a `while` loop. Where handlers of signals
    do not raise, or another thread drives the block, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread() or not _raises(signal.SIGINT):
        yield
        return
    writer = _pipe()
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if before not in (-1, writer):  # an event loop's
        signal.set_wakeup_fd(before)
        yield
        return
    _running.append(resolved)
    try:
        yield
    finally:
        _running.pop()
        signal.set_wakeup_fd(before)


def _raises(number: int) -> bool:
    handler = signal.getsignal(number)
    return handler is signal.default_int_handler or exit_codes.is_raising(handler)


@functools.cache
def _pipe() -> int:
    """Writing end of the pipe, which the watching thread reads."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    main = threading.get_ident()
    threading.Thread(target=_watch, args=(reader, main), name="engine-watch", daemon=True).start()
    return writer


def _watch(reader: int, main: int) -> None:
    while True:
        (number,) = os.read(reader, 1)
        if _running and _raises(number) and _is_stuck(main):
            _end(number, _running[-1])


def _is_stuck(main: int) -> bool:
    """True if the main thread executes no instruction of Python within PATIENCE_S, in a CALLER."""
    first, end = _position(main), time.monotonic() + PATIENCE_S
    if first is None:
        return False
    while time.monotonic() < end:
        time.sleep(LOOK_S)
        if not _running or _position(main) != first:
            return False
    return True


def _position(main: int) -> tuple[int, int] | None:
    """The instruction at which the main thread calls compiled code; None: it is elsewhere."""
    frame = sys._current_frames()[main]
    return (id(frame), frame.f_lasti) if frame.f_globals.get("__name__") in CALLERS else None


def _end(number: int, resolved: ResolvedPlan) -> None:
    name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
    text = f"tailback: {name}: compiled code has not returned for {PATIENCE_S:g} s"
    if found := while_loops(resolved):
        text += ": a loop of a kernel may not end, with these data; the plan's are in "
        text += "; ".join(found[:MOST_NAMED])
        text += f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    with contextlib.suppress(OSError, ValueError):  # its reader is gone
        print(f"{SHOW_CURSOR if sys.stderr.isatty() else ''}{text}", file=sys.stderr, flush=True)
    os._exit(SIGNALLED + number)


def while_loops(resolved: ResolvedPlan) -> list[str]:
    """Plugin, kernel, file and line of the `while` loops in the kernels of a plan."""
    found: dict[str, None] = {}
    for holders in resolved.uses.values():
        for use in holders.values():
            for event, kernel in {**use.algorithm.kernels, **use.algorithm.timers}.items():
                functions = [kernel, *(one.py_func for one in helpers(kernel))]
                for place in (place for one in functions for place in _loops_of(one)):
                    found[f"plugin {use.algorithm.name!r}, kernel {event} ({place})"] = None
    return list(found)


def _loops_of(function: Callable[..., Any]) -> Iterator[str]:
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        return  # made without a file
    for node in ast.walk(tree):
        if isinstance(node, ast.While):
            yield f"{function.__code__.co_filename}:{first + node.lineno - 1}"
