"""Channel stages: the delay-line algorithms of a link that has several, which frames pass in order.

Each stage is an instance with a state and a random register of its own. A frame enters a stage
only if the stages before have not lost it. The delay of a frame is the link's delay, plus what each
stage answers beyond the link's delay. A copy that a stage adds takes its own time on the wire,
directly behind the frame, and passes the stages behind that one by itself. A frame that a stage
holds back is due later, and frames behind it may overtake it; all others keep their order.

A stage with `FCS_WRONG` corrupts a frame so that the FCS check at the other end drops it (IEEE
802.3, clause 4.2.4.1.2). With `FCS_RIGHT` the node at the other end gets the frame with its last
octet inverted, and drops a frame whose own check shows that (the ICRC of a CNP, RoCEv2, annex A17);
in all other frames that octet is payload or padding, and the programs of a host check it by TCP or
UDP.
"""

from __future__ import annotations

from orchestrator.engine.frames.frame_codec import has_invalid_values
from orchestrator.engine.frames.frame_field import AT, FLAGS, ICRC, LAST_ICRC, OCTETS, OP, READ
from orchestrator.engine.frames.frame_type import TypeRow
from orchestrator.engine.frames.roce_frame_types import layout_of
from orchestrator.engine.index_types import FrameIndex, PortIndex, range
from orchestrator.engine.jit import compiled
from orchestrator.engine.kernel_answers import FCS_WRONG
from orchestrator.engine.kernel_events import DELAY_LINE_DELAY
from orchestrator.engine.node import kernel_calls
from orchestrator.engine.node.descriptor_pool import give_back
from orchestrator.engine.node.frame_capture import capture
from orchestrator.engine.node.multicast_replication import copy_of
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import (
    ALTERED,
    CORRUPTED,
    FCS_ERROR,
    NONE,
    WRONG_IPV4,
    WRONG_UDP,
)

MOST_COPIES = 16
"""Copies that a stage can add to one frame."""
LONGEST_PS = 1 << 60
"""Upper bound of what all stages of a link add to a frame's delay: 13 days."""


@compiled
def pass_stages(w: World, port_index: PortIndex, index: FrameIndex, row: int, now: int) -> int:
    """A frame passes the stages of its link from row `row` on; False: one of them lost it.

    What they do to it is in the injector of the port: `delay` and `hold` (ps), `damage`, and a list
    of copies, each with the row of the stage that it enters next.
    """
    port = w.ports[port_index]
    frame = w.frames[index]
    injector = w.injectors[port.injector - 1]
    message = w.frames[w.frames.size - 1]
    mark, copies, due = message.mark, message.copies, message.due
    passed = True
    while passed and row < injector.last_stage:
        stage = w.stages[row]
        row += 1
        stage.frames_in += 1
        message.mark = 0
        message.copies = 0
        message.due = 0
        answer = kernel_calls.call_frame_kernel(
            w, stage.algorithm, DELAY_LINE_DELAY, port, frame, now, message
        )
        if answer < 0:
            stage.lost += 1
            passed = False
            continue
        added = min(answer, LONGEST_PS) - port.delay
        injector.delay = min(max(injector.delay + added, 0), LONGEST_PS)
        if message.due > 0:
            stage.held_back += 1
            injector.hold = min(injector.hold + min(message.due, LONGEST_PS), LONGEST_PS)
        if message.mark != 0:
            stage.corrupted += 1
            wrong = message.mark == FCS_WRONG or injector.damage == FCS_ERROR
            injector.damage = FCS_ERROR if wrong else ALTERED
        for _ in range(min(message.copies, MOST_COPIES)):
            add_copy(w, port_index, index, row)
    message.mark = mark
    message.copies = copies
    message.due = due
    return passed


@compiled
def add_copy(w: World, port_index: PortIndex, index: FrameIndex, row: int) -> None:
    """The stage before `row` adds a copy of a frame, which enters that stage next."""
    port = w.ports[port_index]
    injector = w.injectors[port.injector - 1]
    other = copy_of(w, port.node, index)
    if other == NONE:
        return
    w.stages[row - 1].duplicated += 1
    injector.copies += 1
    frame = w.frames[other]
    frame.held = NONE
    frame.original = NONE
    frame.next = NONE
    frame.due = injector.delay
    frame.side = injector.hold
    frame.port = injector.damage
    frame.behind = row
    if injector.copies_head == NONE:
        injector.copies_head = other
    else:
        w.frames[injector.copies_tail].next = other
    injector.copies_tail = other


@compiled
def take_copy(w: World, port_index: PortIndex) -> FrameIndex:
    """Take the first copy that has stages to pass, from `behind` on; returns its index. The port
    sends it: it takes its own time on the wire."""
    port = w.ports[port_index]
    injector = w.injectors[port.injector - 1]
    index = injector.copies_head
    frame = w.frames[index]
    injector.copies_head = frame.next
    injector.delay = frame.due
    injector.hold = frame.side
    injector.damage = frame.port
    port.free_at += port.timed_ps
    port.bytes_out += frame.length
    port.frames_out += 1
    return index


@compiled
def is_stopped(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> bool:
    """True if a corrupted frame that crossed its link is dropped at the other end, which counts:
    by the FCS check, or by the check of its own that shows it.

    A frame with a wrong IPv4 header checksum or ICRC is sent where the link is a wire: the node of
    the plan at the other end drops it, and an external one does as it does. Nodes read no UDP
    checksum (RFC 768: optional; RoCEv2, annex A17: 0).
    """
    port = w.ports[port_index]
    frame = w.frames[index]
    injector = w.injectors[port.injector - 1]
    if frame.port == CORRUPTED:
        injector.corrupted += 1
    elif frame.port == FCS_ERROR:
        injector.fcs_errors += 1
    elif frame.port <= WRONG_IPV4:
        injector.corrupted += 1
        if frame.port == WRONG_UDP or (injector.external != 0 and port.wire >= 0):
            return False
        if port.wire >= 0:
            port.frames_lost += 1
            injector.sent_wrong += 1
            return False
        capture(w, port_index, index, now, True)
    elif is_last_octet_checked(w.types[layout_of(w, frame)], frame.length):
        injector.icrc_errors += 1
    else:
        return False
    port.frames_lost += 1
    give_back(w, index)
    return True


@compiled
def is_last_octet_checked(t: TypeRow, length: int) -> bool:
    """True if a frame of a type has an ICRC, or if its receivers read or check its last octet."""
    for k in range(t.fields_used):
        first = t.fields[k, AT]
        covered = first < length <= first + t.fields[k, OCTETS]
        used = t.fields[k, FLAGS] & READ != 0 or has_invalid_values(t, k)
        if t.fields[k, OP] in (ICRC, LAST_ICRC) or (covered and used):
            return True
    return False
