"""CPU throttle of the console while a data path runs on this machine.

Its threads spin on their cores, so that whatever the console uses on a machine without a core to
spare is taken from them: with the horizon of the run's clock as short as it is, each second of the
processor that is used beside it is one by which its clock is held back. While such a run goes on
the console looks for news and draws by itself less often (keys are answered at once as ever), and
its session has less weight. Linux weighs sessions against each
other, and a process's nice value counts within its session alone; that of a session can be put back
by anybody, that of a process cannot.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

NICE = 5
"""A third of the ordinary weight: 3 % of a core that a data path at -10 has taken."""
AUTOGROUP = Path("/proc/self/autogroup")
DRAW_S, MOST_DRAW_S = 1.0, 3.0
"""Bounds of the time between two drawings without user input (s)."""
REST = 100.0
"""Seconds of rest for each second of the processor that went into the console."""
TICK_S = 0.5
"""Polling interval when no key or mouse event came for QUIET_S (s)."""
QUIET_S = 3.0


class CpuThrottle:
    """See the module. `look` takes whether a data path runs on this machine."""

    def __init__(self, autogroup: Path = AUTOGROUP) -> None:
        self._autogroup = autogroup
        self._before: int | None = None
        """The session's nice value before it was changed; None: it is as it was."""
        self.now = False

    def look(self, at_work: bool) -> None:
        """Give way, or take it again."""
        if at_work == self.now:
            return
        self.now = at_work
        with suppress(OSError, ValueError, IndexError):  # no such thing on this system
            if not at_work:
                self._put_back()
            else:
                nice = int(self._autogroup.read_text(encoding="ascii").split()[-1])
                if 0 <= nice < NICE:  # one that was raised may be that of the data path itself
                    self._autogroup.write_text(str(NICE), encoding="ascii")
                    self._before = nice

    def _put_back(self) -> None:
        if self._before is not None:
            self._autogroup.write_text(str(self._before), encoding="ascii")
            self._before = None
