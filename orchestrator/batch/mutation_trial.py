"""Mutation trial: runs a plan and its mutants, and judges which expectations notice them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from orchestrator.batch.batch_executor import MeasuredPoint
from orchestrator.batch.experiment import SIMULATED, Experiment, Point
from orchestrator.batch.seed_statistics import judge_seeds
from orchestrator.errors import BadInput, Problem
from orchestrator.plan import Plan, observers
from orchestrator.plan.apply_mutant import mutated
from orchestrator.plan.mutant_match import matching_expectations
from orchestrator.plan.mutant_table import Mutant
from orchestrator.plan.timeline_tables import Expect
from orchestrator.run.verdict import INVALID, MET

CAUGHT, SURVIVED, SAME = "caught", "survived", "same"
OTHERWISE = "caught by others"
"""The mutant misses an expectation, but not all that it names."""
DISTINGUISHED = "not the same"
"""The mutant is declared equivalent, but misses an expectation."""
EXPECTED = "survived as said"
"""The mutant misses no expectation, for a reason that the plan gives."""
ACCEPTED_OUTCOMES = (CAUGHT, SAME, EXPECTED)


@dataclass(frozen=True)
class MutatedPlan:
    """A mutant of a plan, ready to be run."""

    mutant: Mutant
    plan: Plan
    subject: Experiment
    seeds: Sequence[int] = ()
    """Of the trial, and those that follow if it needs more."""


@dataclass(frozen=True)
class MutationTrial:
    """A plan and its mutants, before they are run."""

    plan: Plan
    subject: Experiment
    changed: list[MutatedPlan]
    seeds: list[int]

    @property
    def own_seeds(self) -> Sequence[int]:
        """Seeds of the plan itself: the most that one of its mutants has, of which all others
        have the first."""
        return max((self.seeds, *(one.seeds for one in self.changed)), key=len)

    @classmethod
    def of(cls, plan: Plan, seeds: Sequence[int]) -> MutationTrial:
        """Make the mutants, for `simulated`. Raises BadInput for an invalid or unchanged plan."""
        if not plan.mutant:
            raise BadInput(plan.source, "it has no [[mutant]]; see docs/mutants.md")
        subject, changed = Experiment.of(plan, SIMULATED), list[MutatedPlan]()
        for mutant in plan.mutant:
            other = mutated(plan, mutant)
            try:
                found = Experiment.of(other, SIMULATED)
            except BadInput as error:
                source = f"{plan.source}: mutant {mutant.name}"
                raise BadInput(source, error.problems or str(error)) from None
            if found.digest == subject.digest:
                accepted = "a change that makes another plan of it is expected"
                problem = Problem("set, drop", "what the plan says already", accepted)
                raise BadInput(f"{plan.source}: mutant {mutant.name}", [problem])
            changed.append(MutatedPlan(mutant, other, found, seeds_of(mutant, seeds)))
        return cls(plan, subject, changed, list(seeds))

    def points(self) -> list[Point]:
        """Points of the plan, then of each mutant."""
        subjects = [(self.subject, self.own_seeds)]
        subjects += [(one.subject, one.seeds) for one in self.changed]
        return [Point(subject, seed) for subject, seeds in subjects for seed in seeds]

    def judge(self, found: Sequence[MeasuredPoint]) -> dict[str, Any]:
        """Judge the results of `points()`."""
        results = iter(found)
        parts = [list(islice(results, len(self.own_seeds)))]
        parts += [list(islice(results, len(one.seeds))) for one in self.changed]
        own = plan_judgement(self.plan, parts[0][: len(self.seeds)])
        mutants = [
            judge_mutant(self.plan, one, part, self.sound_rows(parts[0], one))
            for one, part in zip(self.changed, parts[1:], strict=True)
        ]
        counted = [one for one in mutants if not one["same"]]
        return {
            "plan": own["plan"],
            "seeds": self.seeds,
            "verdict": own["verdict"],
            "expectations": own["expectations"],
            "mutants": mutants,
            "counted": len(counted),
            "caught": sum(one["outcome"] == CAUGHT for one in counted),
            "ok": own["settled"] and all(one["outcome"] in ACCEPTED_OUTCOMES for one in mutants),
        }

    def sound_rows(self, own: Sequence[MeasuredPoint], changed: MutatedPlan) -> list[bool]:
        """`sound` of `plan_judgement`, over the seeds of a mutant."""
        found = plan_judgement(self.plan, own[: len(changed.seeds)])["sound"]
        assert isinstance(found, list)
        return found


def seeds_of(mutant: Mutant, seeds: Sequence[int]) -> list[int]:
    """Seeds of a mutant in a trial with `seeds`: as many as it needs, those that follow last."""
    following = (seed for seed in count(1) if seed not in seeds)
    return [*seeds, *islice(following, max(0, mutant.seeds - len(seeds)))]


def plan_judgement(plan: Plan, found: Sequence[MeasuredPoint]) -> dict[str, Any]:
    """Judgement of the plan itself: of which rows it can be told that a mutant misses them
    (`sound`), and whether it misses none without a reason (`settled`)."""
    own = judge_seeds(plan, found)
    sound = [bool(row["met"]) or _open(row) for row in own["expectations"]]
    valid = own["verdict"] != INVALID and not any("incomplete" in one.row for one in found)
    met = own["verdict"] == MET or (valid and all(sound))  # one seed cannot judge a row of many
    rows = zip(plan.expect, sound, strict=True)
    return {
        "plan": own["plan"],
        "verdict": MET if met else own["verdict"],
        "expectations": own["expectations"],
        "sound": sound,
        "settled": valid and all(good or expect.known_miss for expect, good in rows),
    }


def _open(row: dict[str, Any]) -> bool:
    """Return whether the row needs more than one seed."""
    return row["of_seeds"] is not None and row["count"] == 1


def judge_mutant(
    plan: Plan, changed: MutatedPlan, found: Sequence[MeasuredPoint], sound: Sequence[bool]
) -> dict[str, Any]:
    """Judgement of one mutant: the expectations that detected it, and its outcome."""
    mutant, result = changed.mutant, judge_seeds(plan, found)
    entities = observers.observed_entities(changed.plan)
    caught_by, gone = list[int](), list[int]()
    for at, (expect, row) in enumerate(zip(plan.expect, result["expectations"], strict=True)):
        if not sound[at] or _open(row) or not _missed(row):
            continue
        (caught_by if _has_entities(expect, entities) else gone).append(at)
    named = [matching_expectations(plan, text)[0] for text in mutant.expected_misses]
    not_missed = [at for at in named if at not in caught_by]
    names = [plan.expect[at].name or plan.expect[at].called for at in range(len(plan.expect))]
    return {
        "name": mutant.name,
        "seeds": list(changed.seeds),
        "outcome": _outcome(mutant, caught_by, not_missed),
        "caught_by": [{"called": names[at], **result["expectations"][at]} for at in caught_by],
        "named_but_met": [{"called": names[at], **result["expectations"][at]} for at in not_missed],
        "without_its_entity": [names[at] for at in gone],
        "same": mutant.equivalent,
        "survives": mutant.survives,
        "note": mutant.note,
        "set": mutant.set,
        "drop": mutant.drop,
        "invalid_in": sum(seed["fidelity"] == "invalid" for seed in result["seeds"]),
        "reasons": sorted({reason for seed in result["seeds"] for reason in seed["reasons"]}),
    }


def _outcome(mutant: Mutant, caught_by: list[int], not_missed: list[int]) -> str:
    if mutant.equivalent:
        return DISTINGUISHED if caught_by else SAME
    if not caught_by:
        return EXPECTED if mutant.survives else SURVIVED
    return OTHERWISE if not_missed else CAUGHT


def _missed(row: dict[str, Any]) -> bool:
    """Return whether a row is missed: with most seeds, or by `of_seeds`; one seed does not
    suffice."""
    if row["of_seeds"] is not None:
        return not row["met"]
    return bool(2 * row["met_in"] < row["count"])


def _has_entities(expect: Expect, entities: dict[str, frozenset[str]]) -> bool:
    """Return whether the mutated plan still has the entities of an expectation."""
    of = [expect.of] if expect.relative_to is None else [expect.of, expect.relative_to]
    return all(observers.has_metric(expect.metric, entities.get(name, frozenset())) for name in of)
