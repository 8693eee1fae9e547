"""The data of a plan, table by table: what everything that checks, names or routes it works on."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from orchestrator.plan.entries import Link, Node, Traffic
from orchestrator.plan.fields import Group, Instant, Line, SampleInterval, Slug
from orchestrator.plan.figures import Figure
from orchestrator.plan.mutant import Mutant
from orchestrator.plan.programs import Program
from orchestrator.plan.schedule import Capture, Expect, Phase, Step
from orchestrator.plan.sweep import Sweep


class PlanModel(BaseModel):
    """The tables of a plan, each right by itself; `Plan` adds that they go together."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    name: Slug
    """Of the plan, and of the folder that its runs lie in."""
    title: Line = ""
    """A line for people: reports and lists show it."""
    paper: Line = ""
    """Which paper and figure it reproduces."""
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
    """How many seeds, from 1 on, it is judged over with `--seeds plan`. No part of what a run is: a
    run folder does not keep it."""
    duration: Instant = Field(gt=0)
    """Of the run; its last instant belongs to it."""
    target: Slug = "simulated"
    """Where the nodes live, unless the command line says otherwise."""
    sample_interval: SampleInterval = 10**9
    """Between two rows of samples."""
    priorities: Literal["shared", "separate"] = "shared"
    """separate: every priority in use has a lane of its own on every port: a queue, an input buffer
    with its virtual output queues, a pause. shared: one lane for all."""
    more_priorities: list[Annotated[int, Field(ge=0, le=7)]] = []
    """Priorities that have a lane of their own besides those of traffic, with separate lanes: a
    congestion point may send frames on in them."""
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
    mutant: list[Mutant] = Field(default=[], max_length=1000)
    """What the expectations have to notice. No part of what a run is: a run folder does not keep
    them."""
    capture: Capture = Capture()
    """Which frames are written down."""
    programs: dict[Slug, Program] = {}
    """Programs that run on NICs; on targets that can."""
    figure: list[Figure] = []
    """What a report draws first, as the paper does; no part of what happens in a run."""
    sweep: Sweep | None = None
    """What `tailback sweep` varies. No part of what a run is: a run folder does not keep it."""
    _kept: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def kept(self) -> dict[str, Any]:
        """What was found out about it (`orchestrator.plan.kept`)."""
        return self._kept
