"""Checks of figures: entities, what is drawn of them, phases, labels, units."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.errors import Problem
from orchestrator.plan import observers
from orchestrator.plan.drawable_metrics import OF, SCALES, drawn_of, unit_of, value_of
from orchestrator.plan.field_types import SLUG
from orchestrator.plan.figure_tables import Figure
from orchestrator.plan.input_problems import Clash, shown, unknown
from orchestrator.plan.observables import is_of
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.units import DURATION, UnitError

ENTIRE_RUN = "run"


def figure_problems(plan: PlanModel) -> Iterator[Problem]:
    """Every figure that no report could draw."""
    if not plan.figure:
        return
    entities = observers.observed_entities(plan)
    for index, figure in enumerate(plan.figure):
        where = f"figure[{index}]"
        faults = list(_shape(where, figure))
        yield from faults
        yield from _phases(where, figure, plan)
        every = {name for units in drawn_of(figure).values() for name in units}
        if figure.y not in every and not any(is_of(figure.y, k) for k in entities.values()):
            yield unknown(f"{where}.y", "quantity", figure.y, every)
            continue
        yield from _entities(where, figure, plan, entities)
        yield from _axes(where, figure)
        if not faults:
            yield from _counts(where, figure, plan)


def _shape(where: str, figure: Figure) -> Iterator[Problem]:
    """Kind and axis go together, and no key is without effect."""
    if figure.kind == "cdf" and figure.x != "time":
        yield Clash(f"{where}.x", figure.x, "the axis of a cdf is what is drawn; leave 'x' out")
    if figure.kind in ("bars", "table") and figure.x == "time":
        text = f"{figure.kind} have places along their axis: x = 'phase' or 'of' is expected"
        yield Clash(f"{where}.x", figure.x, text)
    over_time = figure.kind == "lines" and figure.x == "time"
    for key in ("x_unit", "x_range", "window"):
        if getattr(figure, key) and not over_time:
            yield Clash(f"{where}.{key}", None, f"'{key}' is for lines over time")
    if figure.levels and figure.x == "time":
        yield Clash(f"{where}.levels", None, "'levels' is for x = 'phase' or 'of'")
    if figure.phases and figure.x != "phase":
        yield Clash(f"{where}.phases", None, "'phases' is for x = 'phase'; 'phase' says which part")
    if figure.phase != ENTIRE_RUN and figure.x == "phase":
        yield Clash(f"{where}.phase", figure.phase, "with x = 'phase', 'phases' says which")
    if figure.published and figure.kind == "cdf":
        yield Clash(f"{where}.published", None, "values are laid over lines, bars and tables")


def _phases(where: str, figure: Figure, plan: PlanModel) -> Iterator[Problem]:
    if figure.phase not in (ENTIRE_RUN, *plan.phases):
        yield unknown(f"{where}.phase", "phase", figure.phase, [*plan.phases, ENTIRE_RUN])
    for place, name in enumerate(figure.phases):
        if name not in plan.phases:
            yield unknown(f"{where}.phases[{place}]", "phase", name, plan.phases)
    if figure.x == "phase" and not plan.phases:
        yield Clash(f"{where}.x", figure.x, "the plan has no phases")


def _entities(
    where: str, figure: Figure, plan: PlanModel, entities: dict[str, frozenset[str]]
) -> Iterator[Problem]:
    having = {kind for kind, units in drawn_of(figure).items() if figure.y in units}
    known = [name for name, k in entities.items() if k & having or is_of(figure.y, k)]
    if not figure.of:
        yield Problem(f"{where}.of", [], "at least one entity is expected")
    for place, text in enumerate(figure.of):
        name, _, other = text.partition(OF)
        if other and not SLUG.fullmatch(other):
            yield Problem(f"{where}.of[{place}]", shown(text), "'NAME of PLAN' is expected")
        elif (not other or other == plan.name) and name not in known:
            yield unknown(f"{where}.of[{place}]", f"entity with {figure.y}", name, known)
    for place, other in enumerate(figure.with_):
        if not SLUG.fullmatch(other):
            yield Problem(f"{where}.with[{place}]", shown(other), "the name of a plan is expected")


def _axes(where: str, figure: Figure) -> Iterator[Problem]:
    """Units and ends of the axes, and what is published."""
    unit = unit_of(figure)
    units = [name for name in SCALES[unit.symbol] if name]
    if figure.y_unit and figure.y_unit not in units:
        yield unknown(f"{where}.y_unit", "unit", figure.y_unit, units)
    if figure.x_unit and figure.x_unit not in SCALES["s"]:
        yield unknown(f"{where}.x_unit", "unit", figure.x_unit, SCALES["s"])
    values = {f"y_range[{at}]": value for at, value in enumerate(figure.y_range or ())}
    for index, one in enumerate(figure.published):
        for at, value in enumerate(one.values):
            values[f"published[{index}].values[{at}]"] = value
    read: dict[str, float] = {}
    for key, value in values.items():
        try:
            read[key] = value_of(value, unit)
        except UnitError as error:
            yield Problem(f"{where}.{key}", shown(value), str(error))
    for at, value in enumerate(figure.x_range or ()):
        try:
            read[f"x_range[{at}]"] = DURATION.parse(value)
        except UnitError as error:
            yield Problem(f"{where}.x_range[{at}]", shown(value), str(error))
    for key in ("x_range", "y_range"):
        ends = [read[name] for name in (f"{key}[0]", f"{key}[1]") if name in read]
        if len(ends) == 2 and ends[0] >= ends[1]:
            yield Clash(f"{where}.{key}", None, f"'{key}' goes from the smaller to the larger end")


def _counts(where: str, figure: Figure, plan: PlanModel) -> Iterator[Problem]:
    """As many labels, levels and values as there are curves and places."""
    curves = max(len(figure.labels), 1) if figure.x == "of" else len(figure.of)
    places = {
        "time": 1,
        "phase": len(figure.phases or plan.phases),
        "of": len(figure.of) // curves,
    }[figure.x]
    if figure.x == "of" and len(figure.of) % curves:
        text = f"{len(figure.of)} entities are no multiple of {curves} labels"
        yield Clash(f"{where}.of", None, text)
    wanted = {"labels": curves, "levels": places, "variants": len(figure.with_)}
    for key, count in wanted.items():
        given = getattr(figure, key)
        if given and len(given) != count:
            yield Clash(f"{where}.{key}", None, f"{len(given)} texts for {count}; one each")
    labels = figure.labels or figure.of
    for index, one in enumerate(figure.published):
        if len(one.values) != places:
            text = f"{len(one.values)} values for {places} places; one each is expected"
            yield Clash(f"{where}.published[{index}].values", None, text)
        if one.label and one.label not in labels:
            yield unknown(f"{where}.published[{index}].label", "label", one.label, labels)
        if figure.x != "time" and (one.from_ is not None or one.to is not None):
            text = "'from' and 'to' are for lines over time"
            yield Clash(f"{where}.published[{index}]", None, text)
