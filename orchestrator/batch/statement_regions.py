"""Regions in which a plan's statements hold, over ranges of its free parameters.

search = Search.of(plan, read_axes(["nodes.t4.buffer=8KB..256KB"]), places, seeds)
result = search.judge(carry_out(search.points()))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from orchestrator.batch.batch_executor import MeasuredPoint
from orchestrator.batch.experiment import SIMULATED, Experiment, Point
from orchestrator.batch.parameter_axis import Axis, Value
from orchestrator.batch.sample_design import ParameterPoint, is_grid
from orchestrator.batch.seed_statistics import judge_seeds
from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan
from orchestrator.progress import Progress, Report, silent
from orchestrator.run.verdict import INVALID

Holds = Sequence[Sequence[bool]]
"""For each parameter point: whether each statement holds."""


def region(
    axes: Sequence[Axis], places: Sequence[ParameterPoint], inside: Sequence[bool]
) -> dict[str, Any]:
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
    axis: Axis, at: int, places: Sequence[ParameterPoint], within: Sequence[ParameterPoint]
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


def never(
    axes: Sequence[Axis], places: Sequence[ParameterPoint], inside: Sequence[bool]
) -> dict[str, Any]:
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


def _in_box(place: ParameterPoint, within: Sequence[ParameterPoint]) -> bool:
    def between(at: int, pick: Callable[..., float]) -> float:
        return pick(other[at].number for other in within)

    return all(
        between(at, min) <= value.number <= between(at, max) for at, value in enumerate(place)
    )


FORMAT = 1
"""Version of explain.json."""
STAGE = "making plans"
EXPECTATION_KEYS = ("metric", "of", "phase", "min", "max", "unit", "of_seeds", "source", "note")


@dataclass(frozen=True)
class RegionSearch:
    """Search for regions: a plan at many parameter points, before they are run."""

    plan: Plan
    axes: list[Axis]
    places: list[ParameterPoint]
    """Parameter points with a valid plan."""
    subjects: list[Experiment]
    """One experiment for each parameter point."""
    refused: list[tuple[ParameterPoint, str]]
    """Parameter points without a valid plan, with the reason."""
    seeds: list[int]

    @classmethod
    def of(
        cls,
        plan: Plan,
        axes: Sequence[Axis],
        places: Sequence[ParameterPoint],
        seeds: Sequence[int],
        progress: Report = silent,
    ) -> RegionSearch:
        """Make the plans, for `simulated`. Raises BadInput without expectations or valid plans."""
        if not plan.expect:
            raise BadInput(plan.source, "it has no [[expect]]: there is nothing to hold anywhere")
        kept, subjects, refused = (
            list[ParameterPoint](),
            list[Experiment](),
            list[tuple[ParameterPoint, str]](),
        )
        problem: BadInput | Refused | None = None
        for at, place in enumerate(places):
            progress(Progress(STAGE, at / len(places), f"{at} of {len(places)} places"))
            settings = [s for axis, v in zip(axes, place, strict=True) for s in axis.settings(v)]
            try:
                subject = Experiment.of(plan.with_settings(settings), SIMULATED)
            except (BadInput, Refused) as error:
                problem = problem or error
                refused.append((place, str(error)))
            else:
                kept.append(place)
                subjects.append(subject)
        if not kept and problem is not None:
            raise problem
        return cls(plan, list(axes), kept, subjects, refused, list(seeds))

    def points(self) -> list[Point]:
        """Points to run: each parameter point with every seed."""
        return [Point(subject, seed) for subject in self.subjects for seed in self.seeds]

    def judge(self, found: Sequence[MeasuredPoint]) -> dict[str, Any]:
        """Judge the results of `points()`: each statement, all together, every parameter point."""
        count = len(self.seeds)
        parts = [found[at : at + count] for at in range(0, len(found), count)]
        results = [judge_seeds(self.plan, part) for part in parts]
        holds = [[_holds(row, one) for row in one["expectations"]] for one in results]
        every = [all(row) for row in holds]
        most = max(sum(row) for row in holds)
        names = [expect.name or expect.called for expect in self.plan.expect]
        return {
            "tailback": FORMAT,
            "plan": self.plan.name,
            "title": self.plan.title,
            "seeds": self.seeds,
            "grid": is_grid(self.places) and not self.refused,
            "free": [_axis(axis) for axis in self.axes],
            "statements": [self._statement(at, holds, results) for at in range(len(names))],
            "all": region(self.axes, self.places, every),
            "most": most,
            "best": [at for at, row in enumerate(holds) if sum(row) == most],
            "contradictions": [[names[at] for at in chosen] for chosen in contradictions(holds)],
            "places": [
                self._parameter_point_row(at, holds[at], result, parts[at])
                for at, result in enumerate(results)
            ],
            "refused": [
                {"values": _texts(self.axes, place), "reason": why} for place, why in self.refused
            ],
        }

    def _statement(
        self, at: int, holds: Sequence[Sequence[bool]], results: Sequence[dict[str, Any]]
    ) -> dict[str, Any]:
        """One expectation: the region where it holds, and the points that it alone excludes."""
        expect, first = self.plan.expect[at], results[0]["expectations"][at]
        own = [row[at] for row in holds]
        values = [v for one in results for v in one["expectations"][at]["values"] if v is not None]
        return {
            "called": expect.name or expect.called,
            **{key: first[key] for key in EXPECTATION_KEYS},
            "least": min(values, default=None),
            "most": max(values, default=None),
            "region": region(self.axes, self.places, own),
            "never_at": never(self.axes, self.places, own),
            "excludes_alone": excluded_alone(holds, at),
        }

    def _parameter_point_row(
        self, at: int, held: Sequence[bool], result: dict[str, Any], part: Sequence[MeasuredPoint]
    ) -> dict[str, Any]:
        rows = result["expectations"]
        return {
            "values": _texts(self.axes, self.places[at]),
            "numbers": [value.number for value in self.places[at]],
            "hold": sum(held),
            "holds": list(held),
            "met_in": [row["met_in"] for row in rows],
            "measured": [row["values"] for row in rows],
            "invalid_in": sum(one["fidelity"] == INVALID for one in result["seeds"]),
            "cost_s": sum(one.row.get("cost_s", 0.0) for one in part),
        }


def _holds(row: dict[str, Any], result: dict[str, Any]) -> bool:
    """Return whether a row holds: with most seeds, or by `of_seeds`; never in an invalid run."""
    if result["verdict"] == INVALID:
        return False
    if row["of_seeds"] is not None:
        return bool(row["met"])
    return bool(2 * row["met_in"] > row["count"])


def _axis(axis: Axis) -> dict[str, Any]:
    return {
        "key": axis.label,
        "keys": list(axis.keys),
        "spacing": axis.spacing,
        "unit": axis.unit,
    }


def _texts(axes: Sequence[Axis], place: ParameterPoint) -> dict[str, str]:
    return {axis.label: value.text for axis, value in zip(axes, place, strict=True)}
