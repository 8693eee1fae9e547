"""Description of a device under test (DUT): its cabling and its stated properties.

dut.toml:

ports = { nic1 = "eth1", nic2 = "eth2", far = "eth3" }   # its ports, and our interfaces there
does = ["pause", "pfc", "qcn"]    # what it is said to do, and is held to, besides forwarding
rate = "1Gb/s"                    # of its ports
lossless = [3]                    # priorities for which PFC is enabled; default: all

[ecn]                             # with "ecn" in `does`: of the queue of priority 3
kmin = "100KB"
kmax = "400KB"
pmax = "1/5"
marks_at = "dequeue"

[headroom]                        # with "headroom" in `does`: PFC buffer of priority 3
xoff_threshold = "40KB"
size = "20KB"

[dscp]                            # with "dscp" in `does`: map from DSCP to queue
dscp_to_tc = { 3 = 3, 26 = 3 }
others = 0

A NIC has a capture of its port in place of `ports`:

capture = "nic.pcapng"            # RoCEv2 packets to and from it
address = "10.1.0.2"              # its own
does = ["cnp"]

[cnp]                             # with "cnp" in `does`: pacing of its CNPs
min_time_between_cnps = 4
"""

from __future__ import annotations

from fractions import Fraction
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from orchestrator.errors import BadInput
from orchestrator.plan.algorithm_params import FROM_TEXT, Duration, Rate, Ratio, Size
from orchestrator.plan.field_types import DscpMap, PriorityMap
from orchestrator.plan.header_table import CODE_POINTS
from orchestrator.plan.pydantic_errors import translate
from orchestrator.plan.toml_text import table_in
from traces.pytest_plugin.nic_description import CnpPacing, GoBackN, ReactionPoint

DEVICE = "dut"
"""Name of the device in plans of the suite."""
PORTS = ("nic1", "nic2", "far")
QUANTA = {100_000_000: 1, 10**9: 2, 10**10: 60, 4 * 10**10: 118, 10**11: 394}
"""Of 512 bit times, by rate: from the arrival of a PAUSE until no frame starts any more (802.3
annex 31B, timing considerations)."""
QUANTUM_BITS = 512
Interface = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,14}$")]


OF_NICS = ("cnp", "go_back_n", "dcqcn")
"""What a NIC does; each has a table of its name."""
FOR_NICS = "of a NIC " + ", ".join(f'"{one}"' for one in OF_NICS) + " can be tested"

BY_PFC = {
    "ecn": "PFC holds the queue while it is filled",
    "headroom": "PFC holds the queue while it is filled",
    "dscp": "PFC of a priority holds its queue",
}
"""What a switch does that is measured by means of PFC, each with a table of its name."""
HEADROOM_FILL_MS = 150
"""Time for the longest burst of the suite that fills a headroom."""
HELD_PRIORITY, OTHER_PRIORITY = 3, 5
"""Priority of the traffic from nic1, which PFC of the suite holds, and of that from nic2."""


class Marking(BaseModel):
    """ECN marking (WRED) of a queue: thresholds in octets, `pmax` is a share."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kmin: Size = Field(ge=0, le=10**8)
    """No frame is marked up to this queue length."""
    kmax: Size = Field(ge=2_000, le=10**8)
    """Every ECN-capable frame is marked above it."""
    pmax: Ratio = Field(Fraction(1), gt=0, le=1)
    """Share of frames marked at `kmax`."""
    marks_at: Literal["enqueue", "dequeue"] = "enqueue"
    """When the queue's length decides about a frame."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.kmin >= self.kmax:
            raise ValueError("kmin must be below kmax")
        return self


