"""Trial of drawn mutants: which of them move what a plan is about, and which rows miss those.

A mutant counts when a watched quantity moves by more than seeds do (`quantity_shift`): a value that
a row of [[expect]] judges and, in the phases of such rows, a metric that a [[figure]] draws, a
metric of the plan's own algorithms, or what a traffic entry gets. A mutant that counts and that no
row catches survives. Because many quantities are watched, a survivor counts only if the same
quantity moves again with seeds of its own (`CONFIRM`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.batch.batch_executor import MeasuredPoint
from orchestrator.batch.experiment import SIMULATED, Experiment, Point
from orchestrator.batch.mutant_draw import draw_mutants
from orchestrator.batch.mutation_trial import MutatedPlan, judge_mutant, plan_judgement
from orchestrator.batch.quantity_shift import Shift, Values, shift_between
from orchestrator.batch.seed_statistics import judge_seeds
from orchestrator.errors import BadInput
from orchestrator.plan import Plan, observers
from orchestrator.plan.observables import plugin_of

CAUGHT, SURVIVED = "caught", "survived"
SAME = "equivalent"
"""It measures bit for bit what the plan does with the first `FIRST` seeds."""
WITHIN = "within seeds"
"""It moves no watched quantity by more than seeds do."""
FAILED = "not run"
"""It makes a plan or a kernel that cannot be run, or that does not end."""
FIRST = 2
CONFIRM = 5
"""Seeds after the first ones with which a survivor's quantities have to move again."""
SHOWN = 5
"""Shifts of a mutant that are reported."""
BASE_COST, LEAST_S = 20, 20
"""A mutant's run may need so many times the CPU time of the plan's slowest run, and so many seconds
more."""
Quantity = tuple[str, str, str]
"""Metric, entity, phase."""
Run = Callable[[list[Point], dict[str, str] | None], list[MeasuredPoint]]
"""Runs points; with a dictionary the failures of experiments go there."""


@dataclass
class _Tried:
    changed: MutatedPlan
    points: list[MeasuredPoint] = field(default_factory=list)
    failure: str = ""


class DrawnTrial:
    """A plan and the mutants that a seed draws, before they are run."""

    def __init__(self, plan: Plan, count: int, seed: int, seeds: Sequence[int]) -> None:
        """`count` mutants by `seed`; every one is run with `seeds`. Raises BadInput."""
        if not plan.expect:
            raise BadInput(
                plan.source, "it has no [[expect]], so that nothing could catch a mutant"
            )
        if len(seeds) < FIRST:
            text = f"at least {FIRST} seeds are expected with --draw: one shows no spread"
            raise BadInput("--seeds", text)
        self.plan, self.seed, self.seeds = plan, seed, list(seeds)
        self.subject = Experiment.of(plan, SIMULATED)
        self.drawn = draw_mutants(plan, self.subject, count, seed)

    def run(self, run: Run) -> dict[str, Any]:
        """Run everything, and judge it."""
        own = run([Point(self.subject, seed) for seed in self.seeds], None)
        cpu_s = LEAST_S + BASE_COST * max(one.row["cost_s"] for one in own)
        tried = [
            _Tried(replace(one, subject=replace(one.subject, cpu_s=cpu_s))) for one in self.drawn
        ]
        _run_all(tried, self.seeds[:FIRST], run)
        rest = [one for one in tried if not one.failure and not _is_same(own, one.points)]
        _run_all(rest, self.seeds[FIRST:], run)
        judged = plan_judgement(self.plan, own)
        watched = _Watched(self.plan)
        found = [self._judged(one, own, judged["sound"], watched) for one in tried]
        self._confirm(tried, found, own, watched, run)
        for one in found:
            one.pop("all_moved", None)
        counts = {
            outcome: sum(one["outcome"] == outcome for one in found)
            for outcome in (CAUGHT, SURVIVED, SAME, WITHIN, FAILED)
        }
        return {
            "plan": self.plan.name,
            "draw": len(found),
            "seed": self.seed,
            "seeds": self.seeds,
            "verdict": judged["verdict"],
            "expectations": judged["expectations"],
            "mutants": found,
            "counted": counts[CAUGHT] + counts[SURVIVED],
            "outcomes": counts,
            "caught": counts[CAUGHT],
            "ok": judged["settled"] and not counts[SURVIVED],
        }

    def _judged(
        self, one: _Tried, own: Sequence[MeasuredPoint], sound: list[bool], watched: _Watched
    ) -> dict[str, Any]:
        """Judgement of one mutant, with what moved."""
        mutant, kernel = one.changed.mutant, one.changed.subject.kernel
        head: dict[str, Any] = {
            "name": mutant.name,
            "change": mutant.note,
            "set": mutant.set,
            "drop": mutant.drop,
            "kernel": None if kernel is None else kernel.source,
        }
        if one.failure:
            return head | {"outcome": FAILED, "caught_by": [], "moved": [], "reasons": one.failure}
        if len(one.points) < len(self.seeds):
            return head | {"outcome": SAME, "caught_by": [], "moved": []}
        result = judge_mutant(self.plan, one.changed, one.points, sound)
        moved = watched.moved(own, one.points, one.changed.plan)
        caught_by = result["caught_by"]
        outcome = WITHIN if not moved else CAUGHT if caught_by else SURVIVED
        return head | {
            "outcome": outcome,
            "caught_by": caught_by,
            "without_its_entity": result["without_its_entity"],
            "moved": _most_moved(moved),
            "all_moved": list(moved),
        }

    def _confirm(
        self,
        tried: list[_Tried],
        found: list[dict[str, Any]],
        own: Sequence[MeasuredPoint],
        watched: _Watched,
        run: Run,
    ) -> None:
        """Run survivors with further seeds; one whose quantities do not move again does not
        count."""
        pairs = zip(tried, found, strict=True)
        survivors = [(one, row) for one, row in pairs if row["outcome"] == SURVIVED]
        if not survivors:
            return
        first = max(self.seeds) + 1
        seeds = list(range(first, first + CONFIRM))
        base = run([Point(self.subject, seed) for seed in seeds], None)
        again = [_Tried(one.changed) for one, _ in survivors]
        _run_all(again, seeds, run)
        for one, (_, row) in zip(again, survivors, strict=True):
            moved = watched.moved(base, one.points, one.changed.plan) if not one.failure else {}
            kept = {name: shift for name, shift in moved.items() if name in row["all_moved"]}
            if kept:
                row["moved"] = _most_moved(kept)
            else:
                row["outcome"] = WITHIN


