"""Description of a NIC under test: the tables [cnp], [go_back_n] and [dcqcn] of a device's file.

Parameters that NVIDIA documents have its names and units (`plugins.connectx_parameters`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.plan.algorithm_params import Duration

US = 10**6
QUEUE_PAIR, ADDRESS, PORT = "queue pair", "address", "port"


class CnpPacing(BaseModel):
    """Pacing of CNPs by a NIC that receives marked packets (DCQCN, 3.1: notification point)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    min_time_between_cnps: int = Field(4, ge=0, le=10**7)
    """Least time from one CNP to the next of the same `per`, us; 0: every mark is answered."""
    per: Literal["queue pair", "address", "port"] = "queue pair"
    """What has a pace of its own: each queue pair, each address that CNPs go to, or the NIC's port
    as a whole."""
    marks: int = Field(1, ge=1, le=1000)
    """Marked packets of a queue pair before its first CNP, that which the CNP follows included."""
    response: Duration = Field(US, ge=0, le=10**12)
    """Longest time from a marked packet to its CNP, both at the NIC's port."""

    @property
    def interval_ps(self) -> int:
        """Least time between CNPs."""
        return self.min_time_between_cnps * US


class GoBackN(BaseModel):
    """Recovery from lost packets by a NIC, as responder and as requester (InfiniBand, volume 1,
    9.7.5.2.2 and 9.7.6.1.3)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    nak_time: Duration = Field(10 * US, ge=0, le=10**12)
    """Longest time from the first packet behind a gap to the NAK."""
    retransmission_time: Duration = Field(10 * US, ge=0, le=10**12)
    """Longest time from a NAK to the packet that it asks for."""
    timeout: int = Field(14, ge=1, le=31)
    """Local ACK timeout of the queue pairs, n in 4.096 us times 2^n: a requester resends what is
    not acknowledged no sooner, and after four times as long at the latest."""

    @property
    def timeout_ps(self) -> int:
        """Least time until a requester resends without a NAK."""
        return 4_096_000 << self.timeout


class ReactionPoint(BaseModel):
    """Rate of a NIC that gets CNPs (DCQCN, 3.1: reaction point), by NVIDIA's names and units; the
    defaults are those that NVIDIA documents."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rpg_time_reset: int = Field(300, ge=1, le=131_071)
    """Time between increases, us."""
    rpg_byte_reset: int = Field(32_767, ge=64, le=32_767)
    """Octets between increases."""
    rpg_threshold: int = Field(1, ge=1, le=31)
    """Stages until the next state."""
    rpg_ai_rate: int = Field(5, ge=1, le=1_000_000)
    """Active increase, Mb/s."""
    rpg_hai_rate: int = Field(50, ge=1, le=1_000_000)
    """Hyper increase, Mb/s."""
    rpg_gd: int = Field(11, ge=10, le=11)
    """A cut takes alpha (in 2^-10) / 2^rpg_gd of the rate."""
    rpg_min_dec_fac: int = Field(50, ge=0, le=100)
    """Share of the rate that a cut leaves at the least, per cent."""
    rpg_min_rate: int = Field(1, ge=1, le=1_000_000)
    """Lowest rate, Mb/s."""
    rate_reduce_monitor_period: int = Field(4, ge=1, le=10**7)
    """Least time between cuts, us."""
    dce_tcp_g: int = Field(1019, ge=0, le=1023)
    """Share of alpha that an update keeps, in 2^-10."""
    dce_tcp_rtt: int = Field(1, ge=1, le=131_071)
    """Time between updates of alpha, us."""
    clamp_tgt_rate: int = Field(0, ge=0, le=1)
    """1: each cut makes the rate before it the target."""
    clamp_tgt_rate_after_time_inc: int = Field(1, ge=0, le=1)
    """1: a cut does so after an increase by the timer, too."""
    initial_alpha_value: int = Field(1023, ge=1, le=1023)
    """Alpha at the first CNP, in 2^-10."""
