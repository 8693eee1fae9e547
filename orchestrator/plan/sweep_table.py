"""[sweep]: what `tailback sweep` varies, measures and draws where the command line says nothing."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from orchestrator.plan.field_types import Line, Slug
from orchestrator.plan.plan_tables import Table

MOST = 100
"""Lines of a list."""


Pair = Annotated[list[Line], Field(min_length=2, max_length=2)]


class Overlay(Table):
    """A line laid over the maps: the boundary by theory or by another source."""

    label: Line
    """Whose line it is."""
    at: dict[Slug | Line, Line] = Field(default={}, max_length=MOST)
    """Values of further parameters, of whose plane it is one."""
    points: list[Pair] = Field(min_length=2, max_length=1000)
    """Values of the first two parameters, such as `["2", "1.5ms"]`, along the line."""


class Sweep(Table):
    """The plan at many places: `tailback sweep PLAN`."""

    over: list[Line] = Field(default=[], max_length=MOST)
    """Varied parameters, each KEY=RANGE as with `--over`; KEY: a dotted key, or one of `names`."""
    names: dict[Slug, Line] = Field(default={}, max_length=MOST)
    """Short names of keys; several keys that have the same value are joined by `&`."""
    seeds: int | None = Field(default=None, ge=1, le=10_000)
    """Number of seeds of each place; default: 1."""
    design: Literal["grid", "lhs", "sobol", "saltelli", "adaptive"] = "grid"
    """Every combination, a Latin hypercube, a Sobol sequence, the sample of Sobol indices, or more
    and more places where `edge` is crossed."""
    points: int = Field(default=64, ge=2, le=100_000)
    """Number of places of a sample, and the most of a grid whose ranges have no steps."""
    metrics: list[Line] = Field(default=[], max_length=MOST)
    """Metrics stored of each point: METRIC of ENTITY in PHASE, with * and ?, of which parts may be
    left out. Default: everything of queues and traffic, nothing of single flows and limiters."""
    draw: list[Line] = Field(default=[], max_length=MOST)
    """The metrics that are drawn; default: those that expectations speak of, else the first."""
    edge: Line = ""
    """Condition whose boundary is searched, such as `queue_bytes.sd of switch.sink in steady
    > 20KB`: the boundary in maps."""
    overlay: list[Overlay] = Field(default=[], max_length=MOST)
    """Lines that are laid over the maps."""
    narrow: Line = ""
    """A place has seeds enough once the 95 % interval of this metric is narrow, such as
    `utilization of switch.sink in steady = 1%`; it has three at least."""
