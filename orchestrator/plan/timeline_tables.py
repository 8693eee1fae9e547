"""Tables of a plan about time and measurement: steps, phases, expectations, captures."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from orchestrator.plan.field_types import Instant, Line, LongestDelay, Scalar, Slug, SnapSize
from orchestrator.plan.metric_registry import check_metric_name
from orchestrator.plan.plan_tables import Table

MEDIAN = "median"
_SHARE = re.compile(r"(\d{1,6})/(\d{1,6})")


def _checked(text: str) -> str:
    """The text as it stands. Raises ValueError where it is neither a median nor a share."""
    least_seed_share(text)
    return text


def least_seed_share(text: str) -> Fraction | None:
    """The least share of the seeds that have to meet it; None where the median is judged."""
    if text == MEDIAN:
        return None
    match = _SHARE.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError("'median', or a share of the seeds such as '18/20', is expected")
    return Fraction(int(match[1]), int(match[2]))


OfSeeds = Annotated[str, AfterValidator(_checked)]
"""The text, once it is known to be one of the two."""


VERBS = (
    "set",
    "start",
    "stop",
    "cut",
    "mend",
    "pause",
    "resume",
    "kill_agent",
    "cut_link",
    "delay_control",
    "drop",
    "mark",
    "corrupt",
    "delay",
    "duplicate",
)
INJECTIONS = ("drop", "mark", "corrupt", "delay", "duplicate")
"""Faults that are injected into single frames of a flow."""
OF_INJECTION = ("packet", "packets", "of", "port", "by")
"""Keys that injections alone have."""
FAULTS = ("kill_agent", "cut_link", "delay_control")
"""Failures of the testbed itself: only a controller with agents can bring them about."""
WITH_VALUE = ("set", "delay_control")


class Step(Table):
    """One action of the timeline: exactly one of set (with `to`), start, stop, cut, mend, pause,
    resume; drop, mark, corrupt, delay (with `by`) or duplicate, which inject a fault into single
    frames; or a failure of the testbed: kill_agent, cut_link, delay_control (with `to`)."""

    at: Instant
    """When. Of an injection: from when on packets are counted."""
    set: Line | None = None
    """A dotted key of the plan that can change during a run."""
    to: Scalar | None = None
    """The new value of `set`, or the delay of `delay_control`."""
    start: Line | None = None
    """A traffic entry, or one flow of it (`gen.0`), that begins to send."""
    stop: Line | None = None
    """A traffic entry, or one flow of it, that ends."""
    cut: Slug | None = None
    """A link that loses every frame from now on."""
    mend: Slug | None = None
    """A link that was cut."""
    pause: Line | None = None
    """A port that sends nothing until `resume`, as after a PAUSE; a PAUSE that it gets from its
    peer takes the place of this."""
    resume: Line | None = None
    """A port that `pause` holds."""
    kill_agent: Slug | None = None
    """A node; the agent that hosts it is killed."""
    cut_link: Slug | None = None
    """A link that a cable carries; its NIC is taken down. (`cut` cuts the emulated link.)"""
    delay_control: Slug | None = None
    """A node; its agent answers the controller later by `to`, at most 60 s."""
    drop: Line | None = None
    """A flow whose packet is lost as it leaves a port (`packet`, `port`)."""
    mark: Line | None = None
    """A flow whose packet gets the ECN codepoint CE, ECN-capable or not."""
    corrupt: Line | None = None
    """A flow whose packet crosses the link and fails the FCS check at its other end, which drops
    it; or has a right FCS and one wrong `field`."""
    delay: Line | None = None
    """A flow whose packet arrives later by `by`; packets behind it may overtake it."""
    duplicate: Line | None = None
    """A flow whose packet is sent twice, the copy directly behind it."""
    packet: int | None = Field(None, ge=1, le=10**9)
    """The packet of the flow that an injection applies to, counted from 1 where it leaves the port,
    from `at` on, retransmissions included; default: 1."""
    packets: int | None = Field(None, ge=1, le=10**6)
    """So many packets in a row, from that one on; default: 1."""
    of: Literal["data", "ack", "cnm"] | None = None
    """Kind of packets that are counted: data, acknowledgements of its transport, or congestion
    messages to its source (CNM, CNP); default: data."""
    port: Line | None = None
    """The port that they leave by; default: data by that of the flow's source, acknowledgements by
    that of its destination, congestion messages by the last one before its source."""
    by: LongestDelay | None = None
    """Time by which `delay` lets a packet arrive later, at most 1 s."""
    field: Literal["ipv4_checksum", "udp_checksum", "icrc"] | None = None
    """Check that `corrupt` writes wrong in a packet with a right FCS: IPv4 header checksum (RFC
    791), UDP checksum (RFC 768) or invariant CRC (RoCEv2, annex A17)."""

    @model_validator(mode="after")
    def _check_single_action(self) -> Self:
        given = [verb for verb in VERBS if getattr(self, verb) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"exactly one of {', '.join(VERBS)} is expected; found {found}")
        if (self.to is not None) != (given[0] in WITH_VALUE):
            raise ValueError(
                "'set' and 'delay_control' need 'to', the new value; the other actions have no 'to'"
            )
        self._check_injection(given[0])
        return self

    def _check_injection(self, verb: str) -> None:
        """Raises ValueError for keys of an injection that its action does not have."""
        keys = [key for key in OF_INJECTION if getattr(self, key) is not None]
        if keys and verb not in INJECTIONS:
            raise ValueError(f"{verb!r} has no {keys[0]!r}: only {', '.join(INJECTIONS)} have it")
        if (self.by is not None) != (verb == "delay"):
            raise ValueError("'delay' needs 'by', so much later; the other actions have no 'by'")
        if self.field is not None and verb != "corrupt":
            raise ValueError(f"{verb!r} has no 'field': only 'corrupt' has it")
        if verb == "mark" and self.of not in (None, "data"):
            raise ValueError(f"'mark' sets the ECN codepoint of data; found of = {self.of!r}")

    @property
    def verb(self) -> str:
        """Name of the action."""
        return next(verb for verb in VERBS if getattr(self, verb) is not None)


class Phase(Table):
    """A half-open part of the run, [from, to), that metrics are computed over."""

    from_: Instant = Field(alias="from")
    """Its first instant."""
    to: Instant
    """The first instant after it."""

    @model_validator(mode="after")
    def _has_a_length(self) -> Self:
        if self.from_ >= self.to:
            raise ValueError("'from' has to lie before 'to'")
        return self


class Expect(Table):
    """A band that one metric of one entity has to lie in."""

    former: ClassVar[dict[str, str]] = {"differs": "known_miss"}

    metric: Annotated[Line, AfterValidator(check_metric_name)]
    """Its name, as in the reference of metrics."""
    of: Line
    """The entity, as results name it: `switch.sink`."""
    phase: Slug = "run"
    """A phase of the plan; "run" is the whole run."""
    relative_to: Line | None = None
    """Another entity with this metric: what is bounded is the ratio of both; no value, and so not
    met, where this one's is 0."""
    min: Scalar | None = None
    """The least that is accepted, in the metric's unit."""
    max: Scalar | None = None
    """The most that is accepted."""
    source: Literal["text", "measured", "ours"] = "ours"
    """Stated in the paper's text, measured on an independent model, or ours."""
    of_seeds: OfSeeds | None = None
    """Rule for a plan that is run with several seeds: "median", the median of its values
    lies within the bounds; "18/20", it is met in at least this share of the seeds. Default: it is
    met with every seed. With it, one seed alone judges nothing."""
    name: Slug | None = None
    """Name by which mutants refer to it; default: `METRIC of ENTITY in PHASE`."""
    note: Line = ""
    """Why it is expected, for people."""
    known_miss: Line | None = None
    """Why a run is known to miss it, for the page of the papers; it makes nothing `met`."""

    @property
    def called(self) -> str:
        """Text by which a mutant may name it."""
        other = f" / {self.relative_to}" if self.relative_to else ""
        return f"{self.metric} of {self.of}{other} in {self.phase}"

    @model_validator(mode="after")
    def _has_a_bound(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("'min' or 'max' is expected, or both")
        return self


class Capture(Table):
    """Ports whose frames are written to pcapng, in both directions."""

    ports: list[Line] = Field(default=[], max_length=10_000)
    """By name: `switch.sink`, `nic.switch`."""
    snap: SnapSize = 128
    """Octets that are kept of every frame."""
    frames: int = Field(default=200_000, ge=1, le=100_000_000)
    """Per port; later frames are counted as capture drops."""
