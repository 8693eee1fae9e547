"""Forwarding rate of one core: an overloaded switch on it, source and sink on the other.

The clock of a run goes no further than its data path, so that a plan which asks for too much is
slowed down: what leaves the switch in a second of the machine is what a core holds. Source and
sink together have as much to do as the switch: each takes a frame in and sends one.
"""

from __future__ import annotations

import itertools
import statistics

from orchestrator.calibration.datapath_trial import run_trial
from orchestrator.calibration.trial_links import VETH, TrialLinks
from orchestrator.calibration.trial_plans import FAST, US, WITHOUT_END, through_switch
from orchestrator.profile.profile_model import Forwarding
from orchestrator.targets.software.packet_backends import Backend

SIZES = (70, 512, 1500)
"""70 octets are the shortest data frame there is."""
LOOKS = 4
WARM_S = 0.1
HORIZON_PS = 50 * US
SWITCH, OTHERS = ("switch",), ("nic", "sink")


def measure_forwarding(
    frame: int, seconds: float, backend: Backend, ground: TrialLinks = VETH
) -> Forwarding:
    """Frames of one size that the switch's core forwards, in a few spans of time."""
    looks = [WARM_S + seconds * look / (LOOKS - 1) for look in range(LOOKS)]
    outcome = run_trial(
        through_switch(FAST, frame, WITHOUT_END),
        [SWITCH, OTHERS],
        backends={"switch": backend, "nic": backend},
        horizon_ps=HORIZON_PS,
        counted=("switch.sink", looks),
        ground=ground,
    )
    return forwarding_of(frame, outcome.counts)


def forwarding_of(frame: int, counts: list[tuple[int, int]]) -> Forwarding:
    """From how many frames had left at which times (ns)."""
    rates = [
        max((after - before) / ((late - early) / 1e9), 1e-9)
        for (early, before), (late, after) in itertools.pairwise(counts)
    ]
    return Forwarding(
        frame_octets=frame,
        frames_per_s=statistics.median(rates),
        least_frames_per_s=min(rates),
        most_frames_per_s=max(rates),
        trials=len(rates),
    )
