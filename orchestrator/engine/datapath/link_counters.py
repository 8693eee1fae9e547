"""Link counters: frames, sums of times and reordering at each end of each wire.

Both ends count alike, so that the difference of two counts is the doing of what lies between them.
A frame carries no time of its departure. The sums of the times at both ends differ by the sum of
what each frame took, whatever order they came in; int64 sums may wrap around, and do not matter.
"""

from __future__ import annotations

from orchestrator.engine.datapath.rig import Rig
from orchestrator.engine.frames.roce_frame_types import extend_sequence
from orchestrator.engine.jit import inlined
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import DATA, NOT_ROCE, Frame

SENT, SENT_PS, SENT_LATE, SENT_REPEATED = range(4)
RECEIVED, RECEIVED_PS, RECEIVED_LATE, RECEIVED_REPEATED = range(4, 8)
WORDS = 8
"""Words of a wire's row. LATE: data frames behind a later one of their flow; AGAIN: data frames of
the same sequence as the one before of their flow."""


@inlined
def count_order(w: World, rig: Rig, wire: int, frame: Frame, end: int) -> None:
    """Compare a data frame with the latest of its flow at this end: 0 sends, 4 receives."""
    if frame.kind != DATA or frame.flow < 0 or frame.flow >= rig.latest.shape[2]:
        return
    way = 0 if end == SENT else 1
    latest, sequence = rig.latest[way, wire, frame.flow], frame.sequence
    if latest >= 0 and w.flows[frame.flow].roce != NOT_ROCE:  # the PSN of a received one wraps
        sequence = extend_sequence(sequence, latest)
    if sequence > latest:
        rig.latest[way, wire, frame.flow] = sequence
    elif sequence == latest:
        rig.tally[wire, end + SENT_REPEATED] += 1
    else:
        rig.tally[wire, end + SENT_LATE] += 1


@inlined
def count_sent(rig: Rig, wire: int, frame: Frame) -> None:
    """Count a frame that was put on a wire; it was to be at the other end when it was due."""
    rig.tally[wire, SENT] += 1
    rig.tally[wire, SENT_PS] += frame.due


@inlined
def count_received(rig: Rig, wire: int, now: int) -> None:
    """A frame came out of a wire, whatever it is."""
    rig.tally[wire, RECEIVED] += 1
    rig.tally[wire, RECEIVED_PS] += now
