"""Tables of a plan below nodes, links and traffic."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    model_validator,
)

from orchestrator.plan import former_names
from orchestrator.plan.algorithm_params import Ratio
from orchestrator.plan.field_types import (
    AgeingTime,
    Buffer,
    Delay,
    Depth,
    DscpMap,
    FrameSize,
    Granularity,
    Instant,
    Line,
    LineRate,
    Overhead,
    Period,
    Point,
    PriorityMap,
    Scalar,
    Slug,
    Slugs,
)
from orchestrator.plan.model_introspection import ONE_STAGE, STAGE_LIST
from orchestrator.plan.traffic_pairing import drawn, most

MOST_STAGES = 16
"""Stages of a link at the most."""


class Table(BaseModel):
    """Base of all tables: unknown keys are refused, nothing is converted silently.

    What reads a table is made when one is first read, as part of what reads the whole plan; what is
    said of its fields is read from the source on demand (`orchestrator.plan.model_introspection`).
    Both at every start would be half of what importing plans takes.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, populate_by_name=True, defer_build=True
    )
    former: ClassVar[dict[str, str]] = {}
    """Former names of keys, accepted for one release -> their names."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Declares the former names of its keys."""
        super().__pydantic_init_subclass__(**kwargs)
        keys = [field.alias or name for name, field in cls.model_fields.items()]
        former_names.check_declaration(cls, keys)
        former_names.declare_keys(former_names.former_of(cls))

    @model_validator(mode="before")
    @classmethod
    def _accept_former(cls, data: Any) -> Any:
        former = former_names.former_of(cls)
        if not former or not isinstance(data, dict):
            return data
        return former_names.current_keys(data, former, "plan key")


class PluginTable(BaseModel):
    """A plugin by name, a preset of it, and any of its parameters as further keys.

    The parameters stay raw here; `Plan.check` has the plugin validate them.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    __pydantic_extra__: dict[str, Scalar] = Field(init=False)

    plugin: Line
    preset: Line | None = None


def _form_of(value: Any) -> str | None:
    """The form in which a delay line is written, a tag of `DelayLine`; None: in neither."""
    if isinstance(value, dict | PluginTable):
        return ONE_STAGE
    return STAGE_LIST if isinstance(value, list | tuple) else None


def _check_stages(stages: tuple[PluginTable, ...]) -> tuple[PluginTable, ...]:
    if not 0 < len(stages) <= MOST_STAGES:
        raise ValueError(f"1 to {MOST_STAGES} tables are expected")
    return stages


DelayLine = Annotated[
    Annotated[PluginTable, Tag(ONE_STAGE)]
    | Annotated[
        tuple[PluginTable, ...],
        Field(strict=False),
        AfterValidator(_check_stages),
        Tag(STAGE_LIST),
    ],
    Discriminator(
        _form_of,
        custom_error_type="delay_line_form",
        custom_error_message="a table, or a list of tables in their order, is expected",
    ),
]
"""A delay line: one algorithm, or several in the order in which frames pass them."""


class Limiter(Table):
    """Token bucket of a NIC's limiters: `depth` octets, refilled every `period`."""

    depth: Depth = 3_000
    """Octets that can be sent at once after a pause."""
    period: Period = 16_000_000
    """Between two refills; each brings what the rate gives in that time."""
    granularity: Granularity = 0
    """The rate is cut down to a multiple of this; 0: exact."""


Priorities = Annotated[list[Annotated[int, Field(ge=0, le=7)]], Field(min_length=1, max_length=8)]
ObeyedPriorities = Annotated[list[Annotated[int, Field(ge=0, le=7)]], Field(max_length=8)]


