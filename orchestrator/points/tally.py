"""How far a sweep is, and how long the rest takes: by the clock, not by what points say."""

from __future__ import annotations

import time

from orchestrator.points.left import spoken
from orchestrator.progress import Progress

STAGE = "running points"


class Tally:
    """Points of all that there may be: kept from before, run, left.

    The clock begins with the first `skip` that were run: workers start, and may have to compile.
    """

    def __init__(self, most: int, skip: int) -> None:
        self.most, self.kept, self.run = most, 0, 0
        self._begun: float | None = None
        self._skip = skip

    def done(self) -> None:
        """One more was run."""
        self.run += 1
        if self.run == self._skip:
            self._begun = time.monotonic()

    def seconds(self) -> float | None:
        """The time left if all that is left has to be run; None before anything is known."""
        run = self.run - self._skip
        if self._begun is None or run < 1:
            return None
        return (time.monotonic() - self._begun) / run * (self.most - self.kept - self.run)

    def progress(self) -> Progress:
        """For the bar."""
        done = self.kept + self.run
        text = f"{done} of {self.most} points"
        if self.kept:
            text += f", {self.kept} from before"
        if (seconds := self.seconds()) is not None and done < self.most:
            text += f", about {spoken(seconds)} left"
        return Progress(STAGE, done / max(self.most, 1), text)
