"""Design of a sweep: a plan at many parameter points, with several seeds each.

sweep = Sweep.of(load_plan("quickstart", []), Wishes(over=["sources=2,8,32"], seeds="5"))
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.batch.adaptive_sampling import AdaptiveSampler
from orchestrator.batch.confidence_interval import LEAST
from orchestrator.batch.experiment import SIMULATED, Experiment, Point
from orchestrator.batch.map_overlay import overlay_lines
from orchestrator.batch.metric_columns import MetricFilter, metric_filter
from orchestrator.batch.parameter_axis import Axis, read_axes
from orchestrator.batch.sample_design import (
    Design,
    Layout,
    ParameterPoint,
    parameter_points,
    resolve_design,
)
from orchestrator.batch.seed_statistics import OF_PLAN, read_seeds
from orchestrator.batch.sobol import Saltelli
from orchestrator.batch.sweep_criteria import Edge, Width, read_edge, read_width
from orchestrator.batch.sweep_listener import NO_LISTENER, SweepListener
from orchestrator.errors import BadInput, Problem, Refused
from orchestrator.plan import Plan, network_fabric
from orchestrator.plan.fabric_override import is_of_fabric
from orchestrator.plan.input_problems import near
from orchestrator.plan.sweep_table import Sweep as Table
from orchestrator.plan.toml_text import write
from orchestrator.registry import Registry
from orchestrator.run.plan_files import plan_files, with_absolute_paths

OVER, DESIGN = "--over", "--design"
TAKEN = ("place", "seed", "seeds", "verdict")
"""Reserved names: columns of a sweep's tables."""
NO_FABRIC = (
    "a plan that names a fabric is expected, without 'scale' and 'without', and without --set of "
    "entries of lists: it has to be written down with the fabric still in it"
)
RECENT = 64
"""Number of parameter points whose plans are cached."""
ORDER_SEED = 1
"""Seed of the random order of parameter points, in which the first ones give an unbiased estimate
of the remaining time."""


@dataclass(frozen=True)
class SweepOptions:
    """Options of a sweep from the command line or a caller; None and () leave them to the plan."""

    over: Sequence[str] = ()
    seeds: str | None = None
    design: str | None = None
    points: int | None = None
    metrics: Sequence[str] = ()
    draw: Sequence[str] = ()
    edge: str | None = None
    narrow: str | None = None
    target: str = SIMULATED
    how: Mapping[str, str] = field(default_factory=dict)
    """Further options of the target, which change the points: its pace, its machines."""


