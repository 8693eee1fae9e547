"""Checks of a plan's expectations: entity, metric, phase and bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from orchestrator.errors import Problem
from orchestrator.plan import observables, observers
from orchestrator.plan.external_nodes import not_seen
from orchestrator.plan.input_problems import Clash, near, unknown
from orchestrator.plan.metric_registry import RATIO, Unit, bound, definition_of, unknown_metric_text
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.timeline_tables import Expect
from orchestrator.plan.units import UnitError


def expectation_problems(plan: PlanModel, *, bare: bool) -> Iterator[Problem]:
    """Every expectation that no run could be judged by."""
    yield from phase_problems(dict(enumerate(e.phase for e in plan.expect)), plan.phases)
    entities = observers.observed_entities(plan)
    for index, expect in enumerate(plan.expect):
        where = f"expect[{index}]"
        known = expect.of in entities and observers.has_metric(expect.metric, entities[expect.of])
        if not known and (text := not_seen(plan, expect.of)) is not None:
            yield Problem(f"{where}.metric", expect.metric, text)
            continue
        if expect.of not in entities:
            having = _entities_with(expect.metric, entities)
            yield unknown(f"{where}.of", "entity", expect.of, having or entities)
            continue
        if not observers.has_metric(expect.metric, entities[expect.of]):
            yield _no_metric(f"{where}.metric", expect, entities)
            continue
        other = expect.relative_to
        if other == expect.of:
            accepted = "another entity is expected: the ratio of a metric to itself is always 1"
            yield Problem(f"{where}.relative_to", other, accepted)
        kinds = entities.get(other, frozenset()) if other is not None else entities[expect.of]
        if other is not None and not observers.has_metric(expect.metric, kinds):
            yield unknown(
                f"{where}.relative_to", "entity", other, _entities_with(expect.metric, entities)
            )
        yield from _bounds(where, expect, bare)


def phase_problems(asked: Mapping[int, str], known: Iterable[str]) -> Iterator[Problem]:
    """Phases that are not in the plan; `asked` are those of the expectations by their index."""
    phases = [*known, "run"]
    for index, phase in asked.items():
        if phase not in phases:
            yield unknown(f"expect[{index}].phase", "phase", phase, phases)


def _entities_with(metric: str, entities: dict[str, frozenset[str]]) -> list[str]:
    return [name for name, kinds in entities.items() if observers.has_metric(metric, kinds)]


def _no_metric(where: str, expect: Expect, entities: dict[str, frozenset[str]]) -> Problem:
    """Another entity has such a metric, or none does."""
    having = _entities_with(expect.metric, entities)
    if not having:
        return Problem(where, expect.metric, unknown_metric_text(expect.metric))
    accepted = f"{expect.of} has no such metric; what has it: {near('', having)}"
    return Problem(where, expect.metric, accepted)


def _bounds(where: str, expect: Expect, bare: bool) -> Iterator[Problem]:
    unit = unit_of(expect.metric, expect.relative_to)
    values = []
    for name in ("min", "max"):
        value = getattr(expect, name)
        if value is None:
            continue
        try:
            values.append(bound(value, unit, bare=bare))
        except UnitError as error:
            yield Problem(f"{where}.{name}", value, str(error))
    if len(values) == 2 and values[0] > values[1]:
        yield Clash(where, None, f"'min' {expect.min} is above 'max' {expect.max}")


def unit_of(metric: str, relative_to: str | None = None) -> Unit:
    """The unit of a metric, the same for every kind of entity; none for a ratio of two."""
    if relative_to is not None:
        return RATIO
    declared = definition_of(metric)
    return observables.unit_of(metric) if declared is None else declared.unit
