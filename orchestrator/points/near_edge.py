"""Adaptive sampling: parameter points close to where the answer changes, `--design adaptive`.

The corners of the space come first, then, round by round, the middle of whatever lies across the
edge or may do so, by the learners of `adaptive` (bisection along one parameter, triangles and
tetrahedra between several). Parameters that are lists, or have steps of their own, are not
bisected: each combination of theirs is a space of its own, and all share the places there are.
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
"""Places that are chosen at a time, for each corner of each space: fewer halve more often, more
keep more workers busy. Not by the number of these, which would change the places."""
FAINT = 1 / 32
"""What a piece of the space on one side counts beside one of its size that the edge crosses."""
PATIENCE = 8
"""Rounds in a row that bring no new place, since the values of axes are rounded: all is known."""
BELOW, UNSURE, ABOVE = -1, 0, 1
"""Sides of the edge. Where an interval holds the edge nobody knows."""
Texts = tuple[str, ...]


class NearEdge:
    """Chooses places, round by round, by the sides of those before. Needs `adaptive`."""

    def __init__(self, axes: Sequence[Axis], most: int, said: str) -> None:
        """`most`: places in all. Raises BadInput, which names `said`."""
        self._axes, self._most = axes, most
        self.halved = [
            at for at, axis in enumerate(axes) if axis.spacing != LIST and not axis.count
        ]
        """Which parameters are bisected."""
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
        """The next places; none when there are as many as there may be, or nothing is new."""
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
        """The side of each place that was asked for, by the texts of its values."""
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
    """Of a place by the interval of its mean. One without a number is not above."""
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
    """The loss of a piece of one parameter."""
    return abs(ends[1] - ends[0]) * _weight(np.asarray(sides, float))


def _volume(corners: np.ndarray, sides: np.ndarray, scale: float) -> float:
    """The loss of a triangle, or of its like in more dimensions; sides keep their sign."""
    edges = np.asarray(corners)[1:] - np.asarray(corners)[0]
    return abs(float(np.linalg.det(edges))) * _weight(np.asarray(sides, float))


def _weight(sides: np.ndarray) -> float:
    return 1.0 if sides.min() <= 0 <= sides.max() else FAINT
