"""Signals that wait until a block is over, for the end of a thread that nothing may outlive.

A signal may interrupt the wait for a thread. What the thread uses would be closed under it then;
and in Python 3.11 an interrupted `Thread.join` marks a thread that still runs as ended: `is_alive`
is False, and the next `join` returns at once. So a thread is started within the block whose end
stops it, and started, stopped and waited for with signals deferred.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

PATIENCE_S = 10.0
"""Further signals are deferred for so long after the first one: a block may wait for a thread that
does not end."""


@contextlib.contextmanager
def deferred_signals() -> Iterator[None]:
    """Within this block SIGINT, SIGTERM and SIGHUP wait; their handlers are called after it.

    Outside the main thread, which alone runs handlers, nothing changes. Signals that are ignored or
    end the process by default are not deferred.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = dict[int, Any]()
    pending = dict[int, float]()

    def defer(number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if pending and now - next(iter(pending.values())) > PATIENCE_S:
            handlers[number](number, frame)
        pending.setdefault(number, now)

    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and callable(handler := signal.getsignal(number)):
                handlers[number] = handler
                signal.signal(number, defer)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in pending:
            handlers[number](number, None)