def _run_all(tried: list[_Tried], seeds: Sequence[int], run: Run) -> None:
    """Run mutants with seeds; a failed one keeps the text of its failure."""
    points = [Point(one.changed.subject, seed) for one in tried for seed in seeds]
    failures: dict[str, str] = {}
    measured = run(points, failures)
    by_digest: dict[str, list[MeasuredPoint]] = {}
    for each in measured:
        by_digest.setdefault(each.point.subject.digest, []).append(each)
    for one in tried:
        digest = one.changed.subject.digest
        one.failure = failures.get(digest, "")
        one.points += by_digest.get(digest, [])


def _is_same(own: Sequence[MeasuredPoint], mutant: Sequence[MeasuredPoint]) -> bool:
    """Return whether a mutant measures what the plan does, with the same seeds."""
    by_seed = {one.point.seed: one.row["metrics"] for one in own}
    return all(by_seed[one.point.seed] == one.row["metrics"] for one in mutant)


def _most_moved(moved: dict[str, Shift]) -> list[dict[str, Any]]:
    most = sorted(moved, key=lambda name: -abs(moved[name].share))[:SHOWN]
    return [
        {"quantity": name, "before": shift.before, "after": shift.after}
        for name in most
        for shift in [moved[name]]
    ]


class _Watched:
    """The quantities that a plan is about: of its rows, figures, algorithms and sources, in the
    phases that its rows judge."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._drawn = [(one.y, frozenset(one.of)) for one in plan.figure]
        self._phases = {one.phase for one in plan.expect}

    def moved(
        self, own: Sequence[MeasuredPoint], mutant: Sequence[MeasuredPoint], changed: Plan
    ) -> dict[str, Shift]:
        """Name -> shift of each that moved by more than seeds do, of entities that both have."""
        entities = observers.observed_entities(changed)
        found: dict[str, Shift] = {}
        for name, before, after in (*self._rows(own, mutant), *self._metrics(own, mutant)):
            metric, _, of = name.partition(" of ")
            ends = of.rpartition(" in ")[0].split(" / ")
            if not all(observers.has_metric(metric, entities.get(e, frozenset())) for e in ends):
                continue
            if (shift := shift_between(before, after)) is not None:
                found.setdefault(name, shift)
        return found

    def _rows(
        self, own: Sequence[MeasuredPoint], mutant: Sequence[MeasuredPoint]
    ) -> Iterator[tuple[str, Values, Values]]:
        sides = [judge_seeds(self._plan, side)["expectations"] for side in (own, mutant)]
        for expect, before, after in zip(self._plan.expect, *sides, strict=True):
            yield expect.called, before["values"], after["values"]

    def _metrics(
        self, own: Sequence[MeasuredPoint], mutant: Sequence[MeasuredPoint]
    ) -> Iterator[tuple[str, Values, Values]]:
        for phase, by_entity in own[0].row["metrics"].items():
            if phase not in self._phases:
                continue
            for of, metrics in by_entity.items():
                for metric in metrics:
                    if self._is_watched(metric, of):
                        key = metric, of, phase
                        sides = [[_value(one, key) for one in side] for side in (own, mutant)]
                        yield f"{metric} of {of} in {phase}", sides[0], sides[1]

    def _is_watched(self, metric: str, of: str) -> bool:
        if plugin_of(metric) or (metric == "throughput_bps" and of in self._plan.traffic):
            return True
        return any(
            of in entities and (metric == y or metric.startswith(f"{y}."))
            for y, entities in self._drawn
        )


def _value(one: MeasuredPoint, key: Quantity) -> float | None:
    metric, of, phase = key
    value: float | None = one.row["metrics"].get(phase, {}).get(of, {}).get(metric)
    return value