class Nic(Table):
    """A host: sources, each behind a limiter after its first congestion notification."""

    kind: Literal["nic"]
    reaction_points: int = Field(1, ge=0, le=4096)
    """Number of its limiters, with an instance of the reaction point each."""
    host_queue: Buffer = 64_000
    """Octets per flow on the host's side, or of the shared queue."""
    host_queues: Literal["per-flow", "shared"] = "per-flow"
    """per-flow: a full queue holds its source back, flows take turns. shared: flows without a
    limiter wait in one queue in order of arrival, a frame that finds it full is lost at its source
    (and counted); a flow with a limiter has a queue of its own aside."""
    reaction_point: PluginTable | None = None
    """Sets the rates of the limiters; without one there are none."""
    notification_point: PluginTable | None = None
    """Sees the data frames that are delivered here."""
    receiver: PluginTable | None = None
    """Paces the sources of what is delivered here, by credits."""
    scheduler: PluginTable | None = None
    """Chooses the priority that its ports send next, with separate lanes; default: round robin."""
    flow_scheduler: PluginTable | None = None
    """Chooses the flow that sends next, of those of a lane, by `flow_class` of their traffic: what
    schedulers' parameters say of priorities holds for these classes. Default: flows take turns."""
    limiter: Limiter = Limiter()
    """The token bucket that each of them is."""
    reaction_time: Delay = 0
    """From the arrival of a congestion notification message until its limiter acts on it."""
    obeys_pfc: ObeyedPriorities | None = None
    """Priorities whose lanes stop when the neighbour's PFC frame names them, with separate lanes;
    those of all others go on, as of a tester that does not respond to PFC. []: none. Default: all.
    """
    forwards: bool | None = None
    """true: it sends on frames that are addressed to others (BCube), as a switch of its links
    would; false: never; default: where switches alone do not join the ends of the traffic."""
    forwarding_buffer: Buffer | None = None
    """Octets per port of the queue in which frames of others wait there; these and the host's own
    frames take turns. Of hosts that forward; default: 150 KB."""
    target: Slug | None = None
    """Target of this node, if not the plan's; for targets that can be joined."""


class Inputs(Table):
    """The input side of a combined input/output queued switch: per port, virtual output queues."""

    former: ClassVar[dict[str, str]] = {
        "over_speed": "speedup",
        "fall_through": "crossbar_latency",
        "retain_until_delivered": "hold_until_departure",
    }

    buffer: Buffer = 150_000
    """Octets per port, shared by its virtual output queues."""
    speedup: Ratio = Field(Fraction(8, 5), ge=1, le=100)
    """Rate towards the outputs, as a multiple of the port's link."""
    crossbar_latency: Delay = 1_000_000
    """From the end of a frame's transfer until its output has it."""
    hold_until_departure: bool = False
    """A frame keeps its room at the input until it left the output."""
    shared_memory: Buffer | None = None
    """Octets that all ports share instead: nothing waits for a transfer, a frame is counted at its
    input (`buffer` is the most there, PAUSE and PFC watch it) and at its output until it left."""
    buffer_management: PluginTable | None = None
    """Limits what an input holds of the shared memory, below `buffer`. Default: nothing else."""
    headroom: Buffer | None = None
    """Octets per port beside the shared memory, for lossless frames above the limit of their input
    (pause 'dynamic-pfc'). No output limits lossless lanes then. Default: none."""
    congestion_point: PluginTable | None = None
    """Watches the buffer of every input."""
    pause: PluginTable | None = None
    """Stops the upstream neighbour of an input, by PAUSE or PFC."""
    pause_priorities: Priorities | None = None
    """Priorities that the pause holds, with separate lanes; all others are lossy: frames of theirs
    that find no room are dropped. Default: all."""
    lossy_buffer: Buffer | None = None
    """Octets per port and lossy priority; default: `buffer`."""

    def holds(self, priority: int) -> bool:
        """True if a pause here holds the lane of a priority."""
        return self.pause_priorities is None or priority in self.pause_priorities


class Reassembly(Table):
    """Flows leave the switch in the order in which they were sent, towards NICs and sinks."""

    buffer: Buffer = 1_000_000
    """Octets, of the whole switch, that may wait for an earlier frame of their flow."""
    timeout: Delay = Field(500_000_000, gt=0)
    """After this wait a missing frame is given up (and counted) and those behind it go on."""


class PortTable(Table):
    """Settings of one port of a switch in place of the switch's own."""

    service_rate: LineRate | None = None
    """Of the data queue of this port."""
    buffer: Buffer | None = None
    """Octets of this port's queue."""
    congestion_point: PluginTable | None = None
    """Watches this port's queue."""
    pause: PluginTable | None = None
    """Stops those who fill this port's queue."""
    notification_point: PluginTable | None = None
    """Sees the data frames that enter this port's queue."""
    watchdog: PluginTable | None = None
    """Sees when this port's queue is held by PAUSE or PFC, and may end that."""
    scheduler: PluginTable | None = None
    """Chooses the priority that this port sends next, with separate lanes."""
    buffer_management: PluginTable | None = None
    """Limits what this port's queue holds of the shared memory, below `buffer`."""


