"""Result of an analysis as it is written to JSON. Times in seconds, rates in bit/s."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

FORMAT = 1


MIRRORED_FRAMES = 16
"""Frames of a flow from which on it can be said that nearly every one is there twice."""


@dataclass(frozen=True)
class FlowSeen:
    """One flow at one interface. Losses are gaps between its first and last number seen here.

    A flow is identified by what hops keep: over IP by addresses, protocol and ports, RoCE by
    addresses, queue pair and partition. MAC addresses, VLAN and priority are the first frame's.
    """

    source: str
    flow: int | None
    """Of tailback's frames; None for others."""
    frames: int
    throughput_bps: float | None
    lost: int | None
    """None where frames carry no sequence number, or one that does not count frames."""
    duplicates: int | None
    reordered: int | None
    """Frames that came after one with a higher number; TCP: segments before the furthest."""
    kind: str = "data"
    destination: str = ""
    vlan: int | None = None
    priority: int | None = None
    ethertype: int = 0
    from_address: str | None = None
    to_address: str | None = None
    protocol: int | None = None
    source_port: int | None = None
    destination_port: int | None = None
    qp: int | None = None
    octets: int = 0
    undecided: int = 0
    """Frames too late for the window: unknown whether they were received before."""
    restarts: int = 0
    """RoCE: times that packet numbers began anew, as those of a new connection do."""
    ect0: int = 0
    ect1: int = 0
    ce: int = 0
    """Frames with the ECN code points ECT(0), ECT(1), CE."""
    tunnel: str | None = None
    """Tunnels around it, as vxlan or erspan+vxlan; its addresses are those inside."""
    network: int | None = None
    """Of the tunnel: VNI, VSID, or key of GRE."""
    data_frames: int = 0
    """RoCE: frames with a request or the answer to a read, not just an acknowledgement."""
    row: int = 0
    """In the table of rates over time."""

    @property
    def is_seen_twice(self) -> bool:
        """True if nearly every frame was captured twice: retransmissions are fewer."""
        numbered = self.frames if self.kind == "data" else self.data_frames
        return numbered >= MIRRORED_FRAMES and 2 * (self.duplicates or 0) >= 0.95 * numbered


@dataclass(frozen=True)
class CongestionPointSeen:
    """The CNMs of one congestion point."""

    cpid: str
    source: str
    messages: int
    feedback: dict[int, int]
    feedback_mean: float
    offset_bytes: dict[str, float]
    """mean, min, max: how far the queue was above the set point."""
    delta_bytes: dict[str, float]
    index: int = 0
    """In the table of messages."""


@dataclass(frozen=True)
class PauseSeen:
    """PAUSE, or PFC of one priority, from one sender."""

    source: str
    direction: str
    priority: int | None
    """None: 802.3 PAUSE, which stops all."""
    frames: int
    resumes: int
    quanta: int
    paused_s: float | None
    """None where the link's rate is not known."""
    duty: float | None
    spells: int | None
    longest_s: float | None
    storms: int | None
    link: int = 0
    """In the table of spells."""
    lapses: int | None = None
    """Times that the quanta had run before the next frame held the port again."""
    lapsed_s: float | None = None
    longest_lapse_s: float | None = None
    lapsed_share: float | None = None
    """Of the time that it was held or lapsed."""


@dataclass(frozen=True)
class ProbesSeen:
    """FECN's probes of one flow at one interface, or the echoes that came back of them."""

    source: str
    destination: str
    flow: int
    way: str
    """"forward", or "back" for echoes."""
    probes: int
    lost: int
    """Gaps between the first and the last number seen here."""
    reordered: int
    rate_bps: dict[str, float]
    """Rates that they carried: min, mean, max, last."""
    index: int = 0
    """In the table of probes."""


@dataclass(frozen=True)
class StampsSeen:
    """The stamps of one port, on data or echoed on acknowledgements."""

    port: str
    """Its MAC address."""
    way: str
    """"forward" on data, "back" on acknowledgements."""
    stamps: int
    places: list[int]
    """Between which places among the stamps of a frame, from 1 on."""
    queued: dict[str, float]
    """min, mean, max of what it says first: octets that wait or, where frames keep one stamp, the
    signal that ports compare."""
    rate_bps: int
    """Of the last one."""


@dataclass(frozen=True)
class NeighbourSeen:
    """A station that speaks LLDP. `says` holds what its last frame says by DCBX, by TLV: `cn`,
    `pfc`, `ets`, `ets_recommendation`, `applications` of 802.1Q, `cee_groups`, `cee_pfc`,
    `cee_applications` of CEE; a TLV that it does not send is not there."""

    source: str
    frames: int
    changes: int
    """How often what it says was not what it had said before."""
    says: dict[str, dict[str, Any]]
    notes: list[str] = field(default_factory=list)
    """Contradictions in its last frame, and DCBX of versions that are not read."""


@dataclass(frozen=True)
class Fairness:
    """What Jain's index at an interface compares: data flows in its busier direction."""

    jain: float | None = None
    """None for fewer than two flows, of which it says nothing."""
    flows: int = 0
    kinds: list[str] = field(default_factory=list)
    """Their protocols."""
    left_out: int = 0
    """Flows of acknowledgements, CNPs and control protocols, and of the other direction."""


