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
