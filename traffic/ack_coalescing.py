"""Acknowledgement coalescing of a receiver: one ACK for every n-th segment, within a time limit.

A segment in order is acknowledged with the `ack_every`-th one, or `ack_delay` after the first that
waits for an answer (RFC 1122, 4.2.3.2). Three segments are answered at once: one out of order or
received before, one that fills a gap or a part of it (RFC 5681, 4.2), and one whose ECN 11 differs
from that of the segment before it (RFC 8257, 3.2). The RFC has the segments before a change
acknowledged by themselves, because its ACK has one bit for all of them; acknowledgements here
count marked octets, so that the segment with the change is acknowledged along with them.

An acknowledgement answers the newest segment that it covers: it echoes when that one left, so that
a round trip is as long as without coalescing, but `ack_delay` longer at the most where the time
limit sent it.
"""

from __future__ import annotations

from pydantic import Field

from tailback.plugin import CE, NEVER, NOTHING, SEND, Duration, Params, compiled

US = 10**6
MOST_SEGMENTS = 64
"""Segments that one acknowledgement can answer at the most."""

STATE_FIELDS = (
    "owed",  # receiver: segments in order that no acknowledgement has answered
    "congested",  # receiver: 1: the last segment came with ECN 11
    "echo",  # receiver: ps, when the newest segment left its source
)
"""Fields that the state of a transport has for `is_ack_due` and `acknowledge`."""


class AckCoalescing(Params):
    """Parameters of a transport whose receiver can coalesce acknowledgements."""

    ack_every: int = Field(
        1, ge=1, le=MOST_SEGMENTS, description="segments in order that one ACK answers"
    )
    ack_delay: Duration = Field(
        50 * US,
        ge=US,
        le=500 * 1000 * US,
        description="an ACK waits no longer for further segments, where it answers several",
    )

    def answer_delay(self) -> int:
        """The time limit, where one acknowledgement answers several segments."""
        return self.ack_delay if self.ack_every > 1 else 0


@compiled
def acknowledge(state, params, flow):
    """Everything that came is acknowledged now."""
    if params.ack_every > 1:
        state.owed = 0
        flow.ack_timer = NEVER
    return SEND


@compiled
def is_ack_due(state, params, flow, mark, at_once, now):
    """SEND if a segment in order with this TOS octet is answered now, else NOTHING.

    `at_once`: 1 where it fills a gap. Starts the time limit with the first segment that waits.
    """
    if params.ack_every == 1:
        return SEND
    congested = 1 if mark & CE == CE else 0
    changed = congested != state.congested
    state.congested = congested
    state.owed = min(state.owed + 1, MOST_SEGMENTS)
    if at_once != 0 or changed or state.owed >= params.ack_every:
        return acknowledge(state, params, flow)
    if state.owed == 1:
        flow.ack_timer = now + params.ack_delay
    return NOTHING
