"""Fields of a device profile. Every number has its unit in its key.

Times are in ns, rates in bit/s, shares between 0 and 1, errors of rates in parts per million (ppm).
What was not measured is null or an empty list: there is no field without a measurement or a reason.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, field_validator

from orchestrator.profile.provenance import EVIDENCE, Evidence
from orchestrator.profile.quantiles import SHARES

FORMAT = 1
"""Of the file: the value of `tailback_profile`."""
QUIET = 0.02
"""Share of the cores that others may have, of a machine that is left alone."""
Natural = Annotated[int, Field(ge=0, le=10**18)]
Signed = Annotated[int, Field(ge=-(10**18), le=10**18)]
Real = Annotated[float, Field(ge=-1e18, le=1e18, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, le=1e18, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Word = Annotated[str, Field(max_length=500)]


class Section(BaseModel):
    """Part of a profile; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Device(Section):
    """The machine and its system, as the system states them."""

    name: Word
    processor: Word | None
    cores: Natural
    memory_octets: Natural | None
    kernel: Word
    hypervisor: Word | None
    clock_source: Word | None


class DataPath(Section):
    """Path of the frames."""

    kind: Literal["veth", "nics"]
    datapath: Literal["packet", "xdp"]
    ports: list[Word]
    """Names of the two NICs; none of a veth pair that was made for it."""
    drivers: list[Word]


class Times(Section):
    """Distribution of a time over frames."""

    count: Natural
    p50_ns: Signed
    p90_ns: Signed
    p99_ns: Signed
    p999_ns: Signed
    max_ns: Signed


class Forwarding(Section):
    """A switch on a core of its own: takes a frame in, decides, sends it on."""

    frame_octets: Natural
    frames_per_s: Positive
    """Of one core: the median of the trials."""
    least_frames_per_s: Positive
    most_frames_per_s: Positive
    trials: Natural


class Departures(Section):
    """Lateness of frames, at one load."""

    load: Share
    """Of what a core forwards of such frames."""
    frame_octets: Natural
    frames_per_s: Positive
    lateness: Times
    """Of departures, as the data path itself saw it."""
    link: Times
    """Time that a link takes beyond its delay: late departure, kernel, wait for the receiver."""
    link_quantiles_ns: list[Signed]
    """The same without stalls, at the shares of `orchestrator.profile.quantiles`."""
    lost_frames: Natural

    @field_validator("link_quantiles_ns")
    @classmethod
    def _all_shares(cls, value: list[int]) -> list[int]:
        if len(value) != len(SHARES) or value != sorted(value):
            raise ValueError(f"{len(SHARES)} numbers in rising order are expected")
        return value


class Stalls(Section):
    """Stalls of threads that only read the clock, one such on each core at once."""

    watched_s: Positive
    floor_ns: Natural
    """Shorter gaps are no stalls, they count as jitter."""
    count: Natural
    """On all cores together; one that took all cores at once counts once for each."""
    per_core_per_s: Real
    share: Share
    """Of the time of a core."""
    longest_ns: Natural
    length_quantiles_ns: list[Natural]
    at_once_count: Natural
    """Stalls that took all cores at once, each counted once."""
    at_once_length_quantiles_ns: list[Natural]
    waited_share: Share
    """Of the time of a core: the thread was ready and another one had the core (scheduler)."""
    stolen_share: Share | None
    """Of the time of all cores: taken by the hypervisor, as it says itself (steal time)."""
    unexplained_share: Share
    """Of the time of a core: neither waited nor stolen; interrupts, or a hypervisor that does not
    say, or a process that was stopped."""


class Window(Section):
    """By how much the rate within windows of a length is off what was set."""

    window_ns: Natural
    windows: Natural
    p50_error_ppm: Real
    """Of its absolute value, as the others."""
    p99_error_ppm: Real
    max_error_ppm: Real


class Limiter(Section):
    """A limiter at one rate, by the kernel's times at the far end of its link."""

    rate_bps: Natural
    frame_octets: Natural
    frames: Natural
    mean_error_ppm: Real
    """Above 0: too fast."""
    ideal_gap_ns: Natural
    gap: Times
    windows: list[Window]


class Delay(Section):
    """A delay line at one delay and load, by the kernel's times at the far end."""

    delay_ns: Natural
    load: Share
    rate_bps: Natural
    frame_octets: Natural
    error: Times
    """Above 0: too late."""
    lost_frames: Natural
    reordered_frames: Natural


class Turnaround(Section):
    """From one frame's coming to what it brings about, beyond what the plan says."""

    cnm: Times | None
    """A data frame leaves the NIC until its notification comes back, less the links' times."""
    pause_sent: Times | None
    """The same of a PAUSE frame."""
    pause_obeyed: Times | None
    """A PAUSE comes until the first frame behind it leaves, less its quanta."""


class Timestamps(Section):
    """Arrival time by the data path less arrival time by the kernel."""

    error: Times | None
    """None where the kernel's time is not to be had beside the data path (AF_XDP)."""
    clock_step_ns: Natural
    """The least step of the clock between two readings."""
    clocks_apart_ns: Natural
    """Uncertainty of the offset between the kernel's clock of frames and the data path's."""


class Profile(Section):
    """A machine on a day."""

    tailback_profile: Literal[1]
    date: AwareDatetime
    tailback: Word
    took_s: Positive
    machine: Device
    path: DataPath
    forwarding: list[Forwarding] = Field(min_length=1)
    departures: list[Departures] = Field(min_length=1)
    stalls: Stalls
    limiter: list[Limiter]
    delay: list[Delay]
    turnaround: Turnaround
    timestamps: Timestamps
    evidence: dict[str, Evidence]
    """By the beginnings of keys: the longest that fits counts."""

    @field_validator("date", mode="before")
    @classmethod
    def _date_of_text(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return datetime.datetime.fromisoformat(value)

    @field_validator("evidence")
    @classmethod
    def _all_evidence(cls, value: dict[str, str]) -> dict[str, str]:
        if value != EVIDENCE:
            raise ValueError("the classes of this version are expected")
        return value

    @property
    def quiet(self) -> bool:
        """True if other processes left the machine alone: else it speaks of them as well."""
        return self.stalls.waited_share <= QUIET

    @property
    def age_s(self) -> float:
        """Since it was measured."""
        return (datetime.datetime.now(datetime.UTC) - self.date).total_seconds()
