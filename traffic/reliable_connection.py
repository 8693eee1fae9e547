"""RoCEv2 reliable connections: go-back-N with the packets of InfiniBand's RC queue pairs.

Each message is an RDMA WRITE or a SEND in packets of the path MTU, which is the largest one that
`frame` has room for (InfiniBand, volume 1, 9.7). A responder acknowledges a packet in order that
requests it (AckReq): every `ack_every`-th and the last one of a message; `ack_delay` after the
first that waits it acknowledges what came. It answers the first packet behind a gap with a NAK (PSN
sequence error) and no other one until the missing packet is there (9.7.5.2.2). The requester goes
back to the PSN of a NAK, and to its oldest one when no new packet is acknowledged for `timeout`. It
does so `retry_count` times in a row without progress; then the connection has failed, and sends
nothing more (9.7.6.1.3).

A SEND takes a receive buffer of the responder. `receive_buffers` are posted at first, and one that
was taken is posted again after `buffer_interval`. Without one the responder answers the first
packet of the SEND with an RNR NAK, which has the code `min_rnr_timer` of a time (9.7.5.2.8).
The requester waits for that time and sends all from that packet on again; `rnr_retry` times in
a row without progress, then the connection has failed.

An acknowledgement holds a PSN and the number of messages that are complete. So the requester keeps
the length of each packet and when it left last, by which it counts what is acknowledged and
measures round trips. ECN marks come back in CNPs alone, those of a notification point.
"""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from tailback.plugin import (
    ACK,
    NEVER,
    NOTHING,
    SEND,
    Algorithm,
    Capability,
    Duration,
    Observed,
    Size,
    compiled,
)
from traffic.ack_coalescing import STATE_FIELDS, US, AckCoalescing, acknowledge, is_ack_due
from traffic.go_back_n import MS, NEGATIVE, go_back

WINDOW = 1 << 12
"""Packets whose length and time a requester keeps: no more can be under way."""
MOST_LENGTH = (1 << 16) - 1
"""Octets of a packet (firmware.proof.field_ranges)."""
PATH_MTUS = (256, 512, 1024, 2048, 4096)
MOST_RETRIES = 7
"""What the three bits of InfiniBand's retry counter hold."""
WRITE, SEND_MESSAGE = 1, 2
"""ROCE_WRITE and ROCE_SEND of the engine's records."""
SEND_FIRST, SEND_ONLY = 0x00, 0x04
"""Opcodes of the packets that begin a SEND."""
RNR_NAK, RNR_CODES = 0x20, 32
"""`feedback` of an acknowledgement is this plus the code of a time: receiver not ready."""
ENDLESS = 7
"""The value of `rnr_retry` that sets no limit (InfiniBand, volume 1, 9.7.5.2.8)."""


class ReliableConnection(AckCoalescing):
    """Parameters of a queue pair and of the one at its other end."""

    operation: Literal["write", "send"] = Field(
        "write", description="of each message: RDMA WRITE, or SEND"
    )
    mtu: Size = Field(
        4096,
        ge=PATH_MTUS[0],
        le=PATH_MTUS[-1],
        description="largest path MTU: 256, 512, 1024, 2048 or 4096 octets",
    )
    timeout: Duration = Field(
        4 * MS, ge=10**6, le=60 * 10**12, description="without new acknowledgements"
    )
    retry_count: int = Field(
        MOST_RETRIES,
        ge=0,
        le=MOST_RETRIES,
        description="retries in a row without progress, until the connection fails",
    )
    window: int = Field(
        WINDOW, ge=1, le=WINDOW, description="packets that may be under way at the most"
    )
    first_psn: int = Field(0, ge=0, lt=1 << 24, description="PSN of the first packet")
    receive_buffers: int = Field(
        0, ge=0, le=1 << 16, description="SENDs that the responder has room for; 0: for any number"
    )
    buffer_interval: Duration = Field(
        0, ge=0, le=10**12, description="until a buffer that was taken is posted again; 0: never"
    )
    min_rnr_timer: int = Field(
        12,
        ge=0,
        lt=RNR_CODES,
        description="code of the time to wait after an RNR NAK: 1 is 10us, 12 640us, 0 655.36ms",
    )
    rnr_retry: int = Field(
        ENDLESS,
        ge=0,
        le=ENDLESS,
        description="RNR NAKs in a row without progress, until the connection fails; 7: any number",
    )

    @field_validator("mtu")
    @classmethod
    def _is_path_mtu(cls, value: int) -> int:
        if value not in PATH_MTUS:
            raise ValueError(f"a path MTU is {', '.join(map(str, PATH_MTUS))} octets")
        return value

    @model_validator(mode="after")
    def _has_buffers(self) -> Self:
        if self.receive_buffers > 0 and self.operation != "send":
            raise ValueError("'receive_buffers' is of SENDs: 'operation' has to be \"send\"")
        if self.buffer_interval > 0 and self.receive_buffers == 0:
            raise ValueError("'buffer_interval' needs 'receive_buffers' of 1 or more")
        return self

    def answered_within(self) -> int:
        """The first answer has to be back before the timeout."""
        return self.timeout

    def roce_operation(self) -> int:
        """Frames are those of RoCEv2."""
        return SEND_MESSAGE if self.operation == "send" else WRITE

    def largest_mtu(self) -> int:
        """The parameter."""
        return self.mtu

    def first_sequence(self) -> int:
        """Packets are numbered from the first PSN on, and beyond 2^24, which PSNs wrap at."""
        return self.first_psn


