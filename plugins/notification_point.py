"""Notification point: notifies the source of a congestion-marked data frame.

At a sink or a NIC it is the third point of a scheme (switch, destination, source); at a switch,
where it sees the frames that enter an output queue behind the congestion point that marks them, the
same scheme runs over two points. At most one message per flow goes out every `interval`. What the
switch put into the six bits above the ECN codepoint goes back as the feedback of a CNM or of a
returned frame; a CNP has no room for it.

Presets: `dcqcn` is the NIC of DCQCN (a CNP every 50 us at the most); `p4qcn` returns the header of
the marked frame (P4QCN, section 4.2.4); `qcn` answers every mark of a `qcn-cp` whose `tell` is
"destination" by a CNM.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

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


class NotificationPoint(Params):
    """Parameters of the notification point."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "dcqcn": {"message": "cnp", "interval": "50us"},
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


STATE = record("notified", "last")


def on_arrival(state, params, node, frame, now, message):  # type: ignore[no-untyped-def]
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
