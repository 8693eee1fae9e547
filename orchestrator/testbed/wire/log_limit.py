"""Rate limiter for log messages about unauthenticated peers."""

from __future__ import annotations

import time
from collections.abc import Callable

WINDOW_S = 60.0
MOST = 20
"""Sentences in a window; those beyond are counted."""
LONGEST = 500


class LogLimit:
    """Rate limiter: call it with a sentence; the number of suppressed ones is logged with the next
    window."""

    def __init__(
        self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say, self._clock = say, clock
        self._began, self._said, self._withheld = clock(), 0, 0

    def __call__(self, sentence: str) -> None:
        """Say it, or count it."""
        self.turn()
        if self._said < MOST:
            self._said += 1
            self._say(sentence[:LONGEST])
        else:
            self._withheld += 1

    def turn(self) -> None:
        """Begin a new window when it is due, and log the number of suppressed sentences."""
        now = self._clock()
        if now - self._began < WINDOW_S:
            return
        if self._withheld:
            self._say(f"{self._withheld} more of the kind in {now - self._began:.0f} s")
        self._began, self._said, self._withheld = now, 0, 0
