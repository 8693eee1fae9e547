"""Packets of RoCEv2 queue pairs: data, acknowledgements and CNPs, written and recognised.

Their layout is that of InfiniBand, volume 1, 9.2 (base transport header), 9.3 (RETH, AETH), and of
RoCEv2, annex A17. Addresses, ports and queue pairs are those of a configuration.
"""

from __future__ import annotations

from orchestrator.engine.datapath.libc import memcpy, memset
from orchestrator.engine.datapath.mmsg_batch import QUEUED, UNSENT
from orchestrator.engine.datapath.packet_socket_io import flush, post
from orchestrator.engine.frames.frame_layout import BTH_BECN, BTH_PKEY, CNP_OPCODE, ROCE_PORT
from orchestrator.engine.frames.roce_frame_types import (
    ACK_OPCODE,
    ACK_SYNDROME,
    LAST,
    MIDDLE,
    MIGRATED,
    NAK_SYNDROME,
    ONLY,
    PSN_MASK,
    RETH_OCTETS,
    SEND_FIRST,
    WRITE_FIRST,
)
from orchestrator.engine.frames.roce_icrc import ICRC_OCTETS, is_icrc, put_icrc
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import NONE
from orchestrator.otg.frame_builder import checksum_of, put, put_stamp, read, sum_words
from orchestrator.otg.generator_state import EPOCH, RESET, SEND_BATCH
from orchestrator.otg.otg_flow import FCS, STAMP_OCTETS
from orchestrator.otg.rocev2_state import ACK_FRAME, CNP_FRAME, DATA_FRAME, HEADER, NAK_FRAME

IP, UDP, BTH = 14, 34, HEADER
BEHIND_BTH = BTH + 12
ACK_OCTETS = BEHIND_BTH + 4 + ICRC_OCTETS
CNP_OCTETS = BEHIND_BTH + 16 + ICRC_OCTETS


@compiled
def flush_port(state, port):
    """Send what is queued, all of it at one port; the number of frames that could not be."""
    batch = state.outgoing
    queued = batch.state[QUEUED]
    if queued == 0:
        return 0
    octets = 0
    for k in range(queued):
        octets += batch.lengths[k] + FCS
    before = batch.state[UNSENT]
    flush(batch, state.send_socket[0])
    unsent = batch.state[UNSENT] - before
    if unsent > 0:
        octets -= octets // queued * unsent
    record = state.ports[port]
    record["sent"] += queued - unsent
    record["sent_octets"] += octets
    record["unsent"] += unsent
    return unsent


@compiled
def begin_packet(state, row, kind, port, length):
    """Write the headers of a packet up to the BTH into a slot of the batch; the slot."""
    batch = state.outgoing
    if batch.state[QUEUED] == SEND_BATCH:
        flush_port(state, port)
    slot = batch.state[QUEUED]
    octets = batch.octets[slot]
    memcpy(octets.ctypes.data, state.roce.templates[row, kind].ctypes.data, HEADER)
    memset(octets.ctypes.data + HEADER, 0, length - HEADER)
    put(octets, IP + 2, 2, length - IP)
    put(octets, UDP + 4, 2, length - UDP)
    put(octets, IP + 10, 2, checksum_of(sum_words(octets, IP, IP + 20, 0)))
    return slot


@compiled
def put_bth(octets, opcode, flags, pair, psn, requests_ack):
    """Write a base transport header (InfiniBand, volume 1, 9.2)."""
    octets[BTH] = opcode
    octets[BTH + 1] = flags
    put(octets, BTH + 2, 2, BTH_PKEY)
    put(octets, BTH + 5, 3, pair)
    octets[BTH + 8] = requests_ack << 7
    put(octets, BTH + 9, 3, psn & PSN_MASK)


@compiled
def end_packet(state, slot, port, length):
    """Write the ICRC of a packet and queue it."""
    put_icrc(state.outgoing.octets[slot], length - ICRC_OCTETS, IP)
    post(state.outgoing, port, slot, length, length)


