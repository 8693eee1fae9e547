"""How long tests wait for what must happen: a guard against hanging, which judges nothing.

Wait for a sign (a line, a file, a count, the end of a process) and use these as its limit; a test
that waits for a fixed time instead, or whose limit is short, fails on a busy machine. A time that
is part of what a test judges belongs to that test, which then needs the cores for itself
(`software` without `shares_cores`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE_S = 120.0
POLL_S = 0.01


def eventually(condition: Callable[[], Any], what: str, within_s: float = PATIENCE_S) -> Any:
    """The first true value of a condition; fails with `what` after `within_s` seconds."""
    deadline = time.monotonic() + within_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
        time.sleep(POLL_S)
    return found
