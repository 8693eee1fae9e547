"""The plan of a run: nodes, links, traffic, timeline, phases, expectations.

    plan = Plan.load("quickstart.toml")
    plan = Plan(name="mine", duration="2s", nodes={"nic": {"kind": "nic"}, ...}, links={...})

Both read the same fields. A text carries units ("0.95Gb/s"); Python code may also hand over ints
in base units (bytes, ps, bit/s). Every mistake ends up in one BadInput.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self
from zlib import crc32

from pydantic import PrivateAttr, ValidationError

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import entity_names, former_names
from orchestrator.plan.base_plans import Layer, layers
from orchestrator.plan.canonical_form import NOT_IN_RUN, canonical
from orchestrator.plan.entity_names import stage_holder
from orchestrator.plan.error_locations import with_locations
from orchestrator.plan.external_nodes import FIXED
from orchestrator.plan.fabric_override import (
    combined_layers,
    has_fabric,
    is_of_fabric,
    with_fabric_settings,
)
from orchestrator.plan.input_problems import shown
from orchestrator.plan.partial_check import remaining_problems, without_mistakes
from orchestrator.plan.plan_checks import problems as cross_problems
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.plugin_catalog import Catalog, Use
from orchestrator.plan.plugin_resolution import look_up_all, resolve
from orchestrator.plan.pydantic_errors import paths, translate
from orchestrator.plan.quantity_types import paths_relative_to
from orchestrator.plan.range_expansion import compose, expand
from orchestrator.plan.row_order import in_row_order
from orchestrator.plan.setting_overrides import apply, with_setting_locations
from orchestrator.plan.shortest_paths import MultipathRoutes, Routes, multipath_routes, routes
from orchestrator.plan.size_limits import section_problems
from orchestrator.plan.target_options import KEY, TargetOptions, read_given
from orchestrator.plan.timeline_actions import Action, Uses
from orchestrator.plan.toml_text import is_text, parse, read, write


@dataclass(frozen=True)
class Origin:
    """Origin of a plan's data: its name in messages; whether ints are base units; the folder of its
    file, from which relative paths count."""

    source: str
    bare: bool
    folder: Path | None = None


_PYTHON = Origin("plan", bare=True)


class Plan(PlanModel):
    """A valid plan. Construction raises BadInput with every mistake in it."""

    _origin: Origin = PrivateAttr(_PYTHON)
    _set: dict[str, str] = PrivateAttr({})
    """Settings laid over it from the command line, and their names in messages."""
    _checked: tuple[Plan, Catalog, ResolvedPlan] | None = PrivateAttr(None)
    """Result of `check`, its catalog and its plan, because a copy takes this along."""
    _layers: tuple[Layer, ...] = PrivateAttr(())
    """Of a plan with a fabric: what it was made of, before the fabric became nodes and links."""
    _laid: tuple[str, ...] = PrivateAttr(())
    """Settings on top of that, in order."""
    _former: tuple[str, ...] = PrivateAttr(())
    """Notes on former names that its data was given with."""

    def __init__(self, origin: Origin = _PYTHON, /, **data: Any) -> None:
        context = {"bare_numbers": origin.bare}
        made_of = (Layer(origin.source, data),)
        data = expand(origin.source, data, bare=origin.bare)
        if problems := list(section_problems(data)):  # before each entry is looked at
            raise BadInput(origin.source, problems)
        with former_names.collecting() as notes:
            try:
                self.__pydantic_validator__.validate_python(
                    data, self_instance=self, context=context
                )
            except ValidationError as error:
                problems = translate(error, type(self), data)
                problems += self._problems_between_tables(data, error, origin)
                raise BadInput(origin.source, problems) from None
        self._origin, self._former = origin, tuple(notes)
        self._layers = made_of if has_fabric(made_of) else ()
        for name, entry in self.traffic.items():
            entry.draw_pairs(crc32(f"{self.seed}/{name}".encode()))
        if problems := cross_problems(self, bare=origin.bare):
            raise BadInput(origin.source, problems)

    @classmethod
    def _problems_between_tables(
        cls, data: dict[str, Any], error: ValidationError, origin: Origin
    ) -> list[Problem]:
        """Problems between the tables of a plan whose tables have `error`s of their own."""
        wrong = paths(error, cls)
        mended = without_mistakes(data, wrong)
        if mended is None:
            return []
        second = cls.__new__(cls)
        context = {"bare_numbers": origin.bare}
        try:
            cls.__pydantic_validator__.validate_python(
                mended, self_instance=second, context=context
            )
        except ValidationError:
            return []
        return remaining_problems(cross_problems(second, bare=origin.bare), data, wrong)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.to_table() == other.to_table()

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[Any, Any]:
        """State for another process, without memoised facts, which that process determines anew."""
        state = super().__getstate__()
        state["__pydantic_private__"] |= {"_checked": None, "_memo": {}}
        return state

    @classmethod
    def load(cls, path_or_text: str | Path, catalog: Catalog | None = None) -> Self:
        """The plan in a TOML file or text; with a catalog its plugins are checked at once.

        An error names its file and line.
        """
        with former_names.collecting() as notes:
            stack = stacked(path_or_text, catalog)
        source = stack[-1].source
        for layer in stack:  # before anything looks at each entry, or for its line
            if problems := list(section_problems(layer.data)):
                raise BadInput(layer.source, problems)
        folder = None if is_text(path_or_text) else Path(path_or_text).parent
        try:
            data = compose(stack)
            try:
                plan = cls(Origin(source, False, folder), **data)
            except BadInput as error:
                with paths_relative_to(folder):
                    of_plugins = look_up_all(data, catalog, bare=False)[1] if catalog else []
                descriptions = {problem.where for problem in error.problems}
                new = [problem for problem in of_plugins if problem.where not in descriptions]
                raise BadInput(source, error.problems + new) from None
            plan._layers = tuple(stack) if has_fabric(stack) else ()
            plan._former = (*notes, *plan._former)
            if catalog is not None:
                plan.check(catalog)
        except BadInput as error:
            raise with_locations(error, stack) from None
        return plan

    def check(self, catalog: Catalog) -> ResolvedPlan:
        """This plan with its plugins found and their parameters validated. Raises BadInput."""
        if self._checked is None or self._checked[0] is not self or self._checked[1] is not catalog:
            self._checked = (self, catalog, self._check(catalog))
        return self._checked[2]

    def _check(self, catalog: Catalog) -> ResolvedPlan:
        try:
            with former_names.collecting() as notes, paths_relative_to(self._origin.folder):
                found = resolve(self, catalog, source=self._origin.source, bare=self._origin.bare)
        except BadInput as error:
            raise with_setting_locations(error, [*self._set], [*self._set.values()]) from None
        self._former = tuple(dict.fromkeys((*self._former, *notes)))
        # one whose every default is written out already need not be read a second time
        written = found.data == self.to_table() and self._has_no_more_than_a_run()
        plan = self if written else self.with_data(found.data)
        return ResolvedPlan(plan, found.uses, found.actions, found.options, self._former)

    def _has_no_more_than_a_run(self) -> bool:
        return all(
            getattr(self, name)
            == PlanModel.model_fields[name].get_default(call_default_factory=True)
            for name in NOT_IN_RUN
        )

    @property
    def source(self) -> str:
        """Name of the plan in messages: its file, if it was read from one."""
        return self._origin.source

    @property
    def folder(self) -> Path:
        """The folder that relative paths in it count from."""
        return self._origin.folder or Path()

    @property
    def former_names(self) -> tuple[str, ...]:
        """Notes on former names in the input, complete once the plan is checked."""
        return self._former

    def with_settings(self, settings: Sequence[str], said: str = "--set") -> Self:
        """This plan with "key=value" settings, such as "links.up1.rate=10Gb/s", on top.

        `said`: where they were said, which messages have for a place; empty: nowhere to point at.
        """
        descriptions = [f"{said} {shown(setting)!r}" if said else "" for setting in settings]
        of_fabric = [one for one in settings if is_of_fabric(one.partition("=")[0])]
        others = [one for one in settings if one not in of_fabric]
        try:
            below = self._rewired(of_fabric) if of_fabric else self
            made = below._laid_over(others)
        except BadInput as error:
            raise with_setting_locations(error, settings, descriptions, sole=True) from None
        made._set = {**self._set, **dict(zip(settings, descriptions, strict=True))}
        return made

    def with_options(
        self, catalog: Any, given: Mapping[str, Any], called: Mapping[str, str] = {}
    ) -> Self:
        """This plan with options of its target (`orchestrator.plan.target_options`) on top.

        `called` has the name of each option in messages; others have their own. Raises BadInput.
        """
        if not given:
            return self
        names = {key: f"option {key}" for key in given} | dict(called)
        table = read_given(catalog.target_options, self.target, given, names)
        where = f"{KEY}.{self.target}"
        texts = [f"{where}.{key}={write({KEY: value})}" for key, value in table.items()]
        return self.with_settings([text.replace(f"={KEY} = ", "=", 1) for text in texts], said="")

    def without_options(self, keys: Collection[str]) -> Self:
        """This plan without some options of its target, which were carried out before the run."""
        data = self.model_dump(by_alias=True, exclude_unset=True)
        mine = data.get(KEY, {}).get(self.target, {})
        if not mine.keys() & set(keys):
            return self
        data[KEY][self.target] = {key: mine[key] for key in mine if key not in keys}
        return self.with_data(data)

    def _laid_over(self, settings: Sequence[str]) -> Self:
        """This plan with settings of what it has written out on top."""
        written = self.model_dump(by_alias=True, exclude_unset=True)
        defaults = self.model_dump(by_alias=True, exclude_none=True)
        made = self.with_data(apply(type(self), written, defaults, settings))
        made._layers, made._laid = self._layers, (*self._laid, *settings)
        return made

    def _rewired(self, settings: Sequence[str]) -> Self:
        """This plan with another fabric, and on top all that was laid over it before."""
        layers = with_fabric_settings(self._layers, settings)
        made = self.with_data(compose(layers, bare=self._origin.bare))
        made._layers = layers
        return made._laid_over(self._laid)

    def unexpanded(self) -> dict[str, Any] | None:
        """Data of an equal plan that names its fabric; None where no such data is known."""
        data = combined_layers(self._layers, self._laid)
        try:
            return data if data is not None and self.with_data(data) == self else None
        except BadInput:
            return None

    def with_data(self, data: dict[str, Any]) -> Self:
        """A plan from `data` with this one's origin."""
        made = type(self)(self._origin, **data)
        made._former = tuple(dict.fromkeys((*self._former, *made._former)))
        return made

    def to_table(self) -> dict[str, Any]:
        """Its data with every default written out, quantities as text."""
        return canonical(self)

    def written(self) -> dict[str, Any]:
        """Its data without defaults, with its templates and bases laid out; of a plan in Python,
        whose numbers have no units, all of it."""
        if self._origin.bare:
            return self.to_table()
        return self.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)

    def to_toml(self) -> str:
        """The text that `load` reads back as an equal plan."""
        return write(self.to_table())

    def ports(self) -> list[entity_names.Port]:
        """Every end of every link."""
        return entity_names.ports(self)

    def directions(self) -> list[entity_names.Direction]:
        """Both directions of every link."""
        return entity_names.directions(self)

    def flows(self) -> list[entity_names.Flow]:
        """Every generator of every traffic entry."""
        return entity_names.flows(self)

    def lanes(self) -> list[entity_names.Lane]:
        """The lanes of every port."""
        return entity_names.lanes(self)

    def limiters(self) -> dict[str, list[str]]:
        """NIC -> names of its limiters."""
        return entity_names.limiters(self)

    def entities(self) -> dict[str, frozenset[str]]:
        """Everything results can speak of -> its kinds."""
        return entity_names.entities(self)

    def routes(self) -> Routes:
        """Node -> destination -> name of the port towards it."""
        return routes(self)

    def multipath_routes(self) -> MultipathRoutes:
        """Node -> destination -> names of all ports towards it, where the node may choose."""
        return multipath_routes(self)


