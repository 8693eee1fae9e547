"""Trial of a plan on a target over seeds, with its mutants: points to run, and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.batch.batch_executor import MeasuredPoint
from orchestrator.batch.experiment import SIMULATED, Experiment, Point
from orchestrator.batch.mutation_trial import ACCEPTED_OUTCOMES, CAUGHT, MutationTrial
from orchestrator.batch.pace_search import octets, real_seconds
from orchestrator.batch.seed_statistics import judge_seeds
from orchestrator.errors import Refused
from orchestrator.plan import Plan
from orchestrator.run.verdict import INVALID, check
from orchestrator.terminal import format_output

NOT_RUN, REFUSED = "not run", "refused"
STARTING = 1e9
"""Start-up cost of a point, in octets: a second or less."""
OF_ROW = ("met", "uncertain", "uncertainty", "met_in", "count", "mean", "sd", "least", "most")
ByDigest = Mapping[str, MeasuredPoint]
"""Results, by the digests of their points."""


@dataclass(frozen=True)
class PlanTrial:
    """Trial of a plan on a target, made by `of`. A refused plan has no points."""

    plan: Plan
    target: str
    seeds: list[int]
    own: list[Point]
    trial: MutationTrial | None
    """Its mutants; on `simulated` alone."""
    refused: str = ""

    @classmethod
    def of(
        cls,
        plan: Plan,
        target: str,
        seeds: Sequence[int],
        mutants_over: int | None = None,
        **how: Any,
    ) -> PlanTrial:
        """`how`: further options of a target in real time. Raises BadInput.

        `mutants_over`: number of the first seeds over which mutants are judged; None: all.
        """
        options = {} if target == SIMULATED else how
        try:
            subject = Experiment.of(plan, target, **options)
        except Refused as error:
            return cls(plan, target, list(seeds), [], None, str(error))
        tried = plan.mutant and target == SIMULATED
        trial = MutationTrial.of(plan, seeds[:mutants_over]) if tried else None
        return cls(plan, target, list(seeds), [Point(subject, seed) for seed in seeds], trial)

    @property
    def mutants(self) -> list[Point]:
        """The points of its mutants, and the plan's own of seeds that they alone need."""
        own = {one.digest for one in self.own}
        points = [] if self.trial is None else self.trial.points()
        return [one for one in points if one.digest not in own]

    @property
    def weight(self) -> float:
        """Relative cost of a point: the octets that its links could carry, or its duration."""
        if self.target != SIMULATED:
            return real_seconds(self.plan)
        return STARTING + octets(self.plan)

    def judge(self, found: ByDigest) -> dict[str, Any]:
        """Judge the results. With a missing point the trial, or its mutants, count as not run."""
        ours = [found[one.digest] for one in self.own if one.digest in found]
        paces = {one.row["fidelity"].get("pace", 1.0) for one in ours if "fidelity" in one.row}
        result = {
            "target": self.target,
            "seeds": self.seeds,
            "run": len(ours),
            "pace": min(paces, default=1.0),
        }
        rows: list[dict[str, Any]] = []
        if self.own and len(ours) == len(self.own):
            judged = judge_seeds(self.plan, ours)
            verdict, rows = judged["verdict"], judged["expectations"]
            result |= {"reasons": sorted({r for seed in judged["seeds"] for r in seed["reasons"]})}
        else:
            verdict = REFUSED if self.refused else NOT_RUN
        return {
            **result,
            "verdict": verdict,
            "refused": self.refused,
            "rows": [
                {key: row[key] for key in OF_ROW} | {"why": _why(row, verdict)} for row in rows
            ],
            "mutants": self._mutants(found),
        }

    def _mutants(self, found: ByDigest) -> dict[str, Any] | None:
        if self.trial is None:
            return None
        points = self.trial.points()
        counted = sum(not mutant.equivalent for mutant in self.plan.mutant)
        if not all(one.digest in found for one in points):
            untold: dict[str, Any] = {"caught": None, "as_said": None, "others": []}
            return {"counted": counted, "seeds": self.trial.seeds, **untold}
        result = self.trial.judge([found[one.digest] for one in points])
        others = [
            {"name": one["name"], "outcome": one["outcome"], "why": one["survives"] or one["same"]}
            for one in result["mutants"]
            if one["outcome"] != CAUGHT
        ]
        return {
            "counted": result["counted"],
            "seeds": self.trial.seeds,
            "caught": result["caught"],
            "as_said": all(one["outcome"] in ACCEPTED_OUTCOMES for one in others),
            "others": others,
        }


def _why(row: Mapping[str, Any], verdict: str) -> str:
    """Reason why an unmet row says nothing about the algorithm; empty where it does.

    Such a row depends on the machine, or needs more seeds.
    """
    if row["met"]:
        return ""
    if verdict == INVALID:
        return "the machine distorted the run, which says nothing then (see below the table)"
    if "no_bar" in row:
        return "its metric has no error bar on real frames, and is judged on `simulated` alone"
    if row["uncertain"] and row["uncertainty"] is None:
        return "the machine may have put it off by any amount"
    if row["uncertain"]:
        off = format_output.quantity(row["uncertainty"], row["unit"])
        return f"the machine may have put it off by {off}, and a bound is no further away"
    if row["of_seeds"] and row["count"] == 1:
        return "one seed does not tell what is expected of many"
    return ""


def plan_expectations(plan: Plan) -> list[dict[str, Any]]:
    """Expectations of a plan as rows, before any run."""
    kept = ("metric", "of", "phase", "min", "max", "unit", "source", "note")
    return [
        {
            **{key: row[key] for key in kept},
            "of_seeds": expect.of_seeds,
            "differs": expect.known_miss or "",
        }
        for expect, row in zip(plan.expect, check(plan, {}, bare=False), strict=True)
    ]
