"""The plan of a run: nodes, links, traffic, timeline, phases, expectations.

    plan = Plan.load("quickstart.toml")
    plan = Plan(name="mine", duration="2s", nodes={"nic": {"kind": "nic"}, ...}, links={...})

Both read the same fields. A text carries units ("0.95Gb/s"); Python code may also hand over ints
in base units (bytes, ps, bit/s). Every mistake ends up in one BadInput.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self
from zlib import crc32

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import names
from orchestrator.plan.canonical import canonical
from orchestrator.plan.catalog import Catalog
from orchestrator.plan.checks import problems as cross_problems
from orchestrator.plan.entries import Link, Node, Traffic
from orchestrator.plan.fields import Group, Instant, Line, SampleInterval, Slug
from orchestrator.plan.programs import Program
from orchestrator.plan.ranges import expand
from orchestrator.plan.resolved import ResolvedPlan, look_up_all, resolve
from orchestrator.plan.routes import Routes, Ways, routes, ways
from orchestrator.plan.salvage import elsewhere, mend
from orchestrator.plan.schedule import Capture, Expect, Phase, Step
from orchestrator.plan.settings import apply
from orchestrator.plan.text import read, write
from orchestrator.plan.translate import paths, translate


@dataclass(frozen=True)
class Origin:
    """Where a plan's data comes from: its name in messages; whether ints are base units."""

    source: str
    bare: bool


_PYTHON = Origin("plan", bare=True)


class Plan(BaseModel):
    """A valid plan. Construction raises BadInput with every mistake in it."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Slug
    """Of the plan, and of the folder that its runs lie in."""
    title: Line = ""
    """A line for people: reports and lists show it."""
    paper: Line = ""
    """Which paper and figure it reproduces."""
    seed: int = Field(1, ge=0, lt=1 << 62)
    """Of every random number of a run; a simulated run is the same for the same seed."""
    duration: Instant = Field(gt=0)
    """Of the run; its last instant belongs to it."""
    target: Slug = "simulated"
    """Where the nodes live, unless the command line says otherwise."""
    sample_interval: SampleInterval = 10**9
    """Between two rows of samples."""
    priorities: Literal["shared", "separate"] = "shared"
    """separate: every priority in use has a lane of its own on every port: a queue, an input buffer
    with its virtual output queues, a pause. shared: one lane for all."""
    nodes: dict[Slug, Node] = Field(min_length=1)
    """NICs, switches and sinks; `kind` says which."""
    groups: dict[Slug, Group] = {}
    """Nodes that traffic is sent to together, every frame as a multicast frame."""
    links: dict[Slug, Link] = {}
    """What joins two nodes."""
    traffic: dict[Slug, Traffic] = {}
    """What is sent; each entry makes flows of one kind."""
    timeline: list[Step] = []
    """What happens when, in any order."""
    phases: dict[Slug, Phase] = {}
    """Parts of the run that metrics are computed over, besides the whole."""
    expect: list[Expect] = []
    """What the run has to show to be `met`."""
    capture: Capture = Capture()
    """Which frames are written down."""
    programs: dict[Slug, Program] = {}
    """Programs that run on NICs; on targets that can."""

    _origin: Origin = PrivateAttr(_PYTHON)

    def __init__(self, origin: Origin = _PYTHON, /, **data: Any) -> None:
        context = {"bare_numbers": origin.bare}
        data = expand(origin.source, data)
        try:
            self.__pydantic_validator__.validate_python(data, self_instance=self, context=context)
        except ValidationError as error:
            problems = translate(error, type(self), data)
            problems += self._look_again(data, error, origin)
            raise BadInput(origin.source, problems) from None
        self._origin = origin
        for name, entry in self.traffic.items():
            entry.draw_pairs(crc32(f"{self.seed}/{name}".encode()))
        if problems := cross_problems(self, bare=origin.bare):
            raise BadInput(origin.source, problems)

    @classmethod
    def _look_again(
        cls, data: dict[str, Any], error: ValidationError, origin: Origin
    ) -> list[Problem]:
        """Problems between the tables of a plan whose tables have `error`s of their own."""
        wrong = paths(error, cls)
        mended = mend(data, wrong)
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
        return elsewhere(cross_problems(second, bare=origin.bare), data, wrong)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.to_table() == other.to_table()

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def load(cls, path_or_text: str | Path, catalog: Catalog | None = None) -> Self:
        """The plan in a TOML file or text; with a catalog its plugins are checked at once."""
        source, data = read(path_or_text)
        origin = Origin(source, bare=False)
        try:
            plan = cls(origin, **data)
        except BadInput as error:
            of_plugins = look_up_all(data, catalog, bare=False)[1] if catalog else []
            told = {problem.where for problem in error.problems}
            new = [problem for problem in of_plugins if problem.where not in told]
            raise BadInput(source, error.problems + new) from None
        if catalog is not None:
            plan.check(catalog)
        return plan

    def check(self, catalog: Catalog) -> ResolvedPlan:
        """This plan with its plugins found and their parameters validated. Raises BadInput."""
        return resolve(self, catalog, source=self._origin.source, bare=self._origin.bare)

    @property
    def source(self) -> str:
        """What messages call it: its file, where it was read from one."""
        return self._origin.source

    def with_settings(self, settings: Sequence[str]) -> Self:
        """This plan with "key=value" settings, such as "links.up1.rate=10Gb/s", on top."""
        written = self.model_dump(by_alias=True, exclude_unset=True)
        defaults = self.model_dump(by_alias=True, exclude_none=True)
        return self.with_data(apply(type(self), written, defaults, settings))

    def with_data(self, data: dict[str, Any]) -> Self:
        """A plan from `data` with this one's origin."""
        return type(self)(self._origin, **data)

    def to_table(self) -> dict[str, Any]:
        """Its data with every default written out, quantities as text."""
        return canonical(self)

    def to_toml(self) -> str:
        """The text that `load` reads back as an equal plan."""
        return write(self.to_table())

    def ports(self) -> list[names.Port]:
        """Every end of every link."""
        return names.ports(self)

    def directions(self) -> list[names.Direction]:
        """Both directions of every link."""
        return names.directions(self)

    def flows(self) -> list[names.Flow]:
        """Every generator of every traffic entry."""
        return names.flows(self)

    def lanes(self) -> list[names.Lane]:
        """The lanes of every port."""
        return names.lanes(self)

    def limiters(self) -> dict[str, list[str]]:
        """NIC -> names of its limiters."""
        return names.limiters(self)

    def entities(self) -> dict[str, frozenset[str]]:
        """Everything results can speak of -> its kinds."""
        return names.entities(self)

    def routes(self) -> Routes:
        """Node -> destination -> name of the port towards it."""
        return routes(self)

    def ways(self) -> Ways:
        """Node -> destination -> names of all ports towards it, where the node may choose."""
        return ways(self)
