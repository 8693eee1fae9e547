"""RoCEv2 queue pairs in the generator's loop: packets, their answers, and calls of the kernels.

A packet of a flow leaves when its rate and its transport let it; what arrives goes to the kernels
of the flow whose addresses and queue pair it has. Acknowledgements and CNPs leave by the port that
a packet came in by, at once.
"""

from __future__ import annotations

from orchestrator.engine.datapath.mmsg_batch import QUEUED
from orchestrator.engine.frames.descriptor_reset import reset_descriptor
from orchestrator.engine.frames.frame_layout import CNP_OPCODE
from orchestrator.engine.frames.roce_frame_types import (
    ACK_OPCODE,
    LAST,
    NAK_SYNDROME,
    ONLY,
    WRITE_FIRST,
    extend_sequence,
)
from orchestrator.engine.frames.roce_icrc import ICRC_OCTETS
from orchestrator.engine.jit import compiled
from orchestrator.engine.kernel_events import (
    NP_ARRIVAL,
    RP_FEEDBACK,
    RP_SENT,
    RP_TIMER,
    TRANSPORT_ACKNOWLEDGED,
    TRANSPORT_ARRIVED,
    TRANSPORT_SEND,
)
from orchestrator.engine.node.kernel_calls import call_frame_kernel
from orchestrator.engine.node.queue_pair import read_ack
from orchestrator.engine.node.transport_calls import clear_request, count_made
from orchestrator.engine.records import ACK, CNP, DATA, NEVER, NONE
from orchestrator.otg.frame_builder import count_latency, read, stamp_of
from orchestrator.otg.generator_state import (
    EPOCH,
    MAGIC,
    MOST_DEBT_PS,
    RESET,
    SEND_BATCH,
    STARTED,
    STOPPED,
)
from orchestrator.otg.otg_flow import FCS, OVERHEAD, PS, STAMP_OCTETS
from orchestrator.otg.rocev2_packets import (
    ACK_OCTETS,
    BEHIND_BTH,
    BTH,
    CNP_OCTETS,
    IP,
    find_pair,
    flush_port,
    is_pair_packet,
    send_answer,
    send_cnp,
    send_data,
)

CE = 3


@compiled
def next_due(state, row):
    """When the loop has to serve a flow (ps)."""
    roce = state.roce
    flow, limiter = roce.flows[row], roce.limiters[row]
    if roce.pairs[row]["state"] == RESET:
        return NEVER
    if roce.pairs[row]["state"] != STARTED:
        return flow.ack_timer
    due = min(flow.ack_timer, max(roce.pairs[row]["due_ps"], flow.next_frame))
    return min(due, limiter.timer) if limiter.active != 0 else due


@compiled
def serve_pair(state, row, now_ps, time_ns):
    """Let the timers of a flow run, and send its packets that are due; how many frames left."""
    roce = state.roce
    pair, flow, limiter = roce.pairs[row], roce.flows[row], roce.limiters[row]
    frame, message = roce.frames[0], roce.frames[1]
    if flow.ack_timer <= now_ps:
        flow.ack_timer = NEVER
        clear_request(message)
        reset_descriptor(frame, ACK, 0, 0, NONE, NONE, NONE)
        if call_frame_kernel(
            roce, pair["transport"], TRANSPORT_ARRIVED, flow, frame, now_ps, message
        ):
            send_answer(state, row, message.sequence, False)
    moved = state.outgoing.state[QUEUED]
    flush_port(state, pair["peer_port"])
    if pair["state"] != STARTED:
        return moved
    if limiter.active != 0 and limiter.timer <= now_ps:
        limiter.timer = NEVER
        clear_request(message)
        call_frame_kernel(roce, pair["reaction"], RP_TIMER, limiter, frame, now_ps, message)
    pair["due_ps"] = max(pair["due_ps"], now_ps - MOST_DEBT_PS)
    for _ in range(SEND_BATCH):
        if pair["due_ps"] > now_ps or flow.next_frame > now_ps:
            break
        if flow.highest >= flow.available:
            flow.available += pair["packets"]
        clear_request(message)
        reset_descriptor(frame, DATA, 0, 0, NONE, NONE, NONE)
        if (
            call_frame_kernel(roce, pair["transport"], TRANSPORT_SEND, flow, frame, now_ps, message)
            == 0
        ):
            if flow.next_frame <= now_ps:  # it went back, and is asked again
                continue
            pair["blocked"] = 1
            break
        if pair["blocked"] != 0:  # the time of a closed window is not caught up
            pair["blocked"] = 0
            pair["due_ps"] = now_ps
        sequence, resent = message.sequence, flow.frames_resent
        length = send_data(state, row, sequence, message.feedback, time_ns)
        moved += 1
        flow.length = length
        count_made(flow, sequence, now_ps)
        pair["resent"] += flow.frames_resent - resent
        if flow.frames_resent == resent and flow.highest == flow.available:
            pair["messages_sent"] += 1
        pair["sent"] += 1
        pair["sent_octets"] += length + FCS
        rate = pair["rate_bps"]
        if limiter.active != 0:
            rate = max(min(rate, limiter.rate), 1)
            frame.length = length
            clear_request(message)
            call_frame_kernel(roce, pair["reaction"], RP_SENT, limiter, frame, now_ps, message)
        pair["due_ps"] += (length + FCS + OVERHEAD) * 8 * PS // rate
    unsent = flush_port(state, pair["port"])
    if unsent > 0:
        pair["sent"] -= unsent
        pair["sent_octets"] -= unsent * (flow.length + FCS)
    return moved


