"""Rate error of a limiter, over windows from 1 ms to 1 s."""

from __future__ import annotations

import numpy as np

from orchestrator.calibration.datapath_trial import run_trial
from orchestrator.calibration.packet_observer import ObservedFrames
from orchestrator.calibration.profile_statistics import (
    gap_ns,
    mean_error_ppm,
    order_of,
    times_of,
    window_errors,
)
from orchestrator.calibration.trial_links import VETH, ObserverPlacement, TrialLinks
from orchestrator.calibration.trial_plans import FRAME, GIGABIT, MS, US, S, delayed, limited
from orchestrator.errors import RunFailed
from orchestrator.plan import Plan
from orchestrator.profile.profile_model import Delay, Limiter
from orchestrator.targets.software.packet_backends import Backend

RATES = (10_000_000, 100_000_000, 950_000_000)
SETTLED_NS = 20_000_000
"""Left out at the beginning: caches fill, the bucket is empty."""


def measure_limiter(
    rate: int, seconds: float, backend: Backend, ground: TrialLinks = VETH, plan: Plan | None = None
) -> Limiter:
    """A limiter set to a rate; `plan` stands in for the plan that is made for it."""
    plan = plan or limited(rate, FRAME, round(seconds * S))
    frames = round(1.2 * rate * seconds / 8 / FRAME) + 1000
    outcome = run_trial(
        plan,
        [["nic"]],
        watches=[ObserverPlacement("sink", frames)],
        backends={"nic": backend},
        ground=ground,
    )
    times = outcome.seen["sink"].data.times_ns - outcome.start_ns
    return limiter_of(rate, FRAME, times[times > SETTLED_NS])


def limiter_of(rate: int, frame: int, times_ns: np.ndarray) -> Limiter:
    """From the times at which its frames were seen."""
    if len(times_ns) < 3:
        raise RunFailed(f"calibrate: {len(times_ns)} frames came from a limiter at {rate} bit/s")
    gap = gap_ns(frame, rate)
    return Limiter(
        rate_bps=rate,
        frame_octets=frame,
        frames=len(times_ns),
        mean_error_ppm=round(mean_error_ppm(times_ns, gap), 3),
        ideal_gap_ns=round(gap),
        gap=times_of(np.diff(times_ns)),
        windows=window_errors(times_ns, gap),
    )


DELAYS = (100 * US, MS, 10 * MS)
LOAD = 0.5


def measure_delay(
    delay: int,
    seconds: float,
    backend: Backend,
    load: float = LOAD,
    ground: TrialLinks = VETH,
    plan: Plan | None = None,
) -> Delay:
    """A link of 1 Gb/s with a delay (ps) at a load; `plan` stands in for the one made for it."""
    rate = round(load * GIGABIT)
    plan = plan or delayed(delay, rate, GIGABIT, FRAME, round(seconds * S))
    frames = round(1.2 * rate * seconds / 8 / FRAME) + 1000
    outcome = run_trial(
        plan,
        [["nic"]],
        watches=[ObserverPlacement("sink", frames)],
        backends={"nic": backend},
        ground=ground,
    )
    return delay_of(delay, load, outcome.seen["sink"].data, outcome.start_ns)


def delay_of(
    delay: int, load: float, data: ObservedFrames, start_ns: int, rate: int = GIGABIT
) -> Delay:
    """From the frames that were seen behind the line, each with the time at which it was made."""
    if not len(data.times_ns):
        raise RunFailed(f"calibrate: no frame came out of a delay line of {delay // US} us")
    lost, late = order_of(data.sequence)
    wire = -(-data.lengths * 8 * S // rate)
    error = data.times_ns - start_ns - (data.created_ps + wire + delay) // 1000
    settled = data.created_ps > SETTLED_NS * 1000
    return Delay(
        delay_ns=delay // 1000,
        load=load,
        rate_bps=rate,
        frame_octets=int(np.median(data.lengths)),
        error=times_of(error[settled] if settled.any() else error),
        lost_frames=lost,
        reordered_frames=late,
    )