STATE = np.dtype(
    [
        *(
            (name, np.int64)
            for name in (
                "begun",  # sender: 1: its fields are set up
                "deadline",  # sender: of the timeout; NEVER
                "una",  # first packet that was not acknowledged
                "nxt",  # the next one to be sent
                "making",  # sender: one more than the packet that was sent last; 0
                "before",  # sender: octets that were made before it
                "retries",  # sender: in a row, without progress
                "failed",  # sender: 1: there were too many
                "resume",  # sender: ps, the end of the time after an RNR NAK
                "rnr_naks",  # sender: that came
                "rnr_retries",  # sender: of these in a row, without progress
                "not_ready",  # sender: 1: there were too many
                "awaits",  # receiver: 1: its fields are set up
                "expected",  # receiver: the first packet that is missing
                "asked",  # receiver: 1: a NAK was sent for it
                "buffers",  # receiver: that are posted
                "posted",  # receiver: ps, when the last of them was
                *STATE_FIELDS,
            )
        ),
        ("octets", np.int64, (WINDOW,)),  # sender: that a packet has
        ("left", np.int64, (WINDOW,)),  # sender: ps, when it was made last
    ]
)
"""Of both ends; each kernel touches its own end's alone."""

FAILED = Observed(
    "failed",
    "1",
    "connections that failed: no progress after all retries",
    "counter",
    note="the connection failed after retry_count retries without progress, and the rest of its "
    "messages was not sent; what lies on its way loses everything, or its timeout is too short",
)
RNR_NAKS = Observed(
    "rnr_naks", "1", "RNR NAKs that came back: a SEND found no receive buffer", "counter"
)
NOT_READY = Observed(
    "not_ready",
    "1",
    "connections that failed: no receive buffer after all RNR retries",
    "counter",
    note="the connection failed after rnr_retry RNR NAKs without progress, and the rest of its "
    "messages was not sent; receive buffers are too few, or posted too slowly",
)


@compiled
def begin(state, params, flow):
    """Set up a new requester; note how long the packet was that was made last."""
    if state.begun == 0:
        state.begun = 1
        state.una = params.first_psn
        state.nxt = params.first_psn
        state.deadline = NEVER
    if state.making != 0:
        made = min(max(flow.octets_made - state.before, 0), MOST_LENGTH)
        state.octets[(state.making - 1) % WINDOW] = made
        state.making = 0


@compiled
def retry(state, params, flow):
    """Go back to the oldest packet, or fail where there were enough retries."""
    go_back(state, flow)
    state.retries = min(state.retries + 1, MOST_RETRIES + 1)
    if state.retries > params.retry_count:
        state.failed = 1


@compiled
def rnr_time(code):
    """ps to wait after an RNR NAK with this code (InfiniBand, volume 1, 9.7.5.2.8)."""
    if code == 0:
        return 655_360 * US
    if code == 1:
        return 10 * US
    return (20 + 10 * (code & 1)) * US << (code >> 1) - 1


@compiled
def wait_for_buffer(state, params, flow, code, now):
    """Go back to the SEND that found no buffer, which is to wait, or fail after enough of these."""
    state.nxt = state.una
    state.deadline = NEVER
    flow.flight = 0
    state.resume = now + rnr_time(code)
    state.rnr_retries = min(state.rnr_retries + 1, ENDLESS)
    if params.rnr_retry < state.rnr_retries:
        state.not_ready = 1


