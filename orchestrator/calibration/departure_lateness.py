"""Lateness of departures and arrivals, at low and at high load of a core.

Three clocks look at the same frames: the source writes into each when it was made, the kernel
stamps it where it comes into the switch's namespace, the data path there has a time of its own.
"""

from __future__ import annotations

import numpy as np

from orchestrator.calibration.core_stalls import FLOOR_NS
from orchestrator.calibration.datapath_trial import Outcome, run_trial
from orchestrator.calibration.forwarding_rate import OTHERS, SWITCH
from orchestrator.calibration.packet_observer import ObservedFrames
from orchestrator.calibration.profile_statistics import (
    matched,
    some_times_of,
    times_of,
    times_of_histogram,
)
from orchestrator.calibration.trial_links import VETH, ObserverPlacement, TrialLinks
from orchestrator.calibration.trial_plans import FAST, FRAME, S, through_switch
from orchestrator.errors import RunFailed
from orchestrator.profile.profile_model import Departures, Times
from orchestrator.profile.quantiles import quantiles
from orchestrator.recording import PortCapture
from orchestrator.targets.software.packet_backends import PACKETS, Backend

LOADS = (0.1, 0.4, 0.7)
MOST_FRAMES = 120_000
"""Frames that are examined one by one."""


def measure_departures(
    load: float, forwards: float, seconds: float, backend: Backend, ground: TrialLinks = VETH
) -> tuple[Departures, Times | None, int]:
    """At a share of what a core forwards (frames/s): departures, the error of the data path's times
    of arrival against the kernel's, and how far these clocks may be apart (ns)."""
    rate = max(round(load * forwards * FRAME * 8), 10**6)
    frames = min(round(load * forwards * seconds) + 1000, MOST_FRAMES)
    watches = [ObserverPlacement("switch", frames)] if backend is PACKETS else []
    outcome = run_trial(
        through_switch(min(rate, FAST), FRAME, round(seconds * S), captured=frames),
        [SWITCH, OTHERS],
        watches=watches,
        backends={"switch": backend, "nic": backend},
        ground=ground,
    )
    (capture,) = outcome.captures
    extra = link_extra_ns(capture)
    if not len(extra):
        raise RunFailed("calibrate: no frame came through in the trial of departures")
    calm = extra[extra <= FLOOR_NS]
    found = Departures(
        load=load,
        frame_octets=FRAME,
        frames_per_s=rate / FRAME / 8,
        lateness=times_of_histogram(outcome.lateness),
        link=times_of(extra),
        link_quantiles_ns=quantiles(calm if len(calm) else extra),
        lost_frames=outcome.lost,
    )
    return found, timestamp_error(outcome, capture), outcome.apart_ns


def captured_frames(capture: PortCapture) -> ObservedFrames:
    """Frames that arrived at a captured port; times are the run's, in ns."""
    came = ~capture.outgoing
    return ObservedFrames(
        times_ns=capture.times_ps[came] // 1000,
        lengths=capture.lengths[came],
        outgoing=np.zeros(int(came.sum()), bool),
        octets=capture.octets[came],
        dropped=capture.dropped,
    ).data


def link_extra_ns(capture: PortCapture, rate: int = FAST, delay_ps: int = 0) -> np.ndarray:
    """By how much frames came later than when they were made and the link's time behind that."""
    data = captured_frames(capture)
    wire = -(-data.lengths * 8 * S // rate)
    return data.times_ns - (data.created_ps + wire + delay_ps) // 1000


def timestamp_error(outcome: Outcome, capture: PortCapture) -> Times | None:
    """The data path's times of arrival less the kernel's, of the same frames."""
    if "switch" not in outcome.seen:
        return None
    ours, theirs = captured_frames(capture), outcome.seen["switch"].data
    mine, others = matched(ours.sequence, theirs.sequence)
    kernel = theirs.times_ns[others] - outcome.start_ns
    return some_times_of(ours.times_ns[mine] - kernel)
