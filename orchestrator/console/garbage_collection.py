"""Garbage collector that runs only while the user is idle.

A full collection takes some tens of milliseconds when a large plan is open. Python begins one
whenever enough was made anew, which is mostly in the middle of drawing what a key has asked for.
"""

from __future__ import annotations

import gc

QUIET_S = 1.0
"""Since the last key or mouse."""
ENOUGH = 20_000
"""Objects that came and did not go by themselves, since the last collection."""
TOO_MANY = 1_000_000
"""Threshold of allocations above which it collects even while the user presses keys."""


class Collector:
    """Stands for Python's own collector between `begin` and `end`."""

    def begin(self) -> None:
        """Freeze the objects made so far, mostly by imports, and take over from Python's
        collector.

        Where much is frozen already, the process that opened the console did so, and it stays.
        """
        gc.collect()
        self._freezes = gc.get_freeze_count() < ENOUGH
        if self._freezes:
            gc.freeze()
        gc.disable()

    def end(self) -> None:
        """As it was before."""
        gc.enable()
        if self._freezes:
            gc.unfreeze()

    def look(self, quiet_s: float) -> None:
        """Collect when it is due; the user has been idle for `quiet_s` (s)."""
        made = gc.get_count()[0]
        if made > (ENOUGH if quiet_s >= QUIET_S else TOO_MANY):
            gc.collect()