class MacLearning(Table):
    """A switch that forwards the frames of other devices, such as a tester's (IEEE 802.1Q-2018, 8.7
    and 8.8): between its ports that face external nodes."""

    ageing_time: AgeingTime = 300 * 10**12
    """How long a station is remembered that is silent."""
    longest_frame: FrameSize = 1514
    """Octets without FCS and VLAN tags; longer frames are dropped."""


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
    """Watches every output queue and tells sources."""
    pause: PluginTable | None = None
    """Stops the neighbours that fill an output queue, by PAUSE or PFC."""
    pause_priorities: Priorities | None = None
    """Priorities that the pauses of output queues hold, with separate lanes; all others are lossy.
    Default: all."""
    obeys_pfc: ObeyedPriorities | None = None
    """Priorities whose lanes stop when a neighbour's PFC frame names them, with separate lanes; PFC
    for all others has no effect, as on a switch where PFC is enabled for the lossless priorities
    alone. []: none. Default: all."""
    notification_point: PluginTable | None = None
    """Sees the data frames that enter an output queue, behind its congestion point."""
    watchdog: PluginTable | None = None
    """Sees when an output queue is held by PAUSE or PFC, and may end that."""
    scheduler: PluginTable | None = None
    """Chooses the priority that a port sends next, with separate lanes; default: round robin."""
    buffer_management: PluginTable | None = None
    """Limits what an output queue holds of `inputs.shared_memory`, below `buffer`. Default: nothing
    else."""
    forwards_by: Literal["mac", "ip"] = "mac"
    """ip: an IP router. It gives a frame its next hop's MAC address and takes one off its TTL; what
    is not IP (CNMs, probes) does not pass it. On `software` an external router is asked for its MAC
    addresses before the run (docs/dut.md)."""
    dscp_to_tc: DscpMap | None = None
    """Priority, 0 to 7, that some DSCPs have here, in place of those of `headers.dscp_to_tc`."""
    tc_to_queue: PriorityMap | None = None
    """Lane of each priority, 0 to 7, behind that map: 8 priorities, whose queues and PFC classes
    its frames have here. Default: each its own."""
    mac_learning: MacLearning | None = None
    """Forwards the frames of other devices as well, by the MAC addresses that it learns; `{}`: with
    the default values. On `software` alone: elsewhere there are no such frames."""
    inputs: Inputs | None = None
    """Buffers and virtual output queues at the inputs, a crossbar behind them."""
    ports: dict[Slug, PortTable] = {}
    """By the port's name: the neighbour, or the link where two links are parallel."""
    forwarding: dict[Slug, Slug] = {}
    """Destination node -> port; default: the shortest path."""
    spread: Literal["none", "flows", "frames"] = "none"
    """Over several shortest paths. none: the first in the plan; flows: each flow takes one, by a
    hash of its addresses; frames: each frame takes one at random (packet spraying)."""
    reassembly: Reassembly | None = None
    """Puts flows back in order where frames take several ways."""
    target: Slug | None = None
    """Target of this node, if not the plan's; for targets that can be joined."""

    def holds(self, priority: int) -> bool:
        """True if a pause of an output queue holds the lane of a priority."""
        return self.pause_priorities is None or priority in self.pause_priorities

    def buffer_of(self, port: str) -> int:
        """Octets of the queue before one of its ports: the port's own, or those of all."""
        own = self.ports.get(port)
        return own.buffer if own is not None and own.buffer is not None else self.buffer

    def service_of(self, port: str, line: int) -> int:
        """At what rate the queue before one of its ports is served, whose link has rate `line`: the
        port's own, that of all, or the link's (bit/s)."""
        own = self.ports.get(port)
        return (own and own.service_rate) or self.service_rate or line


class External(Switch):
    """An external device (DUT), such as a switch, between emulated nodes. It is known by what it
    does with frames; `as` gives the model that it is checked against.

    Its ports are interfaces of this machine by `--testbed` or `--external` (docs/dut.md). The
    settings of a switch say what it is supposed to do, and go with `as` alone.
    """

    kind: Literal["external"]  # type: ignore[assignment]
    as_: Literal["switch"] | None = Field(None, alias="as")
    """Model that the oracle checks it against: "switch", with the settings of one. Without it
    nothing is assumed, and only observations of the emulated ends are reported."""


class Sink(Table):
    """Takes every frame and measures its latency."""

    kind: Literal["sink"]
    notification_point: PluginTable | None = None
    """Sees the data frames that are delivered here."""
    receiver: PluginTable | None = None
    """Paces the sources of what is delivered here, by credits."""


Node = Annotated[Nic | Switch | External | Sink, Field(discriminator="kind")]


class Link(Table):
    """Two directions with a delay line each."""

    ends: tuple[Slug, Slug] = Field(strict=False)
    """The two nodes that it joins."""
    rate: LineRate
    """The same both ways."""
    delay: Delay = 0
    """From ends[0] to ends[1]."""
    delay_back: Delay | None = None
    """From ends[1] to ends[0]; default: `delay`."""
    buffer: Buffer = 8_000_000
    """Octets under way, each way; more are dropped and counted."""
    overhead: Overhead = 0
    """Octets added to every frame's time on the wire (20: preamble and gap)."""
    delay_line: DelayLine = PluginTable(plugin="fixed-delay")
    """Algorithm that delays, loses or alters frames on the way; or a list of 1 to 16 of these:
    stages, which frames pass in that order."""

    @property
    def stages(self) -> tuple[PluginTable, ...]:
        """The algorithms of its delay line, in the order in which frames pass them."""
        return self.delay_line if isinstance(self.delay_line, tuple) else (self.delay_line,)


