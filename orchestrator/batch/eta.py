"""Estimate of the remaining time of a batch, from the points that were run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean

from orchestrator.batch.experiment import Point
from orchestrator.progress import Progress

Weigh = Callable[[Point], float]
"""Relative cost of a point among those of its target, before one of its plan was run."""
Kind = tuple[str, str]
"""Plan and target."""


class RemainingTime:
    """Remaining time, shared by workers: each point costs the mean of those of its plan.

    Before one of its plan was run, the cost comes from other points, of the same target if
    possible, by weight. There is no estimate before the first point was run.
    """

    def __init__(
        self, points: Sequence[Point], workers: int, kept: int, weigh: Weigh = lambda point: 1.0
    ) -> None:
        self._left = Counter(_kind(point) for point in points)
        self._weights = {_kind(point): weigh(point) for point in points}
        self._costs: dict[Kind, list[float]] = {}
        self._workers, self._kept, self._all = max(workers, 1), kept, len(points)

    @property
    def share(self) -> float:
        """Share of the points to run that is done."""
        return 1.0 if not self._all else 1 - self._left.total() / self._all

    def done(self, point: Point, cost_s: float) -> None:
        """Note that a point was run, in so many seconds of one worker."""
        self._left[_kind(point)] -= 1
        self._costs.setdefault(_kind(point), []).append(cost_s)

    def seconds(self) -> float | None:
        """Remaining seconds; None before the first point."""
        if not self._costs:
            return None
        total = 0.0
        for kind, count in self._left.items():
            costs = self._costs.get(kind)
            total += count * (sum(costs) / len(costs) if costs else self._guess(kind))
        return total / min(self._workers, max(self._left.total(), 1))

    def _guess(self, kind: Kind) -> float:
        """Cost of a point from those of other plans, by weight."""
        alike = {k: costs for k, costs in self._costs.items() if k[1] == kind[1]} or self._costs
        weights = sum(self._weights[k] * len(costs) for k, costs in alike.items())
        return self._weights[kind] * sum(map(sum, alike.values())) / weights

    def words(self) -> str:
        """Text of the progress bar: points done of all, and the remaining time."""
        text = f"{self._all - self._left.total()} of {self._all} points"
        if self._kept:
            text += f", {self._kept} from before"
        seconds = self.seconds()
        if seconds is None or not self._left.total():
            return text
        return f"{text}, about {format_seconds(seconds)} left"


def _kind(point: Point) -> Kind:
    return point.subject.name, point.subject.target


def format_seconds(seconds: float) -> str:
    """Text of a time: 40 s, 1.5 h."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


STAGE = "running points"


class SweepProgress:
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
            text += f", about {format_seconds(seconds)} left"
        return Progress(STAGE, done / max(self.most, 1), text)
