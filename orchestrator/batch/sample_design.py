"""Parameter points of a sweep: every combination, or a sample that fills the space."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from enum import StrEnum

from orchestrator.batch.parameter_axis import LIST, Axis, Value
from orchestrator.errors import BadInput, Problem

ParameterPoint = tuple[Value, ...]
"""Parameter point: a value of each parameter."""
FEWEST, MOST_STEPS = 3, 9
"""Least and most steps of a range without a count."""
MOST_PARAMETER_POINTS = 100_000
SAMPLE_SEED = 1
"""Fixed: the same ranges give the same sample, whose results are in the store."""


class Design(StrEnum):
    """Designs of parameter points."""

    auto = "auto"
    grid = "grid"
    lhs = "lhs"
    sobol = "sobol"


class Layout(StrEnum):
    """Layouts of a sweep: the designs, Saltelli's sample, or adaptive sampling."""

    auto = "auto"
    grid = "grid"
    lhs = "lhs"
    sobol = "sobol"
    saltelli = "saltelli"
    adaptive = "adaptive"


def parameter_points(
    axes: Sequence[Axis], budget: int, design: Design = Design.auto, said: str = "--free"
) -> list[ParameterPoint]:
    """Parameter points: at most `budget`, unless an explicit grid has more. Raises BadInput.

    `auto` is the grid of all combinations where that is within the budget, else a Latin hypercube.
    """
    if resolve_design(axes, budget, design) is Design.grid:
        steps = _steps(axes, budget)
        every = [axis.values(steps) for axis in axes]
        if _product(every) > MOST_PARAMETER_POINTS:
            text = (
                f"at most {MOST_PARAMETER_POINTS} places are expected; name fewer, or --design lhs"
            )
            raise BadInput(said, [Problem(said, _product(every), text)])
        return list(itertools.product(*every))
    return _sampled(axes, budget, design)


def resolve_design(axes: Sequence[Axis], budget: int, design: Design) -> Design:
    """Resolve `auto`; any other design is returned unchanged."""
    if design is not Design.auto:
        return design
    return Design.grid if _fits(axes, budget) else Design.lhs


def is_grid(places: Sequence[ParameterPoint]) -> bool:
    """Return whether the points are all combinations of their values."""
    if not places:
        return False
    columns = [{value.text for value in column} for column in zip(*places, strict=True)]
    return _product(columns) == len({tuple(v.text for v in place) for place in places})


def _fits(axes: Sequence[Axis], budget: int) -> bool:
    steps = _steps(axes, budget)
    return _product([axis.values(steps) for axis in axes]) <= budget


def _steps(axes: Sequence[Axis], budget: int) -> int:
    """Steps of each range without a count: as many as the budget allows."""
    own = [axis.values() for axis in axes if axis.spacing == LIST or axis.count]
    free = len(axes) - len(own)
    if not free:
        return FEWEST
    room = max(budget // max(_product(own), 1), 1)
    steps = int(room ** (1 / free) + 1e-9)
    return min(max(steps, FEWEST), MOST_STEPS)


def _product(parts: Sequence[Sequence[object] | set[str]]) -> int:
    found = 1
    for part in parts:
        found *= len(part)
    return found


def _sampled(axes: Sequence[Axis], budget: int, design: Design) -> list[ParameterPoint]:
    """Sample by SciPy, without duplicates: values of lists, steps, and open ranges."""
    from scipy.stats import qmc  # the import takes 1 s: not for grids

    if design is Design.sobol:
        power = max(budget - 1, 1).bit_length()
        shares = qmc.Sobol(len(axes), rng=SAMPLE_SEED).random_base2(power)[:budget]
    else:
        shares = qmc.LatinHypercube(len(axes), rng=SAMPLE_SEED).random(budget)
    places: dict[tuple[str, ...], ParameterPoint] = {}
    for row in shares:
        place = tuple(axis.picked(float(at)) for axis, at in zip(axes, row, strict=True))
        places.setdefault(tuple(value.text for value in place), place)
    return list(places.values())
