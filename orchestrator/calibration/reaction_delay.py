"""Reaction delays: from a frame to its notification or PAUSE, and from a PAUSE to the stop.

The kernel sees both frames of a pair in the NIC's namespace, the one that leaves and the one that
comes back; what the plan says lies between them is taken off.
"""

from __future__ import annotations

import numpy as np

from orchestrator.calibration.datapath_trial import Outcome, run_trial
from orchestrator.calibration.packet_observer import ObservedFrames
from orchestrator.calibration.profile_statistics import last_before, matched, some_times_of, wire_ps
from orchestrator.calibration.shaping_accuracy import SETTLED_NS
from orchestrator.calibration.trial_links import VETH, ObserverPlacement, TrialLinks
from orchestrator.calibration.trial_plans import FRAME, GIGABIT, MS, S, answered
from orchestrator.engine.frames import frame_layout
from orchestrator.profile.profile_model import Times, Turnaround
from orchestrator.targets.software.packet_backends import Backend

RATE = 100_000_000
"""Of the data: a frame each 120 us, so that there is no doubt which one was answered."""
EVERY = MS
QUANTA = 1000
QUANTUM_NS = 512 / GIGABIT * 1e9
QUOTED = frame_layout.CNM_MSDU - frame_layout.TYPE
"""Added to an octet's place in a data frame: its place in the notification that quotes it."""


def measure_turnaround(seconds: float, backend: Backend, ground: TrialLinks = VETH) -> Turnaround:
    """Of CNM and PAUSE, so many seconds each."""
    notifications = _trial("cnm", seconds, backend, ground)
    paused = _trial("pause", seconds, backend, ground)
    return Turnaround(
        cnm=cnm_turnaround(notifications.seen["nic"]),
        pause_sent=pause_turnaround(paused.seen["nic"]),
        pause_obeyed=pause_reaction(paused.seen["nic"]),
    )


def _trial(kind: str, seconds: float, backend: Backend, ground: TrialLinks) -> Outcome:
    """The NIC's own frames go through a packet socket, whatever carries those of the switch: the
    kernel shows them to an observer."""
    frames = round(1.5 * seconds * (RATE / 8 / FRAME + 2 * S / EVERY)) + 1000
    return run_trial(
        answered(kind, EVERY, RATE, round(seconds * S), QUANTA),
        [["switch"], ["nic"]],
        watches=[ObserverPlacement("nic", frames, outgoing=True)],
        backends={"switch": backend},
        ground=ground,
    )


def cnm_turnaround(seen: ObservedFrames) -> Times | None:
    """From a data frame that leaves to the notification that quotes it, less the latter's time on
    the wire."""
    data = seen.only(seen.outgoing).data
    notifications = seen.only(~seen.outgoing).notifications
    quoted = notifications.word(frame_layout.SEQUENCE + QUOTED, 8)
    mine, theirs = matched(data.sequence, quoted)
    wire = (
        np.array([wire_ps(int(n), GIGABIT) for n in notifications.lengths[theirs]], np.int64)
        // 1000
    )
    took = notifications.times_ns[theirs] - data.times_ns[mine] - wire
    return some_times_of(_settled(took, notifications.times_ns[theirs], seen))


def pause_turnaround(seen: ObservedFrames) -> Times | None:
    """From the last data frame that left to the PAUSE that came, less its time on the wire."""
    data, pauses = seen.only(seen.outgoing).data, seen.only(~seen.outgoing).pauses
    before = last_before(data.times_ns, pauses.times_ns)
    known = before >= 0
    wire = wire_ps(60, GIGABIT) // 1000
    took = pauses.times_ns[known] - data.times_ns[before[known]] - wire
    return some_times_of(_settled(took, pauses.times_ns[known], seen))


def pause_reaction(seen: ObservedFrames) -> Times | None:
    """From a PAUSE that came to the first data frame behind it, less its quanta and the frame's own
    time on the wire: above 0, the NIC paused for longer than the PAUSE asked for."""
    data, pauses = seen.only(seen.outgoing).data, seen.only(~seen.outgoing).pauses
    next_one = last_before(data.times_ns, pauses.times_ns) + 1
    known = next_one < len(data.times_ns)
    told_ns = round(QUANTA * QUANTUM_NS) + wire_ps(FRAME, GIGABIT) // 1000
    took = data.times_ns[next_one[known]] - pauses.times_ns[known] - told_ns
    return some_times_of(_settled(took, pauses.times_ns[known], seen))


def _settled(took: np.ndarray, at: np.ndarray, seen: ObservedFrames) -> np.ndarray:
    """Without the first instants of a trial."""
    begun = int(seen.times_ns[0]) if len(seen.times_ns) else 0
    kept = took[at > begun + SETTLED_NS]
    return kept if len(kept) else took
