"""Error of a delay line under load, with its losses and reordering."""

from __future__ import annotations

import numpy as np

from orchestrator.calibration.arithmetic import order_of, times_of
from orchestrator.calibration.grounds import VETH, Ground, Watch
from orchestrator.calibration.limiter import SETTLED_NS
from orchestrator.calibration.observer import Seen
from orchestrator.calibration.plans import FRAME, GIGABIT, MS, US, S, delayed
from orchestrator.calibration.trial import run_trial
from orchestrator.errors import RunFailed
from orchestrator.plan import Plan
from orchestrator.profile.model import Delay
from orchestrator.targets.software.backends import Backend

DELAYS = (100 * US, MS, 10 * MS)
LOAD = 0.5


def measure_delay(
    delay: int,
    seconds: float,
    backend: Backend,
    load: float = LOAD,
    ground: Ground = VETH,
    plan: Plan | None = None,
) -> Delay:
    """A link of 1 Gb/s with a delay (ps) at a load; `plan` stands in for the one made for it."""
    rate = round(load * GIGABIT)
    plan = plan or delayed(delay, rate, GIGABIT, FRAME, round(seconds * S))
    frames = round(1.2 * rate * seconds / 8 / FRAME) + 1000
    outcome = run_trial(
        plan, [["nic"]], watches=[Watch("sink", frames)], backends={"nic": backend}, ground=ground
    )
    return delay_of(delay, load, outcome.seen["sink"].data, outcome.start_ns)


def delay_of(delay: int, load: float, data: Seen, start_ns: int, rate: int = GIGABIT) -> Delay:
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
