"""Flows behind a transport: segments that its kernels ask for, acknowledgements, their timers.

The sender's kernel is asked whenever `flow.next_frame` is due and the host queue has room; it
answers with a segment or none, and says when it is to be asked again. The receiver's kernel sees
every segment where it arrives. Acknowledgements leave past the data of their host, through the port
that the segment came in by, and go through the queues of switches like data, where they can be
lost.

Reliability is apart from control: a transport that leaves control to the reaction point counts in
its flow what was acknowledged, marked and lost. The limiter gets these counts, and its window says
whether the next segment may be made (`flow.held`).
"""

from __future__ import annotations

from orchestrator.engine.frames.descriptor_reset import clear_message, reset_descriptor
from orchestrator.engine.frames.telemetry_header import headers_of, room_octets
from orchestrator.engine.index_types import FlowIndex, FrameIndex
from orchestrator.engine.jit import compiled
from orchestrator.engine.kernel_answers import REQUEST_CREDIT
from orchestrator.engine.kernel_events import (
    TRANSPORT_ACKNOWLEDGED,
    TRANSPORT_ARRIVED,
    TRANSPORT_CREDITED,
    TRANSPORT_SEND,
)
from orchestrator.engine.node import kernel_calls
from orchestrator.engine.node.control_frames import make_canonical, push_control
from orchestrator.engine.node.descriptor_pool import give_back, take
from orchestrator.engine.node.message_progress import count_in_order, find_message
from orchestrator.engine.node.queue_pair import describe_ack, packet_length, read_ack
from orchestrator.engine.node.rate_limiter import on_acknowledgement, on_loss
from orchestrator.engine.node.send_window import window_opens_at
from orchestrator.engine.node.telemetry_stamping import (
    copy_stamps,
    flow_stamps_row,
    reserve_stamps,
)
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import (
    ACK,
    DATA,
    NEVER,
    NONE,
    NOT_ROCE,
    REQUEST,
    ROCE_ACK,
    SACK,
    SOONEST,
    TRANSPORT,
    WITHDRAWN,
    Flow,
    Frame,
)


@compiled
def clear_request(message: Frame) -> None:
    """Let a transport's kernel begin a segment or an acknowledgement, of which nothing is said."""
    clear_message(message, DATA)
    message.sequence = 0
    message.created = 0


@compiled
def request_credit(
    w: World, flow_index: FlowIndex, wanted: int, unsolicited: int, feedback: int, now: int
) -> None:
    """Tell a flow's destination how much its source wants credit for, ahead of its data."""
    flow = w.flows[flow_index]
    index = take(w)
    if index == NONE:
        return
    frame = w.frames[index]
    octets = w.types[REQUEST].octets
    reset_descriptor(
        frame, REQUEST, octets, flow.priority, flow_index, flow.source, flow.destination
    )
    frame.sequence = wanted
    frame.created = now
    frame.offset = unsolicited
    frame.feedback = feedback
    make_canonical(w, frame)
    push_control(w, flow.port, index, now)


@compiled
def withdraw_request(w: World, flow_index: FlowIndex, now: int) -> None:
    """A flow that waits for credits is switched off: its destination need not give it any more."""
    flow = w.flows[flow_index]
    if flow.mode == TRANSPORT and w.instances[flow.transport].kernels[TRANSPORT_CREDITED] != 0:
        request_credit(w, flow_index, 0, 0, WITHDRAWN, now)
        flow.withdrawn = 1


@compiled
def submit_messages(w: World, flow: Flow, now: int) -> None:
    """The application gives the transport every message that has begun by now."""
    while flow.message < flow.last_message and w.messages[flow.message].start <= now:
        message = w.messages[flow.message]
        flow.available = message.first + message.frames
        flow.demand += message.octets + message.frames * headers_of(flow)
        flow.message += 1


@compiled
def expect_message(w: World, flow: Flow) -> None:
    """The transport is asked again when the next message begins, if not before."""
    if flow.message < flow.last_message:
        flow.next_frame = min(flow.next_frame, w.messages[flow.message].start)


@compiled
def ask_transport_segment(w: World, flow_index: FlowIndex, now: int) -> int:
    """Ask the transport for a segment: its sequence number, or NONE; sets `flow.length`."""
    flow = w.flows[flow_index]
    submit_messages(w, flow, now)
    spare = w.frames[w.frames.size - 1]
    clear_request(spare)
    opens = window_opens_at(w, flow, now) if flow.controlled != 0 else now
    flow.held = 1 if opens > now else 0
    losses = flow.losses
    flow.flight_before = flow.flight
    flow.lost_made = flow.made  # unless the transport knows better
    wanted = kernel_calls.call_time_kernel(
        w, flow.transport, TRANSPORT_SEND, flow, spare, now, spare
    )
    sequence, offset, mark, feedback = spare.sequence, spare.offset, spare.mark, spare.feedback
    if flow.losses != losses:
        on_loss(w, flow_index, losses, spare, now)
    if wanted == REQUEST_CREDIT:
        request_credit(w, flow_index, sequence, offset, 0, now)
        wanted = 0
    if wanted == 0:
        if flow.held != 0:
            flow.next_frame = min(flow.next_frame, opens)
        flow.next_frame = max(flow.next_frame, now + SOONEST)
    expect_message(w, flow)
    if wanted == 0:
        flow.length = headers_of(flow) + flow.segment
        return NONE
    spare.mark = mark
    spare.feedback = feedback
    row = find_message(w, flow.sending, sequence)
    flow.sending = row
    message = w.messages[row]
    place = sequence - message.first
    if flow.roce != NOT_ROCE:
        flow.length = packet_length(flow, message, place)
    else:
        flow.length = headers_of(flow) + min(message.octets - place * flow.segment, flow.segment)
    count_made(flow, sequence, now)
    return sequence


