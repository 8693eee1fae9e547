"""Messages between controller and agent."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from orchestrator.testbed.wire.chunked_transfer import Listed
from orchestrator.testbed.wire.envelope import CHUNK, NAME, TOKEN, WireMessage

NIC = r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,14}$"
"""What the kernel takes for an interface's name, and no '/' or '..' in it."""
Interface = Annotated[str, Field(pattern=NIC)]

Range = Annotated[list[Annotated[int, Field(ge=0, lt=2**24)]], Field(min_length=2, max_length=2)]
"""Of address indices, both ends in it."""


class Hello(WireMessage):
    """Ask for the offer."""


class Nic(WireMessage):
    """A network interface as the agent finds it. What cannot be read is None."""

    name: str = Field(pattern=NIC)
    mac: str | None = None
    speed_mbps: int | None = None
    mtu: int | None = None
    driver: str | None = Field(default=None, max_length=64)
    up: bool = False
    carrier: bool = False
    address: str | None = None
    """Its IP address: such a NIC is a management interface and is never leased."""
    offloads: dict[str, bool | None] = Field(default={})
    timestamping: list[str] = Field(default=[])
    ptp_clock: int | None = None
    lease: str | None = None


class Offer(WireMessage):
    """Resources and permissions of a machine."""

    machine: str = NAME
    version: str
    boot: str = TOKEN
    """Made when the agent starts: another one means that it was started anew."""
    kernel: str = Field(max_length=100)
    """Of the running kernel (its boot id): two agents with one share clock and cores."""
    time_namespace: str = Field(max_length=100)
    system: str = Field(max_length=200)
    processor: str | None = Field(default=None, max_length=200)
    cores: int = Field(ge=1)
    memory_bytes: int | None = None
    nics: list[Nic]
    cards: list[str] = Field(default=[])
    """Gateware cards, by PCI address and name."""
    may: dict[str, bool]
    privileges: list[str]
    """Kept capabilities."""
    clock: dict[str, Any] = Field(default={})
    holds: dict[Annotated[str, NAME], Annotated[str, Field(max_length=1000)]] = Field(default={})
    """Targets of which this machine can hold a whole plan -> nothing, or why it cannot."""
    left_over: list[str] = Field(default=[])
    """What a predecessor had left behind and was removed, in sentences."""


class Lease(WireMessage):
    """Lease NICs, for as long as `beat` renews it."""

    lease: str = TOKEN
    controller: str = NAME
    ttl_ms: int = Field(ge=500, le=600_000)
    nics: list[Interface] = Field(max_length=256)
    stamps: list[Interface] = Field(default=[], max_length=256)
    """Those of them that are to take times of frames."""
    launches: list[Interface] = Field(default=[], max_length=256)
    """Those of them that are to launch frames at their times."""


class OfLease(WireMessage):
    """A request about one lease and nothing else."""

    lease: str = TOKEN


class Force(WireMessage):
    """End the leases of this name: the lease's own, its controller's, its key's or a NIC's."""

    name: str = NAME


class Probe(OfLease):
    """Send a frame out of every NIC of the lease that says where it comes from."""

    nonce: str = TOKEN


class Frame(WireMessage):
    """A probe of a device (`orchestrator.targets.software.dut.dut_probing`): the number of its
    cable, the NIC that it leaves by, MAC addresses in hex, octets with its tag."""

    nic: Interface
    number: int = Field(ge=0, lt=4096)
    source: str = Field(pattern=r"^02[0-9a-f]{10}$")
    to: str = Field(pattern=r"^[0-9a-f]{12}$")
    octets: int = Field(ge=64, le=9218)


class Announce(OfLease):
    """Send these frames, and receive those of other machines then. `nonce`: 8 octets in hex."""

    nonce: str = Field(pattern=r"^[0-9a-f]{16}$")
    frames: list[Frame] = Field(default=[], max_length=65_536)


class Announced(OfLease):
    """Ask for the frames with this nonce that have come in since this was asked last."""

    nonce: str = Field(pattern=r"^[0-9a-f]{16}$")


class Arrived(WireMessage):
    """A probe of a device that came in: where, by which cable it was sent, how long, and whether
    with its tag."""

    nic: str
    number: int
    octets: int
    tagged: bool


class ProbeReceived(WireMessage):
    """A probe that came in."""

    nic: str
    machine: str
    sender: str


class Pace(WireMessage):
    """Threads that share cores and a clock, numbered across all agents of one kernel.

    `holder`: (process, descriptor) of the memory that they share; None: make it.
    """

    threads: int = Field(ge=1, le=4096)
    first: int = Field(ge=0, le=4096)
    holder: list[int] | None = Field(default=None, min_length=2, max_length=2)
    holds: bool = True
    """Whether the clock is held back for a thread that lags."""
    crowded: bool = False
    """More threads than cores: they take turns."""
    core: int | None = Field(default=None, ge=0, le=4096)
    """The first core to use; None: any two."""