class Headroom(BaseModel):
    """PFC buffer of priority 3 at each ingress port: octets without FCS, or whole cells."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    xoff_threshold: Size = Field(ge=5_000, le=10**8)
    """Octets buffered from one port when the device sends XOFF."""
    size: Size = Field(ge=2_000, le=10**8)
    """Octets that the device takes from that port after XOFF."""
    cell: int | None = Field(None, ge=16, le=1 << 14)
    """Octets of a cell of its memory: a frame with its FCS takes whole ones. Default: octets
    count."""
    ports: Literal[1, 2] = 1
    """Ports that may use their headroom at the same time."""

    @property
    def most(self) -> int:
        """Octets that the suite sends from one port while the queue is held."""
        return self.xoff_threshold + 2 * self.size


class QueueMap(BaseModel):
    """Map from the DSCP of a frame to its queue: the queue n is that which PFC for priority n
    holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dscp_to_tc: DscpMap
    """Traffic class of some DSCPs."""
    others: int | None = Field(None, ge=0, le=7)
    """Traffic class of all other DSCPs; default: these are not tested."""
    tc_to_queue: PriorityMap | None = None
    """Queue of each traffic class; default: of the same number."""
    tagged: bool = True
    """Whether our frames have a VLAN tag, of priority 0."""

    def queues(self) -> dict[int, int]:
        """Queue of every DSCP that is tested."""
        classes = {} if self.others is None else dict.fromkeys(range(CODE_POINTS), self.others)
        classes |= {int(dscp): tc for dscp, tc in self.dscp_to_tc.items()}
        queues = self.tc_to_queue or range(8)
        return {dscp: queues[tc] for dscp, tc in sorted(classes.items())}


