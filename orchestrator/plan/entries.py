"""The tables of a plan below nodes, links and traffic."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.params import Ratio
from orchestrator.plan.fields import (
    Buffer,
    Delay,
    Depth,
    FrameSize,
    Granularity,
    Instant,
    Line,
    LineRate,
    Overhead,
    Period,
    Scalar,
    Slug,
    Slugs,
)


class Table(BaseModel):
    """Base of all tables: unknown keys are refused, nothing is converted silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


class PluginTable(BaseModel):
    """A plugin by name, a preset of it, and any of its parameters as further keys.

    The parameters stay raw here; `Plan.check` has the plugin validate them.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    __pydantic_extra__: dict[str, Scalar] = Field(init=False)

    plugin: Line
    preset: Line | None = None


class Limiter(Table):
    """Token bucket of a NIC's limiters: `depth` octets, refilled every `period`."""

    depth: Depth = 3_000
    period: Period = 16_000_000
    granularity: Granularity = 0
    """The rate is cut down to a multiple of this; 0: exact."""


class Nic(Table):
    """A host: sources, each behind a limiter once it was told to slow down."""

    kind: Literal["nic"]
    reaction_points: int = Field(1, ge=0, le=4096)
    host_queue: Buffer = 64_000
    """Octets per flow on the host's side, or of the shared queue."""
    host_queues: Literal["per-flow", "shared"] = "per-flow"
    """per-flow: a full queue holds its source back, flows take turns. shared: flows without a
    limiter wait in one queue in order of arrival, a frame that finds it full is lost at its source
    (and counted); a flow with a limiter has a queue of its own aside."""
    reaction_point: PluginTable | None = None
    limiter: Limiter = Limiter()
    reaction_time: Delay = 0
    """From the arrival of a congestion notification message until its limiter acts on it."""


class Inputs(Table):
    """The input side of a combined input/output queued switch: per port, virtual output queues."""

    buffer: Buffer = 150_000
    """Octets per port, shared by its virtual output queues."""
    over_speed: Ratio = Field(Fraction(8, 5), ge=1, le=100)
    """Rate towards the outputs, as a multiple of the port's link."""
    fall_through: Delay = 1_000_000
    """From the end of a frame's transfer until its output has it."""
    retain_until_delivered: bool = False
    """A frame keeps its room at the input until it left the output."""
    congestion_point: PluginTable | None = None
    pause: PluginTable | None = None


class PortTable(Table):
    """What one port of a switch has in place of the switch's own settings."""

    service_rate: LineRate | None = None
    buffer: Buffer | None = None
    congestion_point: PluginTable | None = None
    pause: PluginTable | None = None


class Switch(Table):
    """An output-queued switch, or with `inputs` a combined input/output queued one.

    The settings hold for every port that has none of its own.
    """

    kind: Literal["switch"]
    service_rate: LineRate | None = None
    """Of the data queue of every output port; default: the rate of the port's link."""
    buffer: Buffer = 150_000
    """Octets per output queue."""
    congestion_point: PluginTable | None = None
    pause: PluginTable | None = None
    inputs: Inputs | None = None
    ports: dict[Slug, PortTable] = {}
    forwarding: dict[Slug, Slug] = {}
    """Destination node -> port; default: the shortest path."""

    def buffer_of(self, port: str) -> int:
        """Octets of the queue before one of its ports: the port's own, or those of all."""
        own = self.ports.get(port)
        return own.buffer if own is not None and own.buffer is not None else self.buffer


class Sink(Table):
    """Takes every frame and measures its latency."""

    kind: Literal["sink"]


Node = Annotated[Nic | Switch | Sink, Field(discriminator="kind")]


class Link(Table):
    """Two directions with a delay line each."""

    ends: tuple[Slug, Slug] = Field(strict=False)
    rate: LineRate
    delay: Delay = 0
    """From ends[0] to ends[1]."""
    delay_back: Delay | None = None
    """From ends[1] to ends[0]; default: `delay`."""
    buffer: Buffer = 8_000_000
    """Octets under way, each way; more are dropped and counted."""
    overhead: Overhead = 0
    """Octets added to every frame's time on the wire (20: preamble and gap)."""
    delay_line: PluginTable = PluginTable(plugin="fixed-delay")


class Traffic(BaseModel):
    """Flows of one kind from NICs to nodes; the plugin's parameters are further keys."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, populate_by_name=True)
    __pydantic_extra__: dict[str, Scalar] = Field(init=False)

    plugin: Line
    preset: Line | None = None
    from_: Slugs = Field(alias="from")
    to: Slugs
    """One node each, or lists: their elements belong together; one node stands for as many."""
    via: Slug | None = None
    """The link that the NIC sends on and hears back on; default: the first of the shortest path."""
    flows: int = Field(1, ge=1, le=100_000)
    """Generators between each pair of ends, each with its own source address."""
    frame: FrameSize = 1_500
    priority: int = Field(0, ge=0, le=7)
    start: Instant = 0
    stop: Instant | None = None
    """Default: the end of the run."""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(from, to) of every pair of ends; unequal lists give as many as the shorter has."""
        sources = self.from_ if isinstance(self.from_, list) else None
        targets = self.to if isinstance(self.to, list) else None
        if sources is None and targets is None:
            return [(self.from_, self.to)]
        sources = sources or [self.from_] * len(targets or ())
        return list(zip(sources, targets or [self.to] * len(sources), strict=False))

    @property
    def count(self) -> int:
        """How many generators there are."""
        return self.flows * len(self.pairs)
