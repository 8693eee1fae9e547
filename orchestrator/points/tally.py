"""Progress of a sweep: points done, and the remaining time by the clock."""

from __future__ import annotations

import time
from statistics import fmean

from orchestrator.points.left import spoken
from orchestrator.progress import Progress

STAGE = "running points"


class Tally:
    """Points of all that there may be: kept from before, run, left.

    The clock begins with the first points that were run, one for each of the `workers`: they start,
    and may have to compile. Before it tells, slow points say themselves how long they take.
    """

    def __init__(self, most: int, workers: int) -> None:
        self.most, self.kept, self.run = most, 0, 0
        self._begun: float | None = None
        self._workers = workers
        self._going: dict[str, float] = {}

    def going(self, digest: str, seconds: float) -> None:
        """A point that is under way takes so many seconds in all, as far as it knows."""
        if self._begun is None:
            self._going[digest] = seconds

    def done(self) -> None:
        """One more was run."""
        self.run += 1
        if self.run == self._workers:
            self._begun = time.monotonic()

    def seconds(self) -> float | None:
        """The time left if all that is left has to be run; None before anything is known."""
        left, run = self.most - self.kept - self.run, self.run - self._workers
        if self._begun is not None and run > 0:
            return (time.monotonic() - self._begun) / run * left
        if self._going:
            return fmean(self._going.values()) * left / max(min(self._workers, left), 1)
        return None

    def progress(self) -> Progress:
        """For the bar."""
        done = self.kept + self.run
        text = f"{done} of {self.most} points"
        if self.kept:
            text += f", {self.kept} from before"
        if (seconds := self.seconds()) is not None and done < self.most:
            text += f", about {spoken(seconds)} left"
        return Progress(STAGE, done / max(self.most, 1), text)
