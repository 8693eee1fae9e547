"""Regions of parameter space in which a statement holds: extent and excluded values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

from orchestrator.points.axis import Axis, Value
from orchestrator.points.grid import Place

Holds = Sequence[Sequence[bool]]
"""For each parameter point: whether each statement holds."""


def region(axes: Sequence[Axis], places: Sequence[Place], inside: Sequence[bool]) -> dict[str, Any]:
    """Region of the points inside, by parameter, and whether their bounding box is free of
    others."""
    within = [place for place, yes in zip(places, inside, strict=True) if yes]
    extents = [_extent(axis, at, places, within) for at, axis in enumerate(axes)]
    boxed = [place for place in places if within and _in_box(place, within)]
    return {
        "places": len(within),
        "of": len(places),
        "box_places": len(boxed),
        "parameters": extents,
    }


def _extent(
    axis: Axis, at: int, places: Sequence[Place], within: Sequence[Place]
) -> dict[str, Any]:
    """Extent along one parameter: the values inside, and the nearest tried values outside."""
    tried = _values(place[at] for place in places)
    found = _values(place[at] for place in within)
    texts = {value.text for value in found}
    below = [v for v in tried if found and v.number < found[0].number]
    above = [v for v in tried if found and v.number > found[-1].number]
    return {
        "key": axis.label,
        "least": found[0].text if found else None,
        "most": found[-1].text if found else None,
        "values": [value.text for value in found],
        "tried": [value.text for value in tried],
        "gaps": [
            v.text
            for v in tried
            if found and found[0].number < v.number < found[-1].number and v.text not in texts
        ],
        "none_below": below[-1].text if below else None,
        "none_above": above[0].text if above else None,
    }


def never(axes: Sequence[Axis], places: Sequence[Place], inside: Sequence[bool]) -> dict[str, Any]:
    """Parameter -> values at which the statement holds for no values of the others."""
    found: dict[str, list[str]] = {}
    for at, axis in enumerate(axes):
        holding = {p[at].text for p, yes in zip(places, inside, strict=True) if yes}
        out = [v.text for v in _values(p[at] for p in places) if v.text not in holding]
        if out and holding:
            found[axis.label] = out
    return found


def excluded_alone(holds: Holds, statement: int) -> list[int]:
    """Parameter points that only this statement excludes."""
    return [
        at
        for at, row in enumerate(holds)
        if not row[statement] and all(yes for other, yes in enumerate(row) if other != statement)
    ]


def contradictions(holds: Holds) -> list[tuple[int, ...]]:
    """Smallest sets of statements that hold together at no point, though their subsets do.

    Sets of one are statements that never hold; sets of more than three are not searched.
    """
    count = len(holds[0]) if holds else 0
    columns = [frozenset(at for at, row in enumerate(holds) if row[one]) for one in range(count)]
    found: list[tuple[int, ...]] = []
    for size in (1, 2, 3):
        for chosen in combinations(range(count), size):
            if any(set(smaller) <= set(chosen) for smaller in found):
                continue
            if not frozenset.intersection(*(columns[one] for one in chosen)):
                found.append(chosen)
    return found


def _values(values: Any) -> list[Value]:
    """Values of a parameter in order, without duplicates."""
    return sorted({v.text: v for v in values}.values(), key=lambda value: value.number)


def _in_box(place: Place, within: Sequence[Place]) -> bool:
    def between(at: int, pick: Callable[..., float]) -> float:
        return pick(other[at].number for other in within)

    return all(
        between(at, min) <= value.number <= between(at, max) for at, value in enumerate(place)
    )
