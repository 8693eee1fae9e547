"""Packet trimming: data frames above a queue threshold are cut to their headers.

A header passes every queue, so that the destination knows at once what is missing, and from whom
(packet trimming as in NDP, Handley et al., SIGCOMM 2017; EQDS; Ultra Ethernet).
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from tailback.plugin import FORWARD, TRIM, Algorithm, Params, Size, congestion_point, record


class Trim(Params):
    """Parameters of the congestion point."""

    former: ClassVar[dict[str, str]] = {"above": "threshold"}

    threshold: Size = Field(
        12_000, ge=0, description="queue threshold in octets, with the arriving frame"
    )

    def operating_queue(self, rate: int) -> int:
        """The parameter `threshold`."""
        return self.threshold


def on_arrival(state, params, queue, frame, now, message):
    """A data frame comes."""
    return TRIM if queue.bytes + frame.length > params.threshold else FORWARD


TRIMMING: Algorithm = congestion_point(
    "trim",
    "cuts data frames to their headers above a threshold",
    Trim,
    record("unused"),
    arrival=on_arrival,
    trims=True,
)