@compiled
def send_answer(state, row, sequence, is_nak):
    """Queue an ACK or a NAK; `sequence` is the one that is expected."""
    pair = state.roce.pairs[row]
    port = pair["peer_port"]
    kind = NAK_FRAME if is_nak else ACK_FRAME
    slot = begin_packet(state, row, kind, port, ACK_OCTETS)
    octets = state.outgoing.octets[slot]
    psn = sequence if is_nak else sequence - 1
    put_bth(octets, ACK_OPCODE, MIGRATED, pair["source_qp"], psn, 0)
    octets[BEHIND_BTH] = NAK_SYNDROME if is_nak else ACK_SYNDROME
    put(octets, BEHIND_BTH + 1, 3, pair["messages_received"] & PSN_MASK)
    end_packet(state, slot, port, ACK_OCTETS)
    if is_nak:
        pair["nak_sent"] += 1
    else:
        pair["ack_sent"] += 1


@compiled
def send_cnp(state, row):
    """Queue a CNP for the source of a flow (RoCEv2, annex A17.9.3)."""
    pair = state.roce.pairs[row]
    slot = begin_packet(state, row, CNP_FRAME, pair["peer_port"], CNP_OCTETS)
    octets = state.outgoing.octets[slot]
    put_bth(octets, CNP_OPCODE, MIGRATED, pair["source_qp"], 0, 0)
    octets[BTH + 4] = BTH_BECN
    end_packet(state, slot, pair["peer_port"], CNP_OCTETS)
    pair["cnp_sent"] += 1


@compiled
def payload_of(pair, place):
    """Octets of the payload of packet `place` of a message."""
    return min(pair["octets"] - place * pair["segment"], pair["segment"])


@compiled
def send_data(state, row, sequence, requests_ack, time_ns):
    """Queue a packet of a message; its length."""
    pair = state.roce.pairs[row]
    place = (sequence - pair["first_psn"]) % pair["packets"]
    is_first, is_last = place == 0, place == pair["packets"] - 1
    opcode = WRITE_FIRST if pair["write"] != 0 else SEND_FIRST
    if is_first and is_last:
        opcode += ONLY
    elif is_last:
        opcode += LAST
    elif not is_first:
        opcode += MIDDLE
    payload = payload_of(pair, place)
    pad = -payload & 3
    reth = RETH_OCTETS if is_first and pair["write"] != 0 else 0
    length = BEHIND_BTH + reth + payload + pad + ICRC_OCTETS
    slot = begin_packet(state, row, DATA_FRAME, pair["port"], length)
    octets = state.outgoing.octets[slot]
    asks = 1 if is_last or requests_ack != 0 else 0
    put_bth(octets, opcode, MIGRATED | pad << 4, pair["destination_qp"], sequence, asks)
    if reth != 0:
        put(octets, BEHIND_BTH, 8, pair["virtual_address"])
        put(octets, BEHIND_BTH + 8, 4, pair["key"])
        put(octets, BEHIND_BTH + 12, 4, pair["octets"])
    if payload >= STAMP_OCTETS:
        at = length - ICRC_OCTETS - pad - STAMP_OCTETS
        put_stamp(octets, at, state.control[EPOCH], row, sequence, time_ns)
    end_packet(state, slot, pair["port"], length)
    return length


@compiled
def is_pair_packet(state, octets, length):
    """True if a frame is a RoCEv2 packet over IPv4 whose ICRC is right."""
    if state.roce.pairs.size == 0 or length < ACK_OCTETS or length > octets.size:
        return False
    if read(octets, 12, 3) != 0x080045 or octets[IP + 9] != 17:
        return False
    end = IP + read(octets, IP + 2, 2)
    if read(octets, UDP + 2, 2) != ROCE_PORT or end > length or end < ACK_OCTETS:
        return False
    return is_icrc(octets, end - ICRC_OCTETS, IP)


@compiled
def find_pair(state, octets, port, answers):
    """Flow that a packet belongs to, or that it answers; NONE."""
    source, destination = read(octets, IP + 12, 4), read(octets, IP + 16, 4)
    number = read(octets, BTH + 5, 3)
    for row in range(state.roce.pairs.size):
        pair = state.roce.pairs[row]
        if pair["state"] == RESET:
            continue
        if answers:
            if (
                pair["port"] == port
                and pair["source_qp"] == number
                and pair["source_ip"] == destination
                and pair["destination_ip"] == source
            ):
                return row
        elif (
            pair["peer_port"] == port
            and pair["destination_qp"] == number
            and pair["destination_ip"] == destination
            and pair["source_ip"] == source
        ):
            return row
    return NONE