@dataclass
class Sweep:
    """Sweep to be run; the plans of its parameter points are made one by one, on demand."""

    plan: Plan
    axes: list[Axis]
    places: list[ParameterPoint]
    design: str
    seeds: list[int]
    wanted: MetricFilter
    draw: list[str]
    edge: Edge | None
    narrow: Width | None
    table: dict[str, Any]
    """Table [sweep] that is equivalent, except for the seeds."""
    overlay: list[dict[str, Any]] = field(default_factory=list)
    """Lines laid over its maps, as sweep.json has them."""
    saltelli: Saltelli | None = None
    search: AdaptiveSampler | None = None
    """Chooses further parameter points by the earlier results, `budget` in all."""
    budget: int = 0
    target: str = SIMULATED
    how: Mapping[str, str] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    """Parameter points without a valid plan, with the reason."""
    _digests: dict[int, tuple[str, str]] = field(default_factory=dict)
    _first: BadInput | Refused | None = None
    _recent: dict[int, Experiment] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, wishes: SweepOptions) -> Sweep:
        """Design a sweep. Raises BadInput, Refused for a plan that cannot be run on the target."""
        table = plan.sweep or Table()
        texts = list(wishes.over) or table.over
        if not texts:
            text = "nothing is varied; name something with --over KEY=RANGE, or [sweep] in the plan"
            raise BadInput(plan.source, text)
        axes = read_axes(texts, OVER, table.names)
        for axis in axes:
            _check_axis_keys(axis, table)
        if varies_fabric(axes) and plan.unexpanded() is None:
            raise BadInput(OVER, [Problem(OVER, network_fabric.KEY, NO_FABRIC)])
        layout = Layout(wishes.design or table.design)
        budget = wishes.points or table.points
        # an error of all parameter points is raised at once
        Experiment.of(plan, wishes.target, **wishes.how)
        edge, narrow = wishes.edge or table.edge, wishes.narrow or table.narrow
        saltelli = search = None
        if layout is Layout.adaptive:
            _fit_for_search(edge, narrow)
            search = AdaptiveSampler(axes, budget, DESIGN)
            places = search.ask()
        elif layout is Layout.saltelli:
            saltelli = Saltelli.of(axes, budget, DESIGN)
            places = saltelli.places
        else:
            design = resolve_design(axes, budget, Design(layout))
            layout, places = Layout(design), parameter_points(axes, budget, design, OVER)
        width = read_width(narrow) if narrow else None
        seeds = _seeds(wishes.seeds, table, plan)
        if width is not None and len(seeds) < LEAST:
            raise BadInput(
                "--narrow", f"at least {LEAST} seeds tell how they spread; add --seeds N"
            )
        metrics, draw = list(wishes.metrics) or table.metrics, list(wishes.draw) or table.draw
        said = {
            "over": texts,
            "names": table.names,
            "design": layout.value,
            "points": budget,
            "metrics": metrics,
            "draw": draw,
            "edge": edge,
            "narrow": narrow,
            "overlay": [] if wishes.over else [one.model_dump() for one in table.overlay],
        }
        return cls(
            plan,
            axes,
            places,
            layout.value,
            seeds,
            metric_filter(metrics, plan, "--metric"),
            draw,
            read_edge(edge) if edge else None,
            width,
            {key: value for key, value in said.items() if value},
            [] if wishes.over else overlay_lines(table.overlay, axes, plan.source),
            saltelli,
            search,
            budget,
            wishes.target,
            wishes.how,
        )

    @property
    def most(self) -> int:
        """Most points to run, without those of parameter points known to be refused."""
        places = self.budget if self.search is not None else len(self.places)
        return (places - len(self.refused)) * len(self.seeds)

    @property
    def may_need_fewer(self) -> bool:
        """True if a parameter point may need fewer than all seeds."""
        return self.narrow is not None or self.search is not None

    def add(self, places: Sequence[ParameterPoint]) -> list[int]:
        """Add parameter points; returns their indices."""
        first = len(self.places)
        self.places.extend(places)
        return list(range(first, len(self.places)))

    def to_toml(self) -> str:
        """Self-contained plan with the equivalent sweep, except for the seeds."""
        resolved = self.plan.check(Registry.load())
        written = self.plan.unexpanded() if varies_fabric(self.axes) else self.plan.written()
        table = {**(written or {}), "sweep": self.table}
        return write(with_absolute_paths(table, plan_files(resolved), self.plan.folder))

    def order(self) -> list[int]:
        """Indices of the parameter points in the order of their runs."""
        order = list(range(len(self.places)))
        random.Random(ORDER_SEED).shuffle(order)
        return order

    def subject(self, at: int) -> Experiment | None:
        """Experiment of a parameter point; None without a valid plan, which is noted."""
        if at in self.refused:
            return None
        if at in self._recent:  # a pilot point, or a further round of seeds
            return self._recent[at]
        settings = [
            setting
            for axis, value in zip(self.axes, self.places[at], strict=True)
            for setting in axis.settings(value)
        ]
        try:
            plan = self.plan.with_settings(settings)
            subject = Experiment.of(plan, self.target, **self.how)
        except (BadInput, Refused) as error:
            self.refused[at] = str(error)
            self._first = self._first or error
            return None
        self._digests[at] = (subject.digest, subject.sources)
        self._recent[at] = subject
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
        return subject

    def planned(self, at: int) -> Experiment | None:
        """Experiment of a parameter point by its digest only, to look up its points; None if not
        made."""
        if at not in self._digests:
            return None
        digest, sources = self._digests[at]
        return Experiment(self.plan.name, self.target, {}, digest, sources)

    def points(
        self, places: Sequence[int], seeds: Sequence[int], onlooker: SweepListener = NO_LISTENER
    ) -> Iterator[Point]:
        """Points of parameter points, each with these seeds; notifies the listener of each."""
        for at in places:
            known = at in self.refused
            if (subject := self.subject(at)) is not None:
                onlooker.begin_parameter_point(at, subject)
                yield from (Point(subject, seed) for seed in seeds)
            elif not known:
                onlooker.refused(at, self.refused[at])

    def insist(self) -> None:
        """Raise the error of the first parameter point if none has a valid plan."""
        if self._first is not None and not self._digests:
            raise self._first


def varies_fabric(axes: Sequence[Axis]) -> bool:
    """Return whether nodes or links differ between parameter points."""
    return any(is_of_fabric(key) for axis in axes for key in axis.keys)


def _fit_for_search(edge: str, narrow: str) -> None:
    """Raises BadInput where parameter points cannot be chosen by a threshold."""
    if not edge:
        text = "it looks for where the answer changes; say where with --edge 'METRIC > VALUE'"
        raise BadInput(f"{DESIGN} {Layout.adaptive}", text)
    if narrow:
        text = "a place has seeds enough once it is known on which side it is; leave out --narrow"
        raise BadInput(f"{DESIGN} {Layout.adaptive}", text)


def _check_axis_keys(axis: Axis, table: Table) -> None:
    """Raises BadInput for a reserved name, or an unknown key at the top of a plan."""
    if axis.label in TAKEN:
        text = "it is a column of the tables; rename it, and for seeds add --seeds"
        raise BadInput(OVER, [Problem(OVER, axis.label, text)])
    top = {*Plan.model_fields, network_fabric.KEY}
    for key in axis.keys:
        if key.partition(".")[0].partition("[")[0] not in top:
            known = sorted({*table.names, *top})
            text = f"a dotted key, or a name of [sweep.names], is expected; {near(key, known)}"
            raise BadInput(OVER, [Problem(OVER, key, text)])


def _seeds(text: str | None, table: Table, plan: Plan) -> list[int]:
    if text is None:
        return read_seeds(str(table.seeds or 1), plan)
    if text.strip() == OF_PLAN and table.seeds is not None:
        return read_seeds(str(table.seeds), plan)
    return read_seeds(text, plan)
