"""Progress of a sweep: points done, and the remaining time by the clock."""

from __future__ import annotations

import time
from statistics import fmean

from orchestrator.points.left import spoken
from orchestrator.progress import Progress

STAGE = "running points"


class Tally:
    """Progress of a sweep: points from the store, run, and left of the most possible.

    The clock starts after the first point of each of the `workers`, which includes the start and
    perhaps the compilation. Before that, slow points report their own estimates.
    """

    def __init__(self, most: int, workers: int) -> None:
        self.most, self.kept, self.run = most, 0, 0
        self._begun: float | None = None
        self._workers = workers
        self._going: dict[str, float] = {}

    def going(self, digest: str, seconds: float) -> None:
        """Note the estimated duration (s) of a running point."""
        if self._begun is None:
            self._going[digest] = seconds

    def done(self) -> None:
        """Count a finished point."""
        self.run += 1
        if self.run == self._workers:
            self._begun = time.monotonic()

    def seconds(self) -> float | None:
        """Remaining time (s) if all points left have to be run; None before an estimate."""
        left, run = self.most - self.kept - self.run, self.run - self._workers
        if self._begun is not None and run > 0:
            return (time.monotonic() - self._begun) / run * left
        if self._going:
            return fmean(self._going.values()) * left / max(min(self._workers, left), 1)
        return None

    def progress(self) -> Progress:
        """State of the progress bar."""
        done = self.kept + self.run
        text = f"{done} of {self.most} points"
        if self.kept:
            text += f", {self.kept} from before"
        if (seconds := self.seconds()) is not None and done < self.most:
            text += f", about {spoken(seconds)} left"
        return Progress(STAGE, done / max(self.most, 1), text)
