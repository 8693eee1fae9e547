"""Fault injection into single frames: drop, mark, corrupt, delay, duplicate the n-th of a flow.

Steps of the timeline name the frames (`INJECTION`): the n-th of a flow that its port begins to send
at a time or later. They act where the frame leaves the port, behind its queue and its limiter: a
dropped frame has taken its time on the wire. A delayed frame may be overtaken; all others keep
their order. A duplicate takes its own time on the wire, directly behind the frame. A corrupted
frame crosses the link, and the FCS check at the other end drops it (IEEE 802.3, clause 4.2.4.1.2):
the node there does not get it. Where the link is a wire it is not sent, for a socket's interface
writes the right FCS. A frame whose IPv4 header checksum, UDP checksum or ICRC is to be wrong has a
right FCS and is sent on every link (`is_stopped`).

A frame that the link loses anyway, because it is cut or its delay line full or lossy, counts as one
that has passed, and nothing is injected into it.
"""

from __future__ import annotations

from orchestrator.engine.index_types import FrameIndex, PortIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.kernel_answers import LOST
from orchestrator.engine.node.channel_stages import pass_stages, take_copy
from orchestrator.engine.node.delay_line import insert_by_due, link_delay
from orchestrator.engine.node.descriptor_pool import give_back
from orchestrator.engine.node.frame_capture import check_octet
from orchestrator.engine.node.multicast_replication import copy_of
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import (
    ACK,
    CE,
    CNM,
    CNP,
    CORRUPTED,
    DATA,
    FCS_ERROR,
    HOST,
    INJECT_CORRUPT,
    INJECT_DELAY,
    INJECT_DROP,
    INJECT_MARK,
    NONE,
    OF_ACK,
    OF_DATA,
    SACK,
    Frame,
    Injection,
)


@inlined
def counts_for(step: Injection, frame: Frame, now: int) -> bool:
    """True if a step of the timeline counts a frame that its port begins to send."""
    if frame.flow != step.flow or now < step.at:
        return False
    if step.of == OF_DATA:
        return frame.kind == DATA or frame.kind == HOST
    if step.of == OF_ACK:
        return frame.kind == ACK or frame.kind == SACK
    return frame.kind == CNM or frame.kind == CNP


@inlined
def names_next(step: Injection) -> bool:
    """Count a frame; True if it is one that the step names."""
    step.passed += 1
    return step.packet <= step.passed < step.packet + step.packets


@compiled
def enter_line(w: World, port_index: PortIndex, index: FrameIndex, delay: int, longer: int) -> None:
    """A frame whose last bit leaves at the port's `free_at` is due `delay` ps later; `longer` ps
    more where an injection delays it, and then out of order."""
    port = w.ports[port_index]
    frame = w.frames[index]
    frame.due = port.free_at + delay + longer
    if longer == 0:
        frame.due = max(frame.due, port.last_due)
        port.last_due = frame.due
    insert_by_due(w, port_index, index)


@compiled
def send_duplicate(w: World, port_index: PortIndex, index: FrameIndex, delay: int) -> None:
    """Send a copy of a frame directly behind it."""
    port = w.ports[port_index]
    if port.line_bytes + w.frames[index].length > port.line_capacity:
        return
    other = copy_of(w, port.node, index)
    if other == NONE:
        return
    frame = w.frames[other]
    frame.held = NONE
    frame.original = NONE
    port.free_at += port.timed_ps
    port.bytes_out += frame.length
    port.frames_out += 1
    w.injectors[port.injector - 1].duplicated += 1
    enter_line(w, port_index, other, delay, 0)


@compiled
def transmit_injected(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> None:
    """A port with an injector has begun to send a frame: it passes the stages of its link, if this
    has some, and its line takes it, as the steps of the timeline say."""
    port = w.ports[port_index]
    frame = w.frames[index]
    injector = w.injectors[port.injector - 1]
    first = injector.first_stage
    staged = first < injector.last_stage
    hold = 0
    port_of_frame = frame.port
    if not staged:
        delay = link_delay(w, port, frame, now)
    elif port.up == 0 or port.line_bytes + frame.length > port.line_capacity:
        delay = LOST
    else:
        injector.delay = port.delay
        injector.hold = 0
        injector.damage = NONE
        injector.copies_head = NONE
        passed = pass_stages(w, port_index, index, first, now)
        delay = injector.delay if passed else LOST
        hold = injector.hold
        if injector.damage != NONE:
            port_of_frame = injector.damage
    lost = delay < 0
    copies = 0
    for row in range(injector.first, injector.last):
        step = w.injections[row]
        if not counts_for(step, frame, now) or not names_next(step) or lost:
            continue
        if step.action == INJECT_DROP:
            injector.dropped += 1
            lost = True
        elif step.action == INJECT_MARK:
            injector.marked += 1
            frame.mark |= CE
        elif step.action == INJECT_CORRUPT:
            if step.damage == CORRUPTED:
                port_of_frame = CORRUPTED
            elif (
                port_of_frame not in (CORRUPTED, FCS_ERROR)
                and check_octet(w, frame, step.damage) != NONE
            ):
                port_of_frame = step.damage
        elif step.action == INJECT_DELAY:
            injector.delayed += 1
            hold += step.delay
        else:
            copies += 1
    if lost:
        port.frames_lost += 1
        # copies have octets of their own, so the descriptor can be given back before they are sent
        give_back(w, index)
    else:
        enter_line(w, port_index, index, delay, hold)
        for _ in range(copies):
            send_duplicate(w, port_index, index, delay)
        frame.port = port_of_frame
    if staged:
        transmit_copies(w, port_index, now)


@compiled
def transmit_copies(w: World, port_index: PortIndex, now: int) -> None:
    """Send the copies that stages have added to a frame, and to its copies, one behind another."""
    port = w.ports[port_index]
    injector = w.injectors[port.injector - 1]
    while injector.copies_head != NONE:
        index = take_copy(w, port_index)
        frame = w.frames[index]
        room = port.line_bytes + frame.length <= port.line_capacity
        passed = pass_stages(w, port_index, index, frame.behind, now)
        frame.side = NONE
        frame.behind = NONE
        if not (passed and room):
            port.frames_lost += 1
            give_back(w, index)
            continue
        enter_line(w, port_index, index, injector.delay, injector.hold)
        frame.port = injector.damage
