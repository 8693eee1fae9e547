"""Notification point: notifies the source of a congestion-marked data frame.

At a sink or a NIC it is the third point of a scheme (switch, destination, source); at a switch,
where it sees the frames that enter an output queue behind the congestion point that marks them, the
same scheme runs over two points. At most one message per flow goes out every `interval`. What the
switch put into the six bits above the ECN codepoint goes back as the feedback of a CNM or of a
returned frame; a CNP has no room for it.

Presets: `dcqcn` is the NIC of DCQCN (a CNP every 50 us at the most); `connectx` has the interval
that NVIDIA documents, whose name for it, `min_time_between_cnps` (us), is accepted too; `p4qcn`
returns the header of the marked frame (P4QCN, section 4.2.4); `qcn` answers every mark of a
`qcn-cp` whose `tell` is "destination" by a CNM.

Switches send its messages ahead of all data, whatever their `priority` is: no lane and no PFC holds
them. The priority is what a device of another maker, or a capture, has of it. With `cnps =
"queued"` in the plan's headers CNPs wait in the lane of their priority instead.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from plugins.connectx_parameters import OF_RECEIVERS, translated
from tailback.plugin import (
    CE,
    CNM,
    CNP,
    ECT0,
    NOTHING,
    RETURNED,
    SEND,
    Algorithm,
    Duration,
    Params,
    notification_point,
    record,
)

KINDS = (CNM, RETURNED, CNP)
"""By `message`."""
US = 10**6
OF_THE_FRAME = -1
"""`priority`: messages have that of the data frame."""


class NotificationPoint(Params):
    """Parameters of the notification point."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "dcqcn": {"message": "cnp", "interval": "50us"},
        "connectx": {"message": "cnp", "interval": "4us"},
        "p4qcn": {"message": "returned", "interval": "50us"},
        "qcn": {"message": "cnm", "interval": "0s"},
    }
    former: ClassVar[dict[str, str]] = {"absorb": "clear_mark"}

    message: Literal["cnm", "returned", "cnp"] = Field(
        "cnm", description="kind of message: 802.1Qau CNM, a returned header, RoCEv2 CNP"
    )
    interval: Duration = Field(
        50 * US, ge=0, le=10**13, description="least time between messages to one flow"
    )
    clear_mark: bool = Field(
        False, description="clear the mark, so that no other point notifies for it"
    )
    priority: int = Field(
        OF_THE_FRAME,
        ge=OF_THE_FRAME,
        le=7,
        description="of its messages, in their VLAN tag; -1: that of the data frame",
    )

    @classmethod
    def from_table(cls, table: dict[str, Any], where: str = "", *, bare: bool = False) -> Self:
        """As for every algorithm; `interval` may have NVIDIA's name, and then its unit."""
        return super().from_table(translated(table, where, OF_RECEIVERS), where, bare=bare)

    def sends_cnm(self) -> bool:
        """Where its messages are CNMs."""
        return self.message == "cnm"

    def returns_headers(self) -> bool:
        """Where its messages are returned headers."""
        return self.message == "returned"

    def goes_on_in(self) -> tuple[int, ...]:
        """The priority of its CNPs, where the data frame does not give it."""
        named = self.message == "cnp" and self.priority != OF_THE_FRAME
        return (self.priority,) if named else ()

    @model_validator(mode="after")
    def _says_the_priority_once(self) -> Self:
        if self.message == "cnm" and self.priority != OF_THE_FRAME:
            raise ValueError(
                "priority is for the messages cnp and returned: a CNM repeats the priority of the "
                "data frame in its header"
            )
        return self


STATE = record("notified", "last")


def on_arrival(state, params, node, frame, now, message):
    """A data frame arrives; `state` is that of its flow."""
    if frame.mark & CE != CE:
        return NOTHING
    feedback = frame.mark >> 2
    if params.clear_mark != 0:
        frame.mark = ECT0
    if state.notified != 0 and now - state.last < params.interval:
        return NOTHING
    state.notified = 1
    state.last = now
    message.kind = KINDS[params.message]
    message.feedback = feedback
    if params.priority != OF_THE_FRAME:
        message.priority = params.priority
    return SEND


NOTIFY: Algorithm = notification_point(
    "notification-point",
    "notifies the sources of marked frames: third point of a scheme, or second at a switch",
    NotificationPoint,
    STATE,
    per_flow=True,
    arrival=on_arrival,
    former=("notify",),
)
