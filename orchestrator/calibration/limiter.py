"""Rate error of a limiter, over windows from 1 ms to 1 s."""

from __future__ import annotations

import numpy as np

from orchestrator.calibration.arithmetic import gap_ns, mean_error_ppm, times_of, window_errors
from orchestrator.calibration.grounds import VETH, Ground, Watch
from orchestrator.calibration.plans import FRAME, S, limited
from orchestrator.calibration.trial import run_trial
from orchestrator.errors import RunFailed
from orchestrator.plan import Plan
from orchestrator.profile.model import Limiter
from orchestrator.targets.software.backends import Backend

RATES = (10_000_000, 100_000_000, 950_000_000)
SETTLED_NS = 20_000_000
"""Left out at the beginning: caches fill, the bucket is empty."""


def measure_limiter(
    rate: int, seconds: float, backend: Backend, ground: Ground = VETH, plan: Plan | None = None
) -> Limiter:
    """A limiter set to a rate; `plan` stands in for the plan that is made for it."""
    plan = plan or limited(rate, FRAME, round(seconds * S))
    frames = round(1.2 * rate * seconds / 8 / FRAME) + 1000
    outcome = run_trial(
        plan, [["nic"]], watches=[Watch("sink", frames)], backends={"nic": backend}, ground=ground
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