def composed(
    path_or_text: str | Path, catalog: Catalog | None = None
) -> tuple[str, dict[str, Any]]:
    """Name for messages, and data, of a plan whole: with its bases, templates and ranges."""
    stack = stacked(path_or_text, catalog)
    return stack[-1].source, compose(stack)


def stacked(path_or_text: str | Path, catalog: Catalog | None = None) -> list[Layer]:
    """The layers of a plan: its bases, the lowest first, and itself. Raises BadInput."""
    source, text = read(path_or_text)
    data = parse(source, text)
    path = None if is_text(path_or_text) else Path(path_or_text)
    shipped = getattr(catalog, "plans", dict[str, Path])() if "base" in data else {}
    return layers(source, data, path, shipped, text)


@dataclass(frozen=True)
class ResolvedPlan:
    """A plan and what its plugins made of it.

    `plan` has every default written out, so `plan.to_toml()` is what a run folder keeps.
    `uses` maps kind of plugin -> holder -> use; the holder is a switch's port (switch.sink) or
    its input (switch.sink/in) for congestion_point and pause, a NIC for reaction_point, a link
    for the first stage of its delay_line (link/stage2 for the second one and so on, see `stages`),
    a traffic entry for traffic and transport, a switch's port, a NIC or a sink for
    notification_point. `actions` is the timeline in order of time. `options` are those of the
    plan's target, an instance of the model that the target contributes.
    """

    plan: Plan
    uses: Uses
    actions: tuple[Action, ...]
    options: TargetOptions = field(default_factory=TargetOptions)
    former_names: tuple[str, ...] = ()
    """Notes on former names in the input, which the plan has by their current names."""

    def with_seed(self, seed: int, catalog: Catalog) -> ResolvedPlan:
        """The same with another seed; looked at anew only where the seed draws pairs of ends."""
        plan = self.plan
        if any(entry.pairing != "listed" for entry in plan.traffic.values()):
            return plan.with_data({**plan.to_table(), "seed": seed}).check(catalog)
        return replace(self, plan=plan.model_copy(update={"seed": seed}))

    def in_row_order(self) -> ResolvedPlan:
        """The same with the plan's tables in row order (`orchestrator.plan.row_order`)."""
        plan = in_row_order(self.plan)
        return self if plan is self.plan else replace(self, plan=plan)

    def use(self, kind: str, holder: str) -> Use | None:
        """The plugin of that kind there, None when there is none."""
        return self.uses[kind].get(holder)

    def stages(self, link: str) -> tuple[Use, ...]:
        """The algorithms of a link's delay line, in the order in which frames pass them."""
        lines = self.uses["delay_line"]
        holders = [stage_holder(link, n) for n in range(len(self.plan.links[link].stages))]
        return tuple(lines[holder] for holder in holders if holder in lines)

    def is_staged(self, link: str) -> bool:
        """True if a link has several delay lines, or one that alters frames (`Algorithm`)."""
        several = isinstance(self.plan.links[link].delay_line, tuple)
        return several or any(use.algorithm.alters_frames for use in self.stages(link))

    def is_fixed(self, link: str) -> bool:
        """True if frames of a link take its `delay`, no algorithm adding to it or losing them."""
        return all(use.algorithm.name == FIXED for use in self.stages(link))