def send(state, params, flow, frame, now, message):
    """Kernel: a packet may be sent, or the timeout is due."""
    begin(state, params, flow)
    if state.failed != 0 or state.not_ready != 0:
        flow.next_frame = NEVER
        return NOTHING
    if state.deadline <= now:
        flow.timeouts += 1
        retry(state, params, flow)
        flow.next_frame = now
        return NOTHING
    if state.resume > now:
        flow.next_frame = state.resume
        return NOTHING
    under_way = state.nxt - state.una
    if flow.held != 0 or state.nxt >= flow.available or under_way >= params.window:
        flow.next_frame = state.deadline
        return NOTHING
    message.sequence = state.nxt
    last_of_window = under_way + 1 >= params.window
    if (state.nxt + 1) % params.ack_every == 0 or last_of_window:
        message.feedback = 1
    state.left[state.nxt % WINDOW] = now
    state.nxt += 1
    state.making = state.nxt
    state.before = flow.octets_made
    if state.deadline == NEVER:
        state.deadline = now + params.timeout
    flow.next_frame = now
    return SEND


def acknowledged(state, params, flow, frame, now, message):
    """Kernel: an acknowledgement is back. It echoes no time: the packet that it answers left when
    this end sent it last."""
    begin(state, params, flow)
    until = min(frame.sequence, flow.highest, state.una + WINDOW)
    ready = frame.feedback < RNR_NAK
    answered = max(until, 1) - 1 if ready else max(until, 0)
    frame.created = state.left[answered % WINDOW]
    if frame.feedback == NEGATIVE:
        flow.naks += 1
    if not ready:
        state.rnr_naks += 1
    if until > state.una:
        for packet in range(state.una, until):
            flow.acked += state.octets[packet % WINDOW]
        state.una = until
        state.nxt = max(state.nxt, state.una)
        state.retries = 0
        state.rnr_retries = 0
        state.deadline = NEVER if state.una == state.nxt else now + params.timeout
    if frame.sequence == state.una and state.una < state.nxt:
        if frame.feedback == NEGATIVE:
            retry(state, params, flow)
        elif not ready:
            wait_for_buffer(state, params, flow, frame.feedback & RNR_CODES - 1, now)
    flow.next_frame = now
    return NOTHING


@compiled
def is_ready(state, params, frame, now):
    """1 if a packet begins no SEND, or takes a posted buffer; 0 if there is none for it."""
    begins = frame.feedback == SEND_FIRST or frame.feedback == SEND_ONLY
    if params.receive_buffers == 0 or not begins:
        return 1
    taken = max(params.receive_buffers - state.buffers, 0)
    if params.buffer_interval > 0:
        posted = min(max(now - state.posted, 0) // params.buffer_interval, taken)
        state.buffers = min(state.buffers + posted, params.receive_buffers)
        state.posted = min(state.posted + posted * params.buffer_interval, now)
    if state.buffers == 0:
        return 0
    if state.buffers >= params.receive_buffers:
        state.posted = now
    state.buffers = max(state.buffers - 1, 0)
    return 1


def arrived(state, params, flow, frame, now, message):
    """Kernel: a packet came, or the time limit of an acknowledgement is over."""
    if state.awaits == 0:
        state.awaits = 1
        state.expected = params.first_psn
        state.buffers = params.receive_buffers
    if frame.kind == ACK:
        answers = acknowledge(state, params, flow)
    elif frame.sequence == state.expected:
        if is_ready(state, params, frame, now) == 1:
            state.expected += 1
            requested = frame.delta & 1
            answers = is_ack_due(state, params, flow, 0, requested | state.asked, now)
            state.asked = 0
        else:
            answers = acknowledge(state, params, flow)
            state.asked = 1
            message.feedback = RNR_NAK | params.min_rnr_timer
    elif frame.sequence > state.expected:
        answers = NOTHING if state.asked != 0 else acknowledge(state, params, flow)
        state.asked = 1
        message.feedback = NEGATIVE
    else:
        answers = acknowledge(state, params, flow)
    message.sequence = state.expected
    return answers


RELIABLE_CONNECTION: Algorithm = Algorithm(
    "rc",
    "transport",
    "RoCEv2 reliable connection: RDMA WRITE or SEND with go-back-N; the reaction point controls",
    ReliableConnection,
    STATE,
    {"send": send, "acknowledged": acknowledged, "arrived": arrived},
    needs=frozenset({Capability.ACKNOWLEDGEMENTS}),
    columns=(FAILED, RNR_NAKS, NOT_READY),
    leaves_control=True,
    counts=("timeouts", "naks"),
)
