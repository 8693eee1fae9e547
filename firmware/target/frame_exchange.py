"""Frame exchange between the gateware and the compiled nodes, in order of time.

Frames from the gateware are injected at their due times, between the events of the nodes; frames
for it are exported as octets with their arrival times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator.engine.frames.frame_codec import FOREIGN, decode, encode
from orchestrator.engine.jit import compiled
from orchestrator.engine.node_api import count_latency, give_back, receive, step, store_frame, take
from orchestrator.engine.records import DATA, NONE

HEADER_OCTETS = 128
"""Octets of a frame that are exchanged; zeros follow."""
ROOM = 4096


class Exchange(NamedTuple):
    """Outgoing frames of a world, and the peers of its wires."""

    peers: np.ndarray  # int64[wires]: the port at the other end when it is of this world, or NONE
    senders: np.ndarray  # int64[wires]: the port that sends
    wires: np.ndarray  # int64[ROOM]: frames out: the wire,
    due: np.ndarray  # int64[ROOM]: when they are at its end,
    lengths: np.ndarray  # int64[ROOM]
    octets: np.ndarray  # uint8[ROOM, KNOWN]
    foreign: np.ndarray  # int64[1]: frames that could not be decoded


def new_exchange(peers: list[int], senders: list[int]) -> Exchange:
    """The exchange of a world whose wire w leads from port senders[w] to port peers[w]."""
    return Exchange(
        np.array(peers, np.int64),
        np.array(senders, np.int64),
        np.zeros(ROOM, np.int64),
        np.zeros(ROOM, np.int64),
        np.zeros(ROOM, np.int64),
        np.zeros((ROOM, HEADER_OCTETS), np.uint8),
        np.zeros(1, np.int64),
    )


@compiled
def capture_frame(w, port, frame, due, outgoing, octets):
    """Capture a frame at a port, if the port is captured."""
    slot = w.captured[port]
    if slot != NONE:
        store_frame(w, slot, frame, due, outgoing, octets)


@compiled
def inject_frame(w, exchange, port, octets, length, due):
    """Deliver a frame from the gateware to a port of this world."""
    index = take(w)
    if index == NONE:
        return
    frame = w.frames[index]
    if decode(w.types, octets, length, frame) == FOREIGN:
        exchange.foreign[0] += 1
        give_back(w, index)
        return
    capture_frame(w, port, frame, due, False, octets)
    receive(w, port, index, due)


@compiled
def drain_outbox(w, exchange, count, due):
    """Empty the outbox: deliver within this world, else export; returns the number exported."""
    for wire in range(exchange.peers.size):
        for position in range(w.outbox_count[wire]):
            index = w.outbox[wire, position]
            frame = w.frames[index]
            octets = w.octets[index]
            known = encode(w.types, frame, octets)
            for place in range(known, HEADER_OCTETS):
                octets[place] = 0
            capture_frame(w, exchange.senders[wire], frame, due, True, octets)
            peer = exchange.peers[wire]
            if peer != NONE:
                capture_frame(w, peer, frame, due, False, octets)
                receive(w, peer, index, due)
                continue
            exchange.wires[count] = wire
            exchange.due[count] = due
            exchange.lengths[count] = frame.length
            for place in range(HEADER_OCTETS):
                exchange.octets[count, place] = octets[place]
            count += 1
            give_back(w, index)
        w.outbox_count[wire] = 0
    return count


@compiled
def advance(w, exchange, ports, due, lengths, octets, until):
    """Execute events before `until`, with frames from the gateware (in time order).

    Returns how many frames go to the gateware.
    """
    clock = w.clock[0]
    taken = 0
    out = 0
    while True:
        event = w.tree[1, 0]
        if taken < due.size and due[taken] < until and due[taken] <= event:
            clock.now = max(due[taken], clock.now)
            inject_frame(w, exchange, ports[taken], octets[taken], lengths[taken], clock.now)
            taken += 1
        elif event < until:
            clock.now = max(event, clock.now)
            step(w, w.tree[1, 1], clock.now)
            clock.events += 1
            out = drain_outbox(w, exchange, out, clock.now)
        else:
            return out


@compiled
def capture_foreign_frame(w, sender, receiver, octets, length, due):
    """Capture a frame between two gateware nodes, and count it at its receiver."""
    frame = w.frames[w.frames.size - 1]
    if sender != NONE:
        slot = w.captured[sender]
        if slot != NONE:
            frame.length = length
            store_frame(w, slot, frame, due, True, octets)
    if receiver == NONE:
        return
    slot = w.captured[receiver]
    if slot != NONE:
        frame.length = length
        store_frame(w, slot, frame, due, False, octets)
    if decode(w.types, octets, length, frame) != DATA:
        return
    node = w.nodes[w.ports[receiver].node]
    if frame.destination == node.address and 0 <= frame.flow < w.flows.size:
        flow = w.flows[frame.flow]
        flow.frames_received += 1
        flow.bytes_received += length
        count_latency(w, flow.group, due - frame.created)
        w.clock[0].delivered += 1
