"""Regions in which a plan's statements hold, over ranges of its free parameters.

search = Search.of(plan, read_axes(["nodes.t4.buffer=8KB..256KB"]), places, seeds)
result = search.judge(carry_out(search.points()))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan
from orchestrator.points.axis import Axis
from orchestrator.points.carry import Found
from orchestrator.points.grid import Place, is_grid
from orchestrator.points.regions import contradictions, excluded_alone, never, region
from orchestrator.points.seeds import judge_seeds
from orchestrator.points.subject import SIMULATED, Point, Subject
from orchestrator.progress import Progress, Report, silent
from orchestrator.run.verdict import INVALID

FORMAT = 1
"""Version of explain.json."""
STAGE = "making plans"
SAID = ("metric", "of", "phase", "min", "max", "unit", "of_seeds", "source", "note")


@dataclass(frozen=True)
class Search:
    """Search for regions: a plan at many parameter points, before they are run."""

    plan: Plan
    axes: list[Axis]
    places: list[Place]
    """Parameter points with a valid plan."""
    subjects: list[Subject]
    """One experiment for each parameter point."""
    refused: list[tuple[Place, str]]
    """Parameter points without a valid plan, with the reason."""
    seeds: list[int]

    @classmethod
    def of(
        cls,
        plan: Plan,
        axes: Sequence[Axis],
        places: Sequence[Place],
        seeds: Sequence[int],
        progress: Report = silent,
    ) -> Search:
        """Make the plans, for `simulated`. Raises BadInput without expectations or valid plans."""
        if not plan.expect:
            raise BadInput(plan.source, "it has no [[expect]]: there is nothing to hold anywhere")
        kept, subjects, refused = list[Place](), list[Subject](), list[tuple[Place, str]]()
        problem: BadInput | Refused | None = None
        for at, place in enumerate(places):
            progress(Progress(STAGE, at / len(places), f"{at} of {len(places)} places"))
            settings = [s for axis, v in zip(axes, place, strict=True) for s in axis.settings(v)]
            try:
                subject = Subject.of(plan.with_settings(settings), SIMULATED)
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

    def judge(self, found: Sequence[Found]) -> dict[str, Any]:
        """Judge the results of `points()`: each statement, all together, every parameter point."""
        count = len(self.seeds)
        parts = [found[at : at + count] for at in range(0, len(found), count)]
        results = [judge_seeds(self.plan, part) for part in parts]
        holds = [[_holds(row, one) for row in one["expectations"]] for one in results]
        every = [all(row) for row in holds]
        most = max(sum(row) for row in holds)
        told = [expect.name or expect.called for expect in self.plan.expect]
        return {
            "tailback": FORMAT,
            "plan": self.plan.name,
            "title": self.plan.title,
            "seeds": self.seeds,
            "grid": is_grid(self.places) and not self.refused,
            "free": [_axis(axis) for axis in self.axes],
            "statements": [self._statement(at, holds, results) for at in range(len(told))],
            "all": region(self.axes, self.places, every),
            "most": most,
            "best": [at for at, row in enumerate(holds) if sum(row) == most],
            "contradictions": [[told[at] for at in chosen] for chosen in contradictions(holds)],
            "places": [
                self._place(at, holds[at], result, parts[at]) for at, result in enumerate(results)
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
            **{key: first[key] for key in SAID},
            "least": min(values, default=None),
            "most": max(values, default=None),
            "region": region(self.axes, self.places, own),
            "never_at": never(self.axes, self.places, own),
            "excludes_alone": excluded_alone(holds, at),
        }

    def _place(
        self, at: int, held: Sequence[bool], result: dict[str, Any], part: Sequence[Found]
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


def _texts(axes: Sequence[Axis], place: Place) -> dict[str, str]:
    return {axis.label: value.text for axis, value in zip(axes, place, strict=True)}
