"""The data of a plan, table by table: what everything that checks, names or routes it works on."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.plan.entries import Link, Node, Traffic
from orchestrator.plan.fields import Group, Instant, Line, SampleInterval, Slug
from orchestrator.plan.programs import Program
from orchestrator.plan.schedule import Capture, Expect, Phase, Step


class PlanModel(BaseModel):
    """The tables of a plan, each right by itself; `Plan` adds that they go together."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )

    name: Slug
    title: Line = ""
    paper: Line = ""
    """Which paper and figure it reproduces."""
    seed: int = Field(1, ge=0, lt=1 << 62)
    duration: Instant = Field(gt=0)
    target: Slug = "simulated"
    """Where the nodes live, unless the command line says otherwise."""
    sample_interval: SampleInterval = 10**9
    priorities: Literal["shared", "separate"] = "shared"
    """separate: every priority in use has a lane of its own on every port: a queue, an input buffer
    with its virtual output queues, a pause. shared: one lane for all."""
    nodes: dict[Slug, Node] = Field(min_length=1)
    groups: dict[Slug, Group] = {}
    """Nodes that traffic is sent to together, every frame as a multicast frame."""
    links: dict[Slug, Link] = {}
    traffic: dict[Slug, Traffic] = {}
    timeline: list[Step] = []
    phases: dict[Slug, Phase] = {}
    expect: list[Expect] = []
    capture: Capture = Capture()
    programs: dict[Slug, Program] = {}
