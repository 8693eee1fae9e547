"""Crossings: values of one parameter between which the answer changes, others fixed.

A crossing lies between two neighbouring parameter points on different sides of the threshold;
points whose side is unsure are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from orchestrator.points.axis import LIST, Axis
from orchestrator.points.grid import Place
from orchestrator.points.near_edge import BELOW, UNSURE


def along_one(axes: Sequence[Axis], searched: bool) -> int | None:
    """Index of the parameter along which crossings are reported: the only range, else None.

    In a search parameters with steps count as fixed.
    """
    ranged = [
        at for at, axis in enumerate(axes) if axis.spacing != LIST and not (searched and axis.count)
    ]
    return ranged[0] if len(ranged) == 1 else None


def brackets(
    axes: Sequence[Axis], along: int, places: Sequence[Place], sides: Mapping[int, int]
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