class Deploy(OfLease):
    """Build these nodes of a plan. `ports` maps ports of the plan to NICs of the lease."""

    plan: str = Field(max_length=4_000_000)
    nodes: list[Annotated[str, NAME]] = Field(min_length=1, max_length=10_000)
    ports: dict[Annotated[str, NAME], Interface] = Field(default={}, max_length=4096)
    hears: dict[Annotated[str, NAME], Annotated[list[Range], Field(max_length=500)]] = Field(
        default={}, max_length=4096
    )
    """Nodes at devices that may flood -> the ranges of address indices that are for them; of any
    other node every frame that comes is."""
    threads: int = Field(default=1, ge=1, le=2)
    pace: Pace
    ps_per_us: int = Field(default=10**6, ge=10, le=10**8)
    """Ps of the run per us of the clock: a million unless a pace was asked for."""
    stamps: Literal["software", "hardware"] | None = None
    """Who takes times of frames; the NICs were asked for them with the lease."""
    launch: bool = False
    why: str | None = Field(default=None, max_length=1000)
    """Why the kernel takes them where NICs might have."""


class Hold(OfLease):
    """Run a whole plan on a target of this machine. `sources`: digest of the requester's sources,
    which must be equal here."""

    plan: str = Field(max_length=4_000_000)
    target: str = NAME
    sources: str = TOKEN


class Fault(WireMessage):
    """A failure that the plan asks for, so long after the start by this machine's clock."""

    after_ns: int = Field(ge=0, lt=2**62)
    verb: Literal["kill_agent", "cut_link", "delay_control"]
    nic: str | None = Field(default=None, pattern=NIC)
    delay_ms: int = Field(default=0, ge=0, le=60_000)


class Start(OfLease):
    """Let time 0 be when this machine's CLOCK_MONOTONIC shows `at_ns`."""

    at_ns: int = Field(gt=0, lt=2**62)
    rate_ppb: int = Field(ge=-500_000, le=500_000)
    faults: list[Fault] = Field(default=[], max_length=1000)


class Change(OfLease):
    """Make a step of the timeline while the run goes on: {"set": key, "to": value} or {verb: name}.

    `change` names the step, `number` this question about it: its answer comes with a pulse.
    `at_ps` None: can it be made, and when at the earliest?
    """

    change: str = TOKEN
    number: str = TOKEN
    step: dict[str, str | int | float | bool] = Field(min_length=1, max_length=2)
    at_ps: int | None = Field(default=None, ge=0, lt=2**62)


class Changed(WireMessage):
    """Answer about a change: its time, or that it came too late for the requested one, or the
    refusal."""

    number: str
    at_ps: int | None = None
    late: bool = False
    refused: str | None = None


class Fetch(OfLease):
    """Ask for the chunk of a result file at an offset."""

    name: str = Field(pattern=r"^[a-z0-9]{1,32}$")
    offset: int = Field(ge=0, lt=2**40)


class Heartbeat(WireMessage):
    """Keep a lease alive, read the clock, ask what is new. `rows_after`: None for no samples."""

    lease: str | None = Field(default=None, pattern=r"^[0-9a-f]{8,64}$")
    events_after: int = Field(default=0, ge=0)
    rows_after: int | None = Field(default=None, ge=-1)


class Rows(WireMessage):
    """Samples that come behind the answer, as int64: `count` times, then per thread of the part
    `count` rows of all `columns` of the plan, of which those in `owned` are the thread's own."""

    first: int = Field(ge=0, lt=2**40)
    count: int = Field(ge=1, le=CHUNK)
    columns: int = Field(ge=1, le=CHUNK)
    owned: list[list[int]] = Field(min_length=1, max_length=64)

    @property
    def octets(self) -> int:
        """Of the payload."""
        return 8 * self.count * (1 + self.columns * len(self.owned))


class Event(WireMessage):
    """Event of a lease, in a sentence."""

    number: int
    at_ns: int
    text: str


class HeartbeatReply(WireMessage):
    """The answer to a beat. Times are CLOCK_MONOTONIC in ns."""

    received_ns: int
    answered_ns: int
    boot: str
    leases: int
    state: str = "none"
    """Of the lease: none, leasing, leased, deploying, ready, running, ended, collected, failed."""
    stage: str = ""
    detail: str = Field(default="", max_length=1000)
    done: float = Field(default=0.0, ge=0, le=1)
    """Of a plan that is held: how far it is in its stage, in words and as a share."""
    cause: str = ""
    """Why it failed."""
    code: int = 0
    """Its exit code, where that was a mistake of the plan or of what it ran on; else 0."""
    events: list[Event] = Field(default=[])
    rows: Rows | None = None
    changes: list[Changed] = Field(default=[])
    """The latest answers about changes."""
    files: list[Listed] = Field(default=[])
    interfaces: dict[str, dict[str, int]] = Field(default={})
    """Per NIC of the lease, what its counters moved by since the start."""
