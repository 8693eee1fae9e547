"""Priority demotion: data frames above a queue threshold continue in another priority.

They have the other priority from here on, also in the VLAN tag, so that every port behind this one
has them in that lane too. Frames of a flow in two priorities may overtake each other.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from tailback.plugin import FORWARD, LANE, Algorithm, Params, Size, congestion_point, record


class PriorityDemotion(Params):
    """Parameters of the congestion point."""

    former: ClassVar[dict[str, str]] = {"above": "threshold", "to": "priority"}

    threshold: Size = Field(
        30_000, ge=0, description="queue threshold in octets, with the arriving frame"
    )
    priority: int = Field(1, ge=0, le=7, description="priority of frames above the threshold")

    def goes_on_in(self) -> tuple[int, ...]:
        """Priorities that frames can be moved to: the parameter `priority`."""
        return (self.priority,)


def on_arrival(state, params, queue, frame, now, message):
    """A data frame comes."""
    return LANE + params.priority if queue.bytes + frame.length > params.threshold else FORWARD


ASIDE: Algorithm = congestion_point(
    "priority-demotion",
    "has data frames go on in another lane above a threshold",
    PriorityDemotion,
    record("unused"),
    arrival=on_arrival,
    changes_lane=True,
    former=("aside",),
)