@compiled
def serve_pairs(state, now_ps, time_ns):
    """Serve all flows that are due; how many frames left."""
    moved = 0
    for row in range(state.roce.pairs.size):
        if next_due(state, row) <= now_ps:
            moved += serve_pair(state, row, now_ps, time_ns)
    return moved


@compiled
def is_any_started(state):
    """True if a flow of a queue pair sends."""
    started = False
    for row in range(state.roce.pairs.size):
        started = started or state.roce.pairs[row]["state"] == STARTED
    return started


@compiled
def receive_pair(state, port, octets, length, now_ps, now_ns):
    """Give a packet of a queue pair to its flow; False where there is none for it."""
    if not is_pair_packet(state, octets, length):
        return False
    opcode = octets[BTH]
    answers = opcode in (ACK_OPCODE, CNP_OPCODE)
    if not answers and opcode > WRITE_FIRST + ONLY:
        return False
    row = find_pair(state, octets, port, answers)
    if row == NONE:
        return False
    if opcode == ACK_OPCODE:
        receive_ack(state, row, octets, now_ps)
    elif opcode == CNP_OPCODE:
        receive_cnp(state, row, now_ps)
    else:
        receive_data(state, row, octets, length, now_ps, now_ns)
    return True


@compiled
def receive_data(state, row, octets, length, now_ps, now_ns):
    """Count a packet of a message and answer it."""
    roce = state.roce
    pair, flow = roce.pairs[row], roce.flows[row]
    frame, message = roce.frames[0], roce.frames[1]
    if pair["received"] == 0:
        pair["first_ns"] = now_ns
    pair["last_ns"] = now_ns
    pair["received"] += 1
    pair["received_octets"] += length + FCS
    at = IP + read(octets, IP + 2, 2) - ICRC_OCTETS - ((octets[BTH + 1] >> 4) & 3) - STAMP_OCTETS
    if at >= BEHIND_BTH and read(octets, at, 4) == (MAGIC << 8 | state.control[EPOCH]):
        count_latency(pair, stamp_of(octets, at), now_ns)
    sequence = extend_sequence(read(octets, BTH + 9, 3), pair["expected"])
    if sequence > pair["expected"]:
        pair["sequence_errors"] += 1
    reset_descriptor(frame, DATA, length, 0, NONE, NONE, NONE)
    frame.sequence = sequence
    frame.delta = octets[BTH + 8] >> 7
    frame.mark = octets[IP + 1]
    clear_request(message)
    answer = call_frame_kernel(
        roce, pair["transport"], TRANSPORT_ARRIVED, flow, frame, now_ps, message
    )
    expected, is_nak = message.sequence, message.feedback != 0
    opcode = octets[BTH] % WRITE_FIRST
    if expected > pair["expected"] and opcode >= LAST:
        pair["messages_received"] += 1
    pair["expected"] = expected
    if answer != 0:
        send_answer(state, row, expected, is_nak)
    if octets[IP + 1] & CE == CE:
        pair["ce"] += 1
        clear_request(message)
        if call_frame_kernel(
            roce, pair["notification"], NP_ARRIVAL, roce.nodes[0], frame, now_ps, message
        ):
            send_cnp(state, row)


@compiled
def receive_ack(state, row, octets, now_ps):
    """Give an ACK or a NAK to the transport of its flow."""
    roce = state.roce
    pair, flow = roce.pairs[row], roce.flows[row]
    frame, message = roce.frames[0], roce.frames[1]
    reset_descriptor(frame, ACK, ACK_OCTETS, 0, NONE, NONE, NONE)
    frame.sequence = read(octets, BTH + 9, 3)
    frame.feedback = octets[BEHIND_BTH]
    if frame.feedback == NAK_SYNDROME:
        pair["nak_received"] += 1
    else:
        pair["ack_received"] += 1
    read_ack(flow, frame)
    known = min(frame.sequence, flow.highest)
    if known > pair["unacknowledged"]:
        pair["unacknowledged"] = known
        whole = (known - pair["first_psn"]) // pair["packets"]
        if whole > pair["messages_completed"]:
            pair["messages_completed"] = whole
            pair["completed_ps"] = now_ps
    clear_request(message)
    call_frame_kernel(roce, pair["transport"], TRANSPORT_ACKNOWLEDGED, flow, frame, now_ps, message)


@compiled
def receive_cnp(state, row, now_ps):
    """Give a CNP to the reaction point of its flow."""
    roce = state.roce
    pair, limiter = roce.pairs[row], roce.limiters[row]
    pair["cnp_received"] += 1
    if pair["controlled"] == 0 or pair["state"] == STOPPED:
        return
    frame, message = roce.frames[0], roce.frames[1]
    was_active = limiter.active
    reset_descriptor(frame, CNP, CNP_OCTETS, 0, NONE, NONE, NONE)
    clear_request(message)
    call_frame_kernel(roce, pair["reaction"], RP_FEEDBACK, limiter, frame, now_ps, message)
    if was_active == 0 and pair["first_rate_bps"] > 0:
        limiter.rate = min(limiter.rate, pair["first_rate_bps"])
