"""Wall clock of a run on cards: CLOCK_MONOTONIC, with a wait until the next step."""

from __future__ import annotations

import time
from typing import Protocol

NS = 1000
SPIN_PS = 200_000_000
"""Busy-polled end of a wait, because a sleep ends late."""


class Clock(Protocol):
    """Clock in ps."""

    def now(self) -> int:
        """The time (ps)."""

    def until(self, when: int) -> None:
        """Wait for a time (ps)."""


class WallClock:
    """CLOCK_MONOTONIC."""

    def now(self) -> int:
        """The time (ps)."""
        return time.monotonic_ns() * NS

    def until(self, when: int) -> None:
        """Wait for a time (ps)."""
        while (left := when - self.now()) > 0:
            if left > SPIN_PS:
                time.sleep((left - SPIN_PS) / 1e12)
