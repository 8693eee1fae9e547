"""Draw of mutants by a seed: changes of a plan and edits of its kernels, half of each."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from orchestrator.algorithm import Algorithm
from orchestrator.batch.experiment import SIMULATED, Experiment
from orchestrator.batch.kernel_edit import KernelEdit
from orchestrator.batch.kernel_mutants import kernel_edits, kernel_functions
from orchestrator.batch.mutation_trial import MutatedPlan
from orchestrator.batch.plan_changes import PlanChanges
from orchestrator.errors import BadInput
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.apply_mutant import mutated
from orchestrator.plan.mutant_table import Mutant
from orchestrator.registry import Registry

SCHEMES = (
    *("congestion_point", "reaction_point", "notification_point", "pause", "receiver"),
    "watchdog",
)
"""Kinds of algorithms of a congestion control scheme; the others carry its frames."""
SCHEME_WEIGHT = 4
"""An algorithm of a scheme is drawn so many times as often as another one."""
TRIES = 50
"""Draws for each mutant that is wanted: some make no valid plan, or the same mutant again."""


def draw_mutants(plan: Plan, subject: Experiment, count: int, seed: int) -> list[MutatedPlan]:
    """Draw `count` different mutants of a plan, the same ones for a seed; fewer where it has fewer.

    `subject` is the plan's own experiment. A drawn change that makes no valid plan is drawn again;
    one that makes the same plan is kept, once: nothing can catch it.
    """
    resolved = plan.check(Registry.load())
    random, changes = Random(seed), PlanChanges(resolved)
    edits = _edits_by_operator(resolved)
    found: dict[str, MutatedPlan] = {}
    for _ in range(TRIES * count):
        if len(found) == count:
            break
        name = f"draw-{seed}-{len(found) + 1}"
        made: tuple[str, MutatedPlan] | None
        if edits and random.random() < 0.5:
            made = _drawn_edit(plan, subject, edits, random, name)
        else:
            made = _drawn_change(plan, changes, random, name)
        if made is not None:
            found.setdefault(*made)
    return list(found.values())


def _edits_by_operator(resolved: ResolvedPlan) -> list[tuple[int, list[list[list[KernelEdit]]]]]:
    """Of each algorithm: its weight, and of each of its functions the edits by operator."""
    algorithms: dict[str, Algorithm] = {
        use.algorithm.name: use.algorithm
        for uses in resolved.uses.values()
        for use in uses.values()
    }
    found = []
    for name in sorted(algorithms):
        functions = []
        for function, is_event in kernel_functions(algorithms[name]):
            by_operator: dict[str, list[KernelEdit]] = {}
            for operator, make in kernel_edits(function, is_event):
                if (edit := make()) is not None:
                    by_operator.setdefault(operator, []).append(edit)
            if by_operator:
                functions.append(list(by_operator.values()))
        if functions:
            weight = SCHEME_WEIGHT if algorithms[name].kind in SCHEMES else 1
            found.append((weight, functions))
    return found


def _drawn_edit(
    plan: Plan,
    subject: Experiment,
    edits: list[tuple[int, list[list[list[KernelEdit]]]]],
    random: Random,
    name: str,
) -> tuple[str, MutatedPlan]:
    functions = random.choices(edits, [weight for weight, _ in edits])[0][1]
    sizes = [sum(map(len, operators)) for operators in functions]
    edit = random.choice(random.choice(random.choices(functions, sizes)[0]))
    mutant = Mutant.model_construct(
        name=name, set={}, drop=[], expected_misses=[], equivalent="", survives="", note=edit.change
    )
    return edit.digest, MutatedPlan(mutant, plan, subject.with_kernel(edit))


def _drawn_change(
    plan: Plan, changes: PlanChanges, random: Random, name: str
) -> tuple[str, MutatedPlan] | None:
    change = changes.draw(random)
    try:
        mutant = Mutant(
            name=name,
            set=change.set,
            drop=list(change.drop),
            expected_misses=[],
            note=change.change[:200],
        )
        other = mutated(plan, mutant)
        subject = Experiment.of(other, SIMULATED)
    except (BadInput, ValueError):
        return None
    return subject.digest, MutatedPlan(mutant, other, replace(subject, name=plan.name))
