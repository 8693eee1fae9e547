"""Reset of frame descriptors: sets every field of a new frame.

Descriptors are used again and again. Whoever makes a frame, from a source, a message or octets that
came in, begins here and then sets what is special about it; a field that is not set is neutral,
never what the frame before had.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.index_types import FlowIndex
from orchestrator.engine.jit import inlined, plain
from orchestrator.engine.records import FRAME, NONE, Frame


@inlined
def reset_descriptor(
    frame: Frame,
    kind: int,
    length: int,
    priority: int,
    flow: FlowIndex,
    source: int,
    destination: int,
) -> None:
    """Make a descriptor that of a new frame, of which is known what every frame has.

    It is in no list, delay line, port or buffer; it says nothing and has passed no router. The
    values are arguments so that they are read before anything is written: each field is stored
    once.
    """
    frame.next = NONE
    frame.kind = kind
    frame.length = length
    frame.priority = priority
    frame.flow = flow
    frame.source = source
    frame.destination = destination
    frame.sequence = 0
    frame.created = 0
    frame.due = 0
    frame.port = NONE
    frame.feedback = 0
    frame.offset = 0
    frame.delta = 0
    frame.inner = NONE
    frame.mark = 0
    frame.held = NONE
    frame.unit = NONE
    frame.original = NONE
    frame.copies = 0
    frame.hops = 0
    frame.entered = 0
    frame.side = NONE
    frame.behind = NONE


@inlined
def clear_message(message: Frame, kind: int) -> None:
    """Let a kernel begin a message: what it may say is neutral, whatever was said before."""
    message.kind = kind
    message.feedback = 0
    message.offset = 0
    message.delta = 0
    message.mark = 0


def empty_descriptors(count: int) -> np.recarray:
    """FRAME[count]: descriptors without a kind; those of octets, tests and pools."""
    one = np.zeros(1, FRAME).view(np.recarray)
    plain(reset_descriptor)(one[0], NONE, 0, 0, NONE, NONE, NONE)
    return np.repeat(one, count).view(np.recarray)
