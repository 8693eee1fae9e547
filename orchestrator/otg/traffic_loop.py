"""Loop of the generator: sends due frames, takes frames in, captures; compiled, off the GIL.

It stands on the batches of the software target's data path (`engine.datapath.packet_socket_io`).
Flows of RoCEv2 queue pairs are served by `rocev2_loop`. A frame that is
sent late does not move those behind it, so the mean rate holds; time that is over by more than
MOST_DEBT_PS is given up, and counted.
"""

from __future__ import annotations

from orchestrator.engine.datapath.libc import (
    clock_gettime,
    memcpy,
    monotonic_ns,
    sleep_until,
)
from orchestrator.engine.datapath.mmsg_batch import QUEUED, STAMP_KIND
from orchestrator.engine.datapath.packet_socket_io import (
    arm,
    is_socket_readable,
    poll_sockets,
    post,
    receive,
)
from orchestrator.engine.histogram import add
from orchestrator.engine.jit import compiled
from orchestrator.otg.frame_builder import (
    build_frame,
    count_latency,
    next_size,
    read,
    stamp_of,
)
from orchestrator.otg.generator_state import (
    EPOCH,
    MAGIC,
    MOST_DEBT_PS,
    NAP_NS,
    SEND_BATCH,
    START_NS,
    STARTED,
    STOP,
    STOPPED,
    TURNS,
)
from orchestrator.otg.otg_flow import FCS, OVERHEAD, PS, STAMP_OCTETS
from orchestrator.otg.rocev2_loop import is_any_started, receive_pair, serve_pairs
from orchestrator.otg.rocev2_packets import flush_port

CLOCK_REALTIME = 0
NEVER = 1 << 62
WAKE_NS = 100_000
"""The loop wakes this much before the next frame is due and spins until then."""


@compiled
def realtime_ns(timespec):
    """CLOCK_REALTIME (ns)."""
    clock_gettime(CLOCK_REALTIME, timespec.ctypes.data)
    return timespec[0] * 1_000_000_000 + timespec[1]


@compiled
def most_urgent(flows):
    """The started flow that is due first; -1 where none is started."""
    best = -1
    for row in range(flows.size):
        if flows[row]["state"] == STARTED and (
            best < 0 or flows[row]["due_ps"] < flows[best]["due_ps"]
        ):
            best = row
    return best


@compiled
def is_over(flow):
    """True if a flow has sent all its frames, or its time is over."""
    if flow["frames"] > 0 and flow["begun"] >= flow["frames"]:
        return True
    if flow["bursts"] > 0 and flow["begun"] >= flow["bursts"] * flow["burst_frames"]:
        return True
    return flow["length_ps"] > 0 and flow["due_ps"] - flow["began_ps"] >= flow["length_ps"]


@compiled
def reschedule(flow, length):
    """Set when the next frame is due, after one of `length` octets that was due at `due_ps`."""
    bits = (length + FCS + OVERHEAD) * 8
    if flow["burst_frames"] > 0 and flow["begun"] % flow["burst_frames"] == 0:
        flow["due_ps"] += bits * PS // flow["speed_bps"] + flow["burst_gap_ps"]
    elif flow["interval_ps"] > 0:
        flow["due_ps"] += flow["interval_ps"]
    else:
        flow["due_ps"] += bits * PS // flow["rate_bps"]


@compiled
def send_flow(state, row, now_ps):
    """Send the frames of a flow that are due, at most a batch; the number of them."""
    flow = state.flows[row]
    if now_ps - flow["due_ps"] > MOST_DEBT_PS:
        flow["skipped"] += 1
        flow["due_ps"] = now_ps - MOST_DEBT_PS
    batch = state.outgoing
    octets = 0
    time_ns = realtime_ns(state.timespec)
    for slot in range(SEND_BATCH):
        if flow["state"] != STARTED or flow["due_ps"] > now_ps:
            break
        if is_over(flow):
            flow["state"] = STOPPED
            break
        length = next_size(flow)
        known = build_frame(state, row, batch.octets[slot], length, time_ns)
        post(batch, flow["port"], slot, known, length)
        add(state.lateness, now_ps - flow["due_ps"])
        octets += length + FCS
        flow["begun"] += 1
        reschedule(flow, length)
    queued = batch.state[QUEUED]
    if queued > 0:
        unsent = flush_port(state, flow["port"])
        if unsent > 0:
            octets -= octets // queued * unsent
        flow["sent"] += queued - unsent
        flow["sent_octets"] += octets
        flow["unsent"] += unsent
    if is_over(flow) and flow["state"] == STARTED:
        flow["state"] = STOPPED
    return queued


@compiled
def count_order(flow, sequence):
    """Count sequence numbers that have not come, and frames that come after later ones."""
    ahead = (sequence - flow["expected"]) & 0xFFFFFFFF
    if ahead < 1 << 31:
        flow["lost"] += ahead
        flow["expected"] = (sequence + 1) & 0xFFFFFFFF
    else:
        flow["reordered"] += 1
        flow["lost"] = max(flow["lost"] - 1, 0)


