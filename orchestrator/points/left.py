"""Estimate of the remaining time of a batch, from the points that were run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from orchestrator.points.subject import Point

Weigh = Callable[[Point], float]
"""Relative cost of a point among those of its target, before one of its plan was run."""
Kind = tuple[str, str]
"""Plan and target."""


class Left:
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
        return f"{text}, about {spoken(seconds)} left"


def _kind(point: Point) -> Kind:
    return point.subject.name, point.subject.target


def spoken(seconds: float) -> str:
    """Text of a time: 40 s, 1.5 h."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
