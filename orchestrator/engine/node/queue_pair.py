"""Queue pairs: packets and acknowledgements of flows over RoCEv2 reliable connections.

A message of an application is one RDMA WRITE or SEND, or several where it is longer than InfiniBand
lets one be (volume 1, 9.7.1: 2^31 octets). Its packets hold `flow.segment` octets each, the path
MTU, but for the last one. What the headers say stands in the descriptor as
`engine.frames.roce_frame_types` describes it. A sequence is a count in both nodes; what arrives has
its low 24 bits, the PSN.
"""

from __future__ import annotations

from orchestrator.engine.frames.roce_frame_types import (
    ACK_SYNDROME,
    LAST,
    MIDDLE,
    NAK_SYNDROME,
    ONLY,
    PSN_MASK,
    RNR_SYNDROME,
    SEND_FIRST,
    SYNDROME_TYPE,
    WRITE_FIRST,
    extend_sequence,
    payload_octets,
    roce_length,
)
from orchestrator.engine.jit import compiled
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import ROCE_SEND, ROCE_WRITE, Flow, Frame, Message

LONGEST_OPERATION = 1 << 31
"""Octets of one RDMA WRITE or SEND at the most."""


@compiled
def operation_frames(flow: Flow) -> int:
    """Packets of the longest operation."""
    return LONGEST_OPERATION // flow.segment


@compiled
def payload_of(flow: Flow, message: Message, place: int) -> int:
    """Octets of the payload of packet `place` of a message, padding excluded."""
    rest = message.octets - place * flow.segment
    return payload_octets(rest, flow.segment, has_reth(flow, place))


@compiled
def has_reth(flow: Flow, place: int) -> bool:
    """True if packet `place` of a message begins an RDMA WRITE."""
    return flow.roce == ROCE_WRITE and place % operation_frames(flow) == 0


@compiled
def packet_length(flow: Flow, message: Message, place: int) -> int:
    """Octets of the frame of packet `place` of a message."""
    payload = payload_of(flow, message, place)
    return roce_length(flow.headers, payload, has_reth(flow, place))


@compiled
def describe_packet(flow: Flow, message: Message, frame: Frame, requests_ack: int) -> None:
    """Write opcode, AckReq, PadCnt and DMA length of a data frame into its descriptor. The last
    packet of an operation always requests an acknowledgement."""
    place = frame.sequence - message.first
    longest = operation_frames(flow)
    first = place - place % longest
    frames = min(message.frames - first, longest)
    is_last = place == first + frames - 1
    opcode = SEND_FIRST if flow.roce == ROCE_SEND else WRITE_FIRST
    if frames == 1:
        opcode += ONLY
    elif is_last:
        opcode += LAST
    elif place != first:
        opcode += MIDDLE
    pad = -payload_of(flow, message, place) & 3
    frame.feedback = opcode
    frame.delta = pad << 1 | (1 if is_last or requests_ack != 0 else 0)
    if has_reth(flow, place):
        last = payload_of(flow, message, first + frames - 1)
        frame.offset = (frames - 1) * flow.segment + last


@compiled
def describe_ack(w: World, flow: Flow, frame: Frame) -> None:
    """Write PSN, syndrome and MSN of an acknowledgement into its descriptor. `frame.sequence` is
    the segment that is expected, `frame.feedback` 0, 1 for a NAK or the syndrome of an RNR NAK."""
    done = flow.arriving - flow.first_message
    if flow.arriving < flow.last_message:
        inside = frame.sequence - w.messages[flow.arriving].first
        done += max(inside, 0) // operation_frames(flow)
    frame.sequence = (frame.sequence - (1 if frame.feedback == 0 else 0)) & PSN_MASK
    if frame.feedback == 0:
        frame.feedback = ACK_SYNDROME
    elif frame.feedback & SYNDROME_TYPE != RNR_SYNDROME:
        frame.feedback = NAK_SYNDROME
    frame.delta = done & PSN_MASK
    frame.created = 0
    frame.offset = 0


@compiled
def read_ack(flow: Flow, frame: Frame) -> None:
    """Give an acknowledgement the `sequence` and the `feedback` that its transport wrote."""
    not_ready = frame.feedback & SYNDROME_TYPE == RNR_SYNDROME
    is_nak = frame.feedback == NAK_SYNDROME
    known = extend_sequence(frame.sequence, flow.highest)
    frame.sequence = known if is_nak or not_ready else known + 1
    if not not_ready:
        frame.feedback = 1 if is_nak else 0
