"""Data model of a plan, table by table: the base of checks, names and routes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from orchestrator.plan.field_types import Group, Instant, Line, OptionValue, SampleInterval, Slug
from orchestrator.plan.figure_tables import Figure
from orchestrator.plan.header_table import Headers
from orchestrator.plan.mutant_table import Mutant
from orchestrator.plan.plan_tables import Link, Node, Traffic
from orchestrator.plan.program_table import Program
from orchestrator.plan.sweep_table import Sweep
from orchestrator.plan.timeline_tables import Capture, Expect, Phase, Step

if TYPE_CHECKING:
    pass


class PlanModel(BaseModel):
    """The tables of a plan, each right by itself; `Plan` adds that they go together."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    name: Slug
    """Of the plan, and of the folder that its runs lie in."""
    title: Line = ""
    """A line for people: reports and lists show it."""
    paper: Line = ""
    """Paper and figure that it reproduces."""
    seed: int = Field(1, ge=0, lt=1 << 62)
    """Of every random number of a run; a simulated run is the same for the same seed."""
    clock_ppm: int = Field(100, ge=0, le=1000)
    """By how much the clocks of NICs differ at the most (IEEE 802.3: 100 ppm): the seed draws how
    much slower than its links' rates each one sends, and its sources with it. 0: all are equal."""
    phase: Literal["random", "aligned"] = "random"
    """random: the seed draws how long after its start, within one frame or interval, a source makes
    its first frame, and which of the frames that reach a full queue within the time of one frame
    is kept. aligned: all begin at their start, and of frames that come together that of the port
    which the plan has first is first."""
    seeds: int | None = Field(None, ge=1, le=10_000)
    """Number of seeds, from 1 on, that `--seeds plan` judges it over. Not part of a run: a
    run folder does not keep it."""
    duration: Instant = Field(gt=0)
    """Of the run; its last instant belongs to it."""
    target: Slug = "simulated"
    """Target that runs the nodes; `--target` overrides it."""
    sample_interval: SampleInterval = 10**9
    """Between two rows of samples."""
    priorities: Literal["shared", "separate"] = "shared"
    """separate: every priority in use has a lane of its own on every port: a queue, an input buffer
    with its virtual output queues, a pause. shared: one lane for all."""
    more_priorities: list[Annotated[int, Field(ge=0, le=7)]] = []
    """Priorities that have a lane of their own besides those of traffic, with separate lanes: a
    congestion point may send frames on in them."""
    headers: Headers = Headers()
    """VLAN tags, IP version and DSCP of all frames."""
    nodes: dict[Slug, Node] = Field(min_length=1)
    """NICs, switches and sinks; `kind` says which."""
    groups: dict[Slug, Group] = {}
    """Nodes that traffic is sent to together, every frame as a multicast frame."""
    links: dict[Slug, Link] = {}
    """Links between two nodes each."""
    traffic: dict[Slug, Traffic] = {}
    """Traffic; each entry makes flows of one kind."""
    timeline: list[Step] = []
    """Steps at given times, in any order."""
    phases: dict[Slug, Phase] = {}
    """Parts of the run that metrics are computed over, besides the whole."""
    expect: list[Expect] = []
    """Expectations that a run has to fulfil to be `met`."""
    mutant: list[Mutant] = Field(default=[], max_length=1000)
    """Mutants that the expectations have to notice. Not part of a run: a run folder does not keep
    them."""
    capture: Capture = Capture()
    """Frames that are captured."""
    programs: dict[Slug, Program] = {}
    """Programs that run on NICs; on targets that can."""
    targets: dict[Slug, dict[Slug, OptionValue]] = {}
    """Options of targets, a table for each: [targets.software] counts where the run is on
    `software`. A run folder keeps the table of its target alone."""
    figure: list[Figure] = []
    """Figures that a report draws first, as the paper does; without effect on the run."""
    sweep: Sweep | None = None
    """Parameters that `tailback sweep` varies. Not part of a run: a run folder does not keep it."""
    _memo: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def memo(self) -> dict[str, Any]:
        """Memoised facts about it (`orchestrator.plan.plan_model`)."""
        return self._memo


MemoResult = TypeVar("MemoResult")


def memoized(find: Callable[[PlanModel], MemoResult]) -> Callable[[PlanModel], MemoResult]:
    """Decorator of a function of a plan's nodes and links that runs once per plan.

    All callers get the same object, which none may change. A copy of a plan with another seed or
    other expectations has the same nodes and links, and what was found out about them.
    """
    name = f"{find.__module__}.{find.__qualname__}"

    @functools.wraps(find)
    def memoized_find(plan: PlanModel) -> MemoResult:
        if name not in plan.memo:
            plan.memo[name] = find(plan)
        result: MemoResult = plan.memo[name]
        return result

    return memoized_find
