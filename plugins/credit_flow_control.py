"""Credit-based link flow control: a sender never exceeds the free buffer of its neighbour.

The buffer of an input grants octets, counted from the beginning of the run: all that came, and what
there is room for beside, less one longest frame, by which a neighbour may go beyond. The neighbour
holds a lane that has sent as many, and sends nothing before the first grant. So nothing is lost,
however long the cable, and no room is kept for what is on its way (as InfiniBand's credit limit,
in octets; docs/settled/algorithms.md#link-credits).

A lost grant is made good by the next: each is cumulative, and it is repeated after `refresh`.
Data that a wire loses takes its credit along.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from tailback.plugin import (
    GRANT,
    NOTHING,
    SEND,
    Algorithm,
    Duration,
    Params,
    Size,
    compiled,
    pause,
    record,
)


class LinkCredits(Params):
    """Parameters of a link's credits."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"link-credits": {}}
    former: ClassVar[dict[str, str]] = {"step": "min_grant", "frame": "max_frame"}

    max_frame: Size = Field(
        1_522, ge=64, le=10_000, description="longest frame; room reserved for it"
    )
    min_grant: Size = Field(3_044, ge=1, le=10**9, description="new room that triggers a grant")
    refresh: Duration = Field(
        10**8, ge=10**6, le=10**12, description="interval at which a grant is repeated"
    )

    def least_buffer(self) -> int:
        """Smallest buffer whose new free space triggers a grant after all credit is used."""
        return self.max_frame + self.min_grant


STATE = record("granted")


@compiled
def grant(state, params, queue, message):
    """Cumulative octets that the neighbour may send, if at least `min_grant` octets are new."""
    room = queue.bytes_came + queue.capacity - queue.bytes - params.max_frame
    if room < state.granted + params.min_grant:
        return NOTHING
    state.granted = room
    message.kind = GRANT
    message.sequence = room
    return SEND


def on_enqueue(state, params, queue, frame, now, message):
    """A frame was enqueued, or dropped before this one: update the grant."""
    return grant(state, params, queue, message)


def on_dequeue(state, params, queue, frame, now, message):
    """A frame went out."""
    return grant(state, params, queue, message)


def on_refresh(state, params, queue, frame, now, message):
    """Send a grant: at the start, and each time `refresh` has passed."""
    queue.pause_timer = now + params.refresh
    grant(state, params, queue, message)
    message.kind = GRANT
    message.sequence = state.granted
    return SEND


LINK_CREDITS: Algorithm = pause(
    "credit-flow-control",
    "credits of a link, in octets of the buffer behind it",
    LinkCredits,
    STATE,
    enqueue=on_enqueue,
    dequeue=on_dequeue,
    timer=on_refresh,
    grants=True,
    former=("link-credits",),
)
