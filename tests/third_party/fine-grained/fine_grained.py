"""A scheme for tailback whose switch answers with frames of its own: how far it is above a line.

A CNM tells that in multiples of 64 octets and six bits of feedback; a STATUS has 32 bits for the
distance in octets and says how full the buffer is in thousandths. The source cuts its rate by the
latter and climbs back by a timer.

congestion_point = { plugin = "fine-cp" }    # of a switch
reaction_point = { plugin = "fine-rp" }      # of every NIC
"""

from __future__ import annotations

from pydantic import Field

from tailback.plugin import (
    FORWARD,
    NEVER,
    NOTHING,
    NOTIFY_ARRIVING,
    Duration,
    FrameType,
    Params,
    Rate,
    Size,
    congestion_point,
    hookimpl,
    mac,
    match_octets,
    number,
    reaction_point,
    record,
    write_octets,
)

US = 10**6
STATUS = 16
THOUSAND = 1000

STATUS_FRAME = FrameType(
    STATUS,
    "STATUS",
    "how far a queue is above its line",
    least=60,
    known=48,
    fixed=[
        match_octets(12, "8100"),  # VLAN tag: VLAN 1, the frame's priority
        write_octets(14, "0001"),
        match_octets(16, "88b5"),  # IEEE 802 local experimental EtherType 1
        match_octets(18, "f17e0001"),  # ours, and its version
    ],
    fields=[
        mac("destination", 0),
        mac("source", 6),
        number("priority", 14, 2, low=13, bits=3),
        number("feedback", 22, 2),  # thousandths
        number("offset", 24, 4, signed=True),  # octets
        number("flow", 28, 4, signed=True),
        number("sequence", 32, 8),
        number("created", 40, 8),
    ],
    octets=60,
)


class Above(Params):
    """Parameters of the switch."""

    line: Size = Field(20_000, ge=1, le=10**9, description="queue length that is aimed at")
    every: Size = Field(30_000, ge=64, le=10**9, description="octets from one answer to the next")


class Source(Params):
    """Parameters of the source."""

    step: Rate = Field(5_000_000, ge=1, le=10**12, description="additive increase")
    period: Duration = Field(500 * US, ge=US, le=10**13, description="between increases")
    min_rate: Rate = Field(1_000_000, ge=1, le=10**12, description="the rate never falls below")


def on_arrival(state, params, queue, frame, now, message):
    """A frame arrives: answer it where the queue is above the line."""
    state.octets += frame.length
    if queue.bytes <= params.line or state.octets < params.every:
        return FORWARD
    state.octets = 0
    message.kind = STATUS
    message.feedback = THOUSAND * queue.bytes // queue.capacity
    message.offset = queue.bytes - params.line
    return NOTIFY_ARRIVING


def on_feedback(state, params, limiter, frame, now, message):
    """A STATUS arrived: cut the rate, by how full the buffer is."""
    if frame.kind != STATUS:
        return NOTHING
    if limiter.active == 0:
        limiter.active = 1
        limiter.rate = limiter.link_rate
        limiter.timer = now + params.period
    state.last = frame.offset
    left = max(THOUSAND - frame.feedback, THOUSAND // 2)
    cut = max(limiter.rate * left // THOUSAND, params.min_rate)
    limiter.rate = min(cut, limiter.link_rate)
    limiter.target = limiter.rate
    return NOTHING


def on_timer(state, params, limiter, frame, now, message):
    """Time to raise the rate; at the link's the limiter is let go."""
    limiter.rate = min(limiter.rate + params.step, limiter.link_rate)
    limiter.target = limiter.rate
    if limiter.rate == limiter.link_rate and limiter.backlog == 0:
        limiter.active = 0
        limiter.timer = NEVER
    else:
        limiter.timer = now + params.period
    return NOTHING


SWITCH = congestion_point(
    "fine-cp", "answers by STATUS", Above, record("octets"), sends=(STATUS,), arrival=on_arrival
)
SOURCE = reaction_point(
    "fine-rp", "obeys STATUS", Source, record("last"), feedback=on_feedback, timer=on_timer
)


@hookimpl
def tailback_frame_types():
    """STATUS."""
    return [STATUS_FRAME]


@hookimpl
def tailback_algorithms():
    """Both points."""
    return [SWITCH, SOURCE]