class Device(BaseModel):
    """Properties of a device. Times in ps, rates in bit/s, sizes in octets."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ports: dict[Literal["nic1", "nic2", "far"], Interface] = {}
    """Of a switch: our interfaces."""
    capture: Path | None = Field(None, strict=False)
    """Of a NIC, in place of `ports`: pcapng file with what its port received and sent."""
    address: str = ""
    """Of a NIC: its IP address in `capture`."""
    does: list[
        Literal["pause", "pfc", "qcn", "ecn", "headroom", "dscp", "cnp", "go_back_n", "dcqcn"]
    ] = []
    rate: Rate = Field(10**9, ge=10**6, le=10**12)
    load: Rate = Field(20_000_000, ge=10**5, le=10**12)
    """Rate of each testbed NIC where nothing is to be overloaded."""
    service: Rate | None = Field(None, ge=10**5, le=10**12)
    """Service rate of its port `far`, for QCN; default: the rate."""
    reaction: Duration | None = Field(None, ge=0, le=10**12)
    """From a PAUSE's arrival until no frame starts any more; default: what 802.3 allows."""
    cores: int | None = Field(None, ge=1, le=2)
    """That our data path spins on at most; default: two."""
    lossless: list[Annotated[int, Field(ge=0, le=7)]] | None = Field(None, max_length=8)
    """Priorities for which PFC is enabled, both ways; default: all."""
    ecn: Marking | None = None
    """ECN marking of the queue of priority 3 at port `far`."""
    headroom: Headroom | None = None
    """PFC buffer of priority 3 at ports `nic1` and `nic2`."""
    dscp: QueueMap | None = None
    """Map from DSCP to queue, which PFC measures."""
    cnp: CnpPacing | None = None
    """Pacing of a NIC's CNPs."""
    go_back_n: GoBackN | None = None
    """Recovery of a NIC from lost packets."""
    dcqcn: ReactionPoint | None = None
    """Rate of a NIC that gets CNPs."""
    set_point: Size = Field(26_000, ge=1, le=10**9)
    weight: int = Field(2, ge=0, le=64)

    @field_validator("address")
    @classmethod
    def _check_address(cls, text: str) -> str:
        return str(ip_address(text)) if text else text

    @property
    def is_nic(self) -> bool:
        """True if it is a NIC, which is known by a capture of its port."""
        return self.capture is not None

    @model_validator(mode="after")
    def _check_nic(self) -> Self:
        """A NIC does what NICs do, a switch what switches do."""
        of_nics = [one for one in self.does if one in OF_NICS]
        of_switches = [one for one in self.does if one not in OF_NICS]
        if not self.is_nic and of_nics:
            raise ValueError(
                f'does: "{of_nics[0]}" is what a NIC does; `capture`, a file of what its port '
                "received and sent, is expected in place of `ports`"
            )
        if self.is_nic and of_switches:
            raise ValueError(f'does: "{of_switches[0]}" is what a switch does; {FOR_NICS}')
        if self.is_nic and self.ports:
            raise ValueError("ports: a NIC has `capture` instead; leave one of them out")
        if self.is_nic != bool(self.address):
            raise ValueError("address: `capture` and the address of the NIC in it go together")
        for name in OF_NICS:
            if (name in self.does) != (getattr(self, name) is not None):
                raise ValueError(
                    f'{name}: "{name}" among `does` and the table [{name}] are expected together'
                )
        return self

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if self.is_nic:
            return self
        if lacking := [port for port in PORTS if port not in self.ports]:
            raise ValueError(f"ports: {', '.join(PORTS)} are expected; {lacking[0]} is missing")
        if len(set(self.ports.values())) < len(PORTS):
            raise ValueError("ports: every port has an interface of its own")
        if self.reaction is None and self.rate not in QUANTA and {"pause", "pfc"} & {*self.does}:
            rates = ", ".join(f"{rate / 1e9:g}" for rate in QUANTA)
            raise ValueError(
                f"reaction: a time is expected; 802.3 has one for {rates} Gb/s, not for "
                f"{self.rate / 1e9:g}"
            )
        for name, why in BY_PFC.items():
            if (name in self.does) != (getattr(self, name) is not None):
                raise ValueError(
                    f'{name}: "{name}" among `does` and the table [{name}] are expected together'
                )
            if name in self.does and "pfc" not in self.does:
                raise ValueError(f'does: "pfc" is expected beside "{name}": {why}')
        if self.headroom is not None:
            most = self.rate * HEADROOM_FILL_MS // 16_000
            if self.headroom.most > most:
                raise ValueError(
                    f"headroom: xoff_threshold and two times size are {self.headroom.most} octets; "
                    f"at most {most}, which half of the rate brings in {HEADROOM_FILL_MS} ms, are "
                    "expected"
                )
        lossless = self.lossless if "pfc" in self.does else None
        if lossless is not None and HELD_PRIORITY not in lossless:
            raise ValueError(
                f"lossless: priority {HELD_PRIORITY}, which the suite holds by PFC, is expected "
                "among them"
            )
        return self

    @classmethod
    def read(cls, path: Path) -> Self:
        """The device in a file. Raises BadInput with every mistake in it."""
        data = table_in(path)
        try:
            return cls.model_validate(data, context=FROM_TEXT)
        except ValidationError as error:
            raise BadInput(str(path), translate(error, cls, data)) from None

    @property
    def cables(self) -> list[str]:
        """Cables in the form of `--external`."""
        return [f"{DEVICE}.{port}={interface}" for port, interface in self.ports.items()]

    @property
    def quantum_ps(self) -> int:
        """A PAUSE quantum at its rate."""
        return QUANTUM_BITS * 10**12 // self.rate

    @property
    def reaction_ps(self) -> int:
        """Time from a PAUSE's arrival to the last start of a frame that is allowed."""
        return self.quantum_ps * QUANTA[self.rate] if self.reaction is None else self.reaction

    @property
    def why(self) -> str:
        """Source of the reaction time."""
        if self.reaction is not None:
            return "stated for the device"
        return f"802.3 annex 31B: {QUANTA[self.rate]} quanta at this rate"

    def settings(self) -> list[str]:
        """Settings for a plan of the suite: rate of the cables, and sending rate of NICs."""
        links = [f"links.{name}.rate={self.rate}b/s" for name in ("up1", "up2", "down")]
        return [*links, *(f"traffic.load{n}.rate={self.load}b/s" for n in (1, 2))]
