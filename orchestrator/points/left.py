"""How long the points that are left will take, from those that were run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from orchestrator.points.subject import Point


class Left:
    """The time left: each point costs the mean of those of its plan, or of all, shared by workers.

    Nothing is said before the first point was run.
    """

    def __init__(self, points: Sequence[Point], workers: int, kept: int) -> None:
        self._left = Counter(point.subject.name for point in points)
        self._costs: dict[str, list[float]] = {}
        self._workers, self._kept, self._all = max(workers, 1), kept, len(points)

    @property
    def share(self) -> float:
        """Of the points that had to be run, done."""
        return 1.0 if not self._all else 1 - self._left.total() / self._all

    def done(self, point: Point, cost_s: float) -> None:
        """One was run, in so many seconds of one worker."""
        self._left[point.subject.name] -= 1
        self._costs.setdefault(point.subject.name, []).append(cost_s)

    def seconds(self) -> float | None:
        """None before anything is known."""
        every = [cost for costs in self._costs.values() for cost in costs]
        if not every:
            return None
        total = 0.0
        for name, count in self._left.items():
            costs = self._costs.get(name, every)
            total += count * sum(costs) / len(costs)
        return total / min(self._workers, max(self._left.total(), 1))

    def words(self) -> str:
        """For the bar: how many of how many, and the time left."""
        text = f"{self._all - self._left.total()} of {self._all} points"
        if self._kept:
            text += f", {self._kept} from before"
        seconds = self.seconds()
        if seconds is None or not self._left.total():
            return text
        return f"{text}, about {spoken(seconds)} left"


def spoken(seconds: float) -> str:
    """A time for people: 40 s, 1.5 h."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