@dataclass(frozen=True)
class InterfaceSeen:
    """One interface of a file. `frames` counts by kind, `feedback` CNMs by their value."""

    name: str
    seconds: float
    frames: dict[str, int]
    octets: int
    capture_drops: int | None
    """Frames lost by the capture; None when the file does not state it. Of counters at the end and
    losses stated between frames, which are the same losses, the larger."""
    feedback: dict[int, int]
    pauses: int
    resumes: int
    """PAUSE frames with quanta 0."""
    flows: list[FlowSeen]
    """tailback's own."""
    conversations: list[FlowSeen] = field(default_factory=list)
    """All others."""
    file: str = ""
    linktype: int = 1
    rate_bps: int | None = None
    throughput_bps: float | None = None
    ce: int = 0
    jain: float | None = None
    """That of `fairness`."""
    fairness: Fairness = Fairness()
    congestion_points: list[CongestionPointSeen] = field(default_factory=list)
    links: list[PauseSeen] = field(default_factory=list)
    probes: list[ProbesSeen] = field(default_factory=list)
    neighbours: list[NeighbourSeen] = field(default_factory=list)
    stamps: list[StampsSeen] = field(default_factory=list)
    drops: dict[str, int] = field(default_factory=dict)
    """What `capture_drops` is of, as far as the file states it: `interface` (isb_ifdrop), `system`
    (isb_osdrop), `between_frames` (sum of epb_dropcount)."""
    link_errors: dict[str, int] = field(default_factory=dict)
    """Frames that epb_flags says were received with an error, by error (`crc`, ...). They count in
    all else."""
    untimed: int = 0
    """Frames whose time is beyond the year 2262: they count, but in no rate and at no time."""
    fcs_octets: int = 0
    """Octets of frame check sequence that frames end with; they are not counted."""
    fcs_unstated: bool = False
    """True if the file does not state the FCS, and the frames show it."""
    cut: int = 0
    """Frames whose last octets were not captured (snap length)."""
    mirrored: bool = False
    """True if nearly every IP packet, of the first 4096 frames, is there twice."""
    transmit_bps: int | None = None
    receive_bps: int | None = None
    """Rates of the link's two directions, where the file states them."""


@dataclass(frozen=True)
class HopSeen:
    """Latency of a flow from one point to the next where it was seen."""

    before: str
    after: str
    source: str
    flow: int | None
    frames: int
    latency_s: dict[str, float]
    """min, mean, p50, p99, max; percentiles are at most 1/32 too high, never too low."""
    other_paths: int
    """Frames that came from another point than `before`; they are not in the figures."""
    from_address: str | None = None
    to_address: str | None = None
    qp: int | None = None
    clocks: str = "one"
    """"one": both points have the same; else what is known of two clocks: "agree", "corrected", or
    "unverified", where frames in one direction cannot tell."""


@dataclass(frozen=True)
class ClockSeen:
    """The clocks of two captures, by the frames that both hold."""

    first: str
    second: str
    frames: int
    verdict: str
    """"agree": no frame contradicts it; "differ": by the offset; "unverified": frames of one
    direction alone, which do not contradict it; "contradict": these do, by their TTL; "absurd":
    these would have been under way for a second or more. Of the last two, no latency is given."""
    offset_s: float | None
    """By how much the second is ahead of the first; None where frames did not go both ways."""
    uncertainty_s: float | None
    """Of the offset: half of the least round trip between the two points."""
    drift_ppm: float | None
    corrected: bool
    """True if times were corrected by it, since they contradict each other without."""
    least_s: float | None
    """Without an offset: the clocks differ at least by this."""


@dataclass(frozen=True)
class Cause:
    """A pause that came while the pausing device was itself paused: one step of a cascade."""

    node: str
    cause_link: int
    cause_begin_s: float
    effect_link: int
    effect_begin_s: float
    cause: int
    effect: int
    """Rows of the table of spells."""


@dataclass(frozen=True)
class CaptureSeen:
    """One file."""

    file: str
    format: str
    frames: int
    damage: str | None
    """Position and cause of damage that ended reading."""
    backward: int = 0
    """Frames that are earlier than one before them in the file, which was sorted if it is one."""
    unsorted: int = 0
    """Frames that are still so: a pipe is read once, and a file sorted within a window."""


@dataclass(frozen=True)
class Analysis:
    """All interfaces of all files; `file` is the first."""

    file: str
    interfaces: list[InterfaceSeen]
    captures: list[CaptureSeen] = field(default_factory=list)
    latency: list[HopSeen] = field(default_factory=list)
    clocks: list[ClockSeen] = field(default_factory=list)
    without_latency: dict[str, int] = field(default_factory=dict)
    """Flows over IP at several points whose frames carry no number that is known, by protocol: no
    frame of theirs is found again at the next point."""
    cascades: list[Cause] = field(default_factory=list)
    cascades_note: str | None = None
    """Reason why cascades are unknown, where they are."""
    more_flows: int = 0
    """Frames of flows without a row of their own."""
    more_messages: int = 0
    more_pauses: int = 0
    more_probes: int = 0
    more_lldp: int = 0
    more_stamps: int = 0
    """CNMs, pause frames, probes, LLDP frames and stamps of senders and flows without a row of
    their own."""
    undrawn_messages: int = 0
    undrawn_spells: int = 0
    undrawn_probes: int = 0
    """CNMs, spells of pauses and probes that count in every sum and are not in figures and tables.
    """
    tailback: int = FORMAT

    def left_out(self) -> list[str]:
        """Sentences about what figures and Parquet tables lack."""
        rows = (
            (self.undrawn_messages, "CNMs"),
            (self.undrawn_spells, "spells of pauses"),
            (self.undrawn_probes, "probes"),
        )
        return [
            f"{count} further {what} are in the sums, but not in figures and Parquet tables, which "
            "hold the first ones"
            for count, what in rows
            if count
        ]

    def as_json(self) -> dict[str, Any]:
        """The analysis as plain data, for `--json`."""
        return asdict(self)
