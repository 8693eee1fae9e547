"""Adaptive sampling: parameter points close to where the answer changes, `--design adaptive`.

The corners of the space come first, then, round by round, the middle of intervals or simplices that
may cross the threshold, by the learners of `adaptive` (bisection along one parameter, triangles and
tetrahedra between several). Parameters that are lists or have steps are not bisected: each of their
combinations is a space of its own, and all share the budget.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from orchestrator.batch.parameter_axis import LIST, Axis
from orchestrator.batch.sample_design import ParameterPoint
from orchestrator.errors import BadInput

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


class AdaptiveSampler:
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

    def ask(self) -> list[ParameterPoint]:
        """Next parameter points; empty at the end of the budget, or without a new one."""
        places: dict[Texts, ParameterPoint] = {}
        room = min(self._round, self._most - len(self._sides))
        for _ in range(PATIENCE):
            if room <= len(places):
                break
            for which, at in self._learner.ask(room - len(places))[0]:
                place = self._parameter_point(which, np.atleast_1d(at))
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

    def _parameter_point(self, which: int, shares: np.ndarray) -> ParameterPoint:
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
        text = "not installed here; pip install 'tailback-testbed[sweeps]' brings what it needs"
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


# Crossings: values of one parameter between which the answer changes, others fixed.
#
# A crossing lies between two neighbouring parameter points on different sides of the threshold;
# points whose side is unsure are skipped.


def crossing_axis(axes: Sequence[Axis], searched: bool) -> int | None:
    """Index of the parameter along which crossings are reported: the only range, else None.

    In a search parameters with steps count as fixed.
    """
    ranged = [
        at for at, axis in enumerate(axes) if axis.spacing != LIST and not (searched and axis.count)
    ]
    return ranged[0] if len(ranged) == 1 else None


def edge_crossings(
    axes: Sequence[Axis], along: int, places: Sequence[ParameterPoint], sides: Mapping[int, int]
) -> list[dict[str, Any]]:
    """Each crossing: `at` the values of the others, `from` and `to` texts, `to_above` or not.

    In the order in which the others' values came, then along the parameter.
    """
    lines: dict[tuple[str, ...], dict[float, tuple[str, int]]] = {}
    for number, side in sides.items():
        place = places[number]
        others = tuple(value.text for at, value in enumerate(place) if at != along)
        line = lines.setdefault(others, {})
        if side != UNSURE:
            line[place[along].number] = place[along].text, side
    labels = [axis.label for at, axis in enumerate(axes) if at != along]
    return [
        {
            "along": axes[along].label,
            "at": dict(zip(labels, others, strict=True)),
            "from": low,
            "to": high,
            "to_above": before == BELOW,
        }
        for others, line in lines.items()
        for (low, before), (high, after) in pairwise([line[number] for number in sorted(line)])
        if before != after
    ]