class Traffic(Table):
    """Flows of one kind from NICs to nodes; the plugin's parameters are further keys."""

    model_config = ConfigDict(
        extra="allow", frozen=True, strict=True, populate_by_name=True, defer_build=True
    )
    __pydantic_extra__: dict[str, Scalar] = Field(init=False)
    former: ClassVar[dict[str, str]] = {"both_ways": "bidirectional"}

    plugin: Line
    """The source, by its name."""
    preset: Line | None = None
    """One of the plugin's sets of parameters."""
    from_: Slugs = Field(alias="from")
    """The NICs that send."""
    to: Slugs
    """One node each, or lists: their elements belong together; one node stands for as many."""
    via: Slug | None = None
    """The link that the NIC sends on and gets feedback on; default: first of a shortest path."""
    flows: int = Field(1, ge=1, le=100_000)
    """Generators between each pair of ends, each with its own source address."""
    frame: FrameSize = 1_500
    """Octets of every data frame with its headers, without the FCS."""
    priority: int = Field(0, ge=0, le=7)
    """Of the frames, in their VLAN tag or by their DSCP (`headers`)."""
    ack_priority: int | None = Field(None, ge=0, le=7)
    """Of the acknowledgements of the entry's transport, as `priority`: with separate lanes they
    wait in the lane of this priority at every switch. Default: that of the frames."""
    flow_class: int | None = Field(None, ge=0, le=7)
    """Class by which the `flow_scheduler` of their NIC chooses among flows; those of one class take
    turns. No frame has it. Default: their priority."""
    start: Instant = 0
    """Time at which the flows begin."""
    stop: Instant | None = None
    """Default: the end of the run."""
    pairing: Literal["listed", "all", "permutation", "random", "ring", "tree"] = "listed"
    """listed: elements of `from` and `to` belong together. all: every one of `from` with every
    other one of `to`. permutation: every one of `from` with one of `to` that no other has. random:
    every one of `from` with any of `to`. ring: every one of `from` with the one of `to` behind its
    place, the last with the first. tree: every one of `from` but the first with the one of `to` at
    half its place, its parent. The plan's seed draws; no node sends to itself."""
    bidirectional: bool = False
    """Every pair also the other way round; those follow behind."""
    cdf: list[Point] | None = None
    """Sizes of messages, for plugins that draw them: [size, share of messages not larger]."""
    transport: PluginTable | None = None
    """Transport of the messages; default: each goes as datagrams, as fast as its host queue."""
    _seed: int = PrivateAttr(0)

    def draw_pairs(self, seed: int) -> None:
        """Fix the random numbers that pairs are drawn with."""
        self._seed = seed

    def acknowledged_in(self) -> int:
        """Priority of the acknowledgements of its frames."""
        return self.priority if self.ack_priority is None else self.ack_priority

    def scheduled_in(self) -> int:
        """Class of its flows at the flow schedulers of their NICs."""
        return self.priority if self.flow_class is None else self.flow_class

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(from, to) of every pair of ends; unequal lists give as many as the shorter has."""
        there = self._listed() if self.pairing == "listed" else self._drawn()
        return there + [(b, a) for a, b in there] if self.bidirectional else there

    @property
    def most_pairs(self) -> int:
        """Number of pairs examined to find `pairs`, counted without making them."""
        sources, targets = (
            end if isinstance(end, list) else [end] for end in (self.from_, self.to)
        )
        if self.pairing == "listed":
            return max(len(sources), len(targets)) << self.bidirectional
        return most(self.pairing, sources, targets) << self.bidirectional

    def _drawn(self) -> list[tuple[str, str]]:
        sources, targets = (
            end if isinstance(end, list) else [end] for end in (self.from_, self.to)
        )
        return drawn(self.pairing, sources, targets, self._seed)

    def _listed(self) -> list[tuple[str, str]]:
        sources = self.from_ if isinstance(self.from_, list) else None
        targets = self.to if isinstance(self.to, list) else None
        if sources is None and targets is None:
            return [(self.from_, self.to)]
        sources = sources or [self.from_] * len(targets or ())
        return list(zip(sources, targets or [self.to] * len(sources), strict=False))

    @property
    def count(self) -> int:
        """Number of generators."""
        return self.flows * len(self.pairs)
