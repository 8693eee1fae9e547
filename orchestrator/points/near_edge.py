"""Adaptive sampling: parameter points close to where the answer changes, `--design adaptive`.

The corners of the space come first, then, round by round, the middle of intervals or simplices that
may cross the threshold, by the learners of `adaptive` (bisection along one parameter, triangles and
tetrahedra between several). Parameters that are lists or have steps are not bisected: each of their
combinations is a space of its own, and all share the budget.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from orchestrator.errors import BadInput
from orchestrator.points.axis import LIST, Axis
from orchestrator.points.grid import Place

ROUND = 2
"""Parameter points per round, for each corner of each space: fewer adapt better, more keep more
workers busy. Independent of the number of workers, which would change the choice."""
FAINT = 1 / 32
"""Relative loss of an interval or simplex on one side, against one that crosses the threshold."""
PATIENCE = 8
"""Rounds without a new parameter point (values are rounded) after which the search ends."""
BELOW, UNSURE, ABOVE = -1, 0, 1
"""Sides of the threshold; unsure where the confidence interval contains it."""
Texts = tuple[str, ...]


class NearEdge:
    """Sampler that chooses points, round by round, by the sides of the earlier ones. Needs
    `adaptive`."""

    def __init__(self, axes: Sequence[Axis], most: int, said: str) -> None:
        """`most`: most parameter points. Raises BadInput, which names the option `said`."""
        self._axes, self._most = axes, most
        self.halved = [
            at for at, axis in enumerate(axes) if axis.spacing != LIST and not axis.count
        ]
        """Indices of the bisected parameters."""
        if not self.halved:
            text = "a range without steps (a..b) is expected, to be halved where the answer changes"
            raise BadInput(said, text)
        others = [axis.values() for at, axis in enumerate(axes) if at not in self.halved]
        self._fixed = list(itertools.product(*others))
        corners = len(self._fixed) * 2 ** len(self.halved)
        if corners > most:
            text = f"the corners alone are {corners} places; --points {corners} or more is expected"
            raise BadInput(said, text)
        self._round = ROUND * corners
        self._learner = _learner(len(self._fixed), len(self.halved))
        self._sides: dict[Texts, int] = {}
        self._open: dict[Texts, list[Any]] = {}

    def ask(self) -> list[Place]:
        """Next parameter points; empty at the end of the budget, or without a new one."""
        places: dict[Texts, Place] = {}
        room = min(self._round, self._most - len(self._sides))
        for _ in range(PATIENCE):
            if room <= len(places):
                break
            for which, at in self._learner.ask(room - len(places))[0]:
                place = self._place(which, np.atleast_1d(at))
                texts = tuple(value.text for value in place)
                if texts in self._sides:
                    self._learner.tell((which, at), self._sides[texts])
                    continue
                places[texts] = place
                self._open.setdefault(texts, []).append((which, at))
        return list(places.values())

    def tell(self, sides: Mapping[Texts, int]) -> None:
        """Take the side of each requested parameter point, by the texts of its values."""
        for texts, points in self._open.items():
            self._sides[texts] = sides[texts]
            for point in points:
                self._learner.tell(point, sides[texts])
        self._open.clear()

    def _place(self, which: int, shares: np.ndarray) -> Place:
        moving, fixed = iter(shares), iter(self._fixed[which])
        return tuple(
            axis.at(float(next(moving))) if at in self.halved else next(fixed)
            for at, axis in enumerate(self._axes)
        )


def side_of(mean: float | None, half: float | None, value: float) -> int:
    """Side of a mean with its interval; without a number: BELOW."""
    if mean is None:
        return BELOW
    if half is not None and abs(mean - value) <= half:
        return UNSURE
    return ABOVE if mean > value else BELOW


def _learner(spaces: int, dimensions: int) -> Any:
    try:
        from adaptive import BalancingLearner, Learner1D, LearnerND
    except ImportError:
        text = "not installed here; pip install 'tailback[sweeps]' brings what it needs"
        raise BadInput("--design adaptive", text) from None
    bounds = [(0.0, 1.0)] * dimensions
    if dimensions == 1:
        learners = [Learner1D(None, bounds[0], _length) for _ in range(spaces)]
    else:
        learners = [LearnerND(None, bounds, _volume) for _ in range(spaces)]
    return BalancingLearner(learners)


def _length(ends: Sequence[float], sides: Sequence[float]) -> float:
    """Loss of an interval of one parameter."""
    return abs(ends[1] - ends[0]) * _weight(np.asarray(sides, float))


def _volume(corners: np.ndarray, sides: np.ndarray, scale: float) -> float:
    """Loss of a triangle, or of a simplex of more dimensions."""
    edges = np.asarray(corners)[1:] - np.asarray(corners)[0]
    return abs(float(np.linalg.det(edges))) * _weight(np.asarray(sides, float))


def _weight(sides: np.ndarray) -> float:
    return 1.0 if sides.min() <= 0 <= sides.max() else FAINT
