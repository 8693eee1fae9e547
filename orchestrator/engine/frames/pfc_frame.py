"""Priority flow control (IEEE 802.1Qbb): MAC control, opcode 0x0101, a time for each priority.

In a descriptor bit n of `mark` enables priority n; the quanta of priorities 0 and 1 lie in
`feedback`, 2 and 3 in `offset`, 4 and 5 in `delta`, 6 and 7 in `inner`, 16 bits each, the smaller
priority in the lower ones. A frame that is made has a time of 0 for a priority that it does not
enable (IEEE 802.1Q, clause 36).
"""

from __future__ import annotations

from orchestrator.engine.jit import compiled
from orchestrator.engine.records import Frame


@compiled
def quanta_of(frame: Frame, priority: int) -> int:
    """The quanta of a priority."""
    if priority < 2:
        word = frame.feedback
    elif priority < 4:
        word = frame.offset
    elif priority < 6:
        word = frame.delta
    else:
        word = frame.inner
    return (word >> (16 * (priority & 1))) & 0xFFFF


@compiled
def set_quanta(frame: Frame, priority: int, quanta: int) -> None:
    """Set the quanta of a priority, at most 65 535."""
    shift = 16 * (priority & 1)
    keep = 0xFFFF << (16 - shift)
    value = min(max(quanta, 0), 0xFFFF) << shift
    if priority < 2:
        frame.feedback = (frame.feedback & keep) | value
    elif priority < 4:
        frame.offset = (frame.offset & keep) | value
    elif priority < 6:
        frame.delta = (frame.delta & keep) | value
    else:
        frame.inner = (frame.inner & keep) | value