@compiled
def count_made(flow: Flow, sequence: int, now: int) -> None:
    """A segment of `flow.length` octets is made: it is under way until it is acknowledged."""
    flow.flight += flow.length
    flow.octets_made += flow.length
    flow.made = now
    if sequence < flow.highest:
        flow.frames_resent += 1
    else:
        flow.highest = sequence + 1


@compiled
def send_ack(w: World, flow_index: FlowIndex, segment: int, now: int) -> None:
    """Send the acknowledgement under construction from the flow's destination to its source.

    It echoes the stamps in the row `segment` of `w.stamps`. Before a segment came in there is no
    port to send it through: it is counted as unroutable.
    """
    flow = w.flows[flow_index]
    spare = w.frames[w.frames.size - 1]
    if flow.back == NONE:
        w.nodes[flow.node].unroutable += 1
        return
    index = take(w)
    if index == NONE:
        return
    frame = w.frames[index]
    kind = SACK if spare.kind == SACK else ACK
    row = kind if flow.roce == NOT_ROCE else ROCE_ACK
    length = w.types[row].octets + room_octets(flow.stamps)
    reset_descriptor(
        frame, kind, length, flow.ack_priority, flow_index, flow.destination, flow.source
    )
    frame.sequence = spare.sequence
    frame.created = spare.created
    frame.offset = spare.offset
    frame.delta = spare.delta
    frame.feedback = spare.feedback
    frame.mark = spare.mark | flow.ack_mark
    if kind == SACK:
        frame.inner = spare.inner
    if flow.roce != NOT_ROCE:
        describe_ack(w, flow, frame)
    if not make_canonical(w, frame):
        w.nodes[flow.node].unroutable += 1
        give_back(w, index)
        return
    if w.stamps.shape[0] > 1:
        reserve_stamps(w, index, flow.stamps)
        copy_stamps(w, segment, index)
    push_control(w, flow.back, index, now)


@compiled
def on_segment_arrived(w: World, index: FrameIndex, event: int, now: int) -> None:
    """A segment, or the header of one, is where it was sent to: tell the transport, which may want
    to acknowledge it."""
    frame = w.frames[index]
    flow_index = frame.flow
    flow = w.flows[flow_index]
    spare = w.frames[w.frames.size - 1]
    flow.back = frame.port
    clear_request(spare)
    wanted = kernel_calls.call_frame_kernel(w, flow.transport, event, flow, frame, now, spare)
    count_in_order(w, flow_index, spare.sequence, now)
    if wanted != 0:
        send_ack(w, flow_index, index, now)
    else:
        copy_stamps(w, index, flow_stamps_row(w, flow_index))


@compiled
def delayed_ack(w: World, flow_index: FlowIndex, now: int) -> None:
    """The time that an acknowledgement may be delayed is over."""
    flow = w.flows[flow_index]
    flow.ack_timer = NEVER
    spare = w.frames[w.frames.size - 1]
    clear_request(spare)
    spare.kind = ACK
    if (
        kernel_calls.call_frame_kernel(
            w, flow.transport, TRANSPORT_ARRIVED, flow, spare, now, spare
        )
        != 0
    ):
        send_ack(w, flow_index, flow_stamps_row(w, flow_index), now)
    flow.ack_timer = max(flow.ack_timer, now + SOONEST)


@compiled
def apply_ack(w: World, flow_index: FlowIndex, index: FrameIndex, now: int) -> None:
    """An acknowledgement came back: tell the transport, which says when it wants to send.

    Then the reaction point gets what was acknowledged, and what the transport considers lost.
    """
    flow = w.flows[flow_index]
    spare = w.frames[w.frames.size - 1]
    acked, marked, losses = flow.acked, flow.marked, flow.losses
    before = flow.flight
    flow.lost_made = flow.made
    submit_messages(w, flow, now)
    clear_request(spare)
    if flow.roce != NOT_ROCE:
        read_ack(flow, w.frames[index])
    w.frames[index].kind = ACK  # to kernels each form of it is one
    kernel_calls.call_frame_kernel(
        w, flow.transport, TRANSPORT_ACKNOWLEDGED, flow, w.frames[index], now, spare
    )
    if flow.controlled != 0:
        flow.flight = max(flow.flight - (flow.acked - acked), 0)
        on_acknowledgement(w, flow_index, index, acked, marked, now)
        if flow.losses != losses:
            flow.flight_before = max(before - (flow.acked - acked), 0)
            on_loss(w, flow_index, losses, w.frames[index], now)
    expect_message(w, flow)
    if flow.on == 0:
        flow.next_frame = NEVER


@compiled
def apply_credit(w: World, flow_index: FlowIndex, index: FrameIndex, now: int) -> None:
    """A credit came back: tell the transport, which says when it wants to send."""
    flow = w.flows[flow_index]
    spare = w.frames[w.frames.size - 1]
    submit_messages(w, flow, now)
    clear_request(spare)
    kernel_calls.call_frame_kernel(
        w, flow.transport, TRANSPORT_CREDITED, flow, w.frames[index], now, spare
    )
    expect_message(w, flow)
    if flow.on == 0:
        flow.next_frame = NEVER