@compiled
def find_flow(state, octets, length, port):
    """Flow of a frame without a stamp, by its headers; -1 where none fits."""
    for row in range(state.flows.size):
        first = state.flows[row]["first"]
        if state.receivers[row, port] == 0 or length < first:
            continue
        ones = 0
        same = True
        for place in range(first):
            mask = state.masks[row, place]
            ones |= mask
            if (octets[place] ^ state.templates[row, place]) & mask != 0:
                same = False
                break
        if same and ones != 0:
            return row
    return -1


@compiled
def count_flow(state, port, octets, length, now_ns):
    """Count a received frame for its flow."""
    at = length - STAMP_OCTETS
    if (
        at >= 0
        and length <= octets.size
        and read(octets, at, 4) == ((MAGIC << 8) | state.control[EPOCH])
    ):
        row = read(octets, at + 4, 2)
        if row >= state.flows.size or state.flows[row]["stamped"] == 0:
            return
        flow = state.flows[row]
        if state.receivers[row, port] == 0:
            flow["misdirected"] += 1
            return
        count_latency(flow, stamp_of(octets, at), now_ns)
        count_order(flow, read(octets, at + 6, 4))
    else:
        row = find_flow(state, octets, length, port)
        if row < 0:
            return
        flow = state.flows[row]
    if flow["received"] == 0:
        flow["first_ns"] = now_ns
    flow["last_ns"] = now_ns
    flow["received"] += 1
    flow["received_octets"] += length + FCS


@compiled
def capture_frame(state, port, octets, length, now_ns):
    """Keep a received frame in the buffer of its port."""
    row = port["capture"]
    slots, width = state.capture_rules[row, 0], state.capture_rules[row, 1]
    if port["captured"] >= slots:
        port["capture_lost"] += 1
        if state.capture_rules[row, 2] == 0:
            return
    slot = port["captured"] % slots
    kept = min(length, width, octets.size)
    memcpy(state.capture_octets[row, slot].ctypes.data, octets.ctypes.data, kept)
    state.capture_notes[row, slot, 0] = now_ns
    state.capture_notes[row, slot, 1] = length
    state.capture_notes[row, slot, 2] = kept
    port["captured"] += 1


@compiled
def receive_port(state, row):
    """Take in what waits at a port, at most a batch; the number of frames."""
    port = state.ports[row]
    batch = state.incoming
    count = receive(batch, port["socket"], port["interface"])
    if count <= 0:
        return 0
    clock_ns = realtime_ns(state.timespec)
    for k in range(count):
        now_ns = clock_ns
        if batch.control[k, 1] == STAMP_KIND and batch.control[k, 2] != 0:
            now_ns = batch.control[k, 2] * 1_000_000_000 + batch.control[k, 3]
        octets, length = batch.octets[batch.slots[k]], batch.lengths[k]
        if batch.ports[k] == 0:  # else it came before the socket was bound to its interface
            port["received"] += 1
            port["received_octets"] += length + FCS
            if port["capturing"] != 0:
                capture_frame(state, port, octets, length, now_ns)
            now_ps = (monotonic_ns(state.timespec) - state.control[START_NS]) * 1000
            if not receive_pair(state, row, octets, length, now_ps, now_ns):
                count_flow(state, row, octets, length, now_ns)
        arm(batch, k, batch.slots[k])
    flush_port(state, row)
    return count


@compiled
def run_generator(state):
    """Send and receive until `control[STOP]` is set."""
    for k in range(state.incoming.slots.size):
        arm(state.incoming, k, k)
    while state.control[STOP] == 0:
        state.control[TURNS] += 1
        now_ns = monotonic_ns(state.timespec)
        moved = 0
        row = most_urgent(state.flows)
        due_ns = NEVER
        if row >= 0:
            due_ns = state.control[START_NS] + state.flows[row]["due_ps"] // 1000
            if due_ns <= now_ns:
                moved = send_flow(state, row, (now_ns - state.control[START_NS]) * 1000)
                due_ns = now_ns
        if state.roce.pairs.size > 0:
            now_ps = (monotonic_ns(state.timespec) - state.control[START_NS]) * 1000
            moved += serve_pairs(state, now_ps, realtime_ns(state.timespec))
            if is_any_started(state):
                moved += 1  # an answer is not to wait for a nap
        if poll_sockets(state.polled) > 0:
            for port in range(state.ports.size):
                if is_socket_readable(state.polled, port):
                    moved += receive_port(state, port)
        if moved == 0 and state.control[NAP_NS] > 0:
            until = min(due_ns - WAKE_NS, now_ns + state.control[NAP_NS])
            if until > now_ns:
                sleep_until(state.timespec, until)
