"""Jobs of a worker: single measurements, with faults planted in them."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from orchestrator.calibration import shaping_accuracy as delays
from orchestrator.calibration import shaping_accuracy as limiters
from orchestrator.calibration.core_stalls import measure_stalls
from orchestrator.calibration.datapath_trial import rehearse
from orchestrator.calibration.departure_lateness import measure_departures
from orchestrator.calibration.forwarding_rate import measure_forwarding
from orchestrator.calibration.profile_statistics import as_plain_data
from orchestrator.calibration.reaction_delay import measure_turnaround
from orchestrator.calibration.shaping_accuracy import measure_delay, measure_limiter
from orchestrator.calibration.trial_plans import FRAME, GIGABIT, S, delayed, limited
from orchestrator.targets.software.packet_backends import PACKETS

SECONDS = 0.4
LIMITER_S = 1.5
"""Some fifteen of the windows of 100 ms that are judged."""
MOST_STALLED = 0.1
"""Share of a trial in which the data path may be without its core and a median of it still be that
of an undisturbed one: a window of the trial is disturbed by a stall at either of its ends, and the
median stands while fewer than half of the windows are."""
TRIES = 5


def undisturbed(module: ModuleType, measure: Callable[[], Any]) -> dict[str, Any]:
    """A measurement by `module.run_trial`, repeated until the machine left the data path its core.

    The result of the last trial, with `stalled_share` of the trial and `trials`, how many there
    were.
    """
    run_trial = module.run_trial
    shares: list[float] = []

    def keep_share(*arguments: Any, **options: Any) -> Any:
        outcome = run_trial(*arguments, **options)
        shares.append(outcome.stalled_share)
        return outcome

    module.run_trial = keep_share  # type: ignore[attr-defined]
    while True:
        found = as_plain_data(measure())
        if shares[-1] <= MOST_STALLED or len(shares) == TRIES:
            return found | {"stalled_share": shares[-1], "trials": len(shares)}


def limiter(control: Any, rate: int, off_percent: float) -> dict[str, Any]:
    """A limiter that is told to be at a rate and set to another one."""
    plan = limited(round(rate * (1 + off_percent / 100)), FRAME, round(LIMITER_S * S))
    rehearse(plan)
    return undisturbed(limiters, lambda: measure_limiter(rate, LIMITER_S, PACKETS, plan=plan))


def delay(control: Any, delay_ps: int, added_ps: int, load: float) -> dict[str, Any]:
    """A delay line that is told to have a delay and has a longer one."""
    rate = round(load * GIGABIT)
    plan = delayed(delay_ps + added_ps, rate, GIGABIT, FRAME, round(SECONDS * S))
    rehearse(plan)
    return undisturbed(delays, lambda: measure_delay(delay_ps, SECONDS, PACKETS, load, plan=plan))


def stalls(control: Any, seconds: float) -> dict[str, Any]:
    """The control threads; reports this process once all of them spin."""
    measure_stalls(0.01)  # compiled, or loaded
    found, _ = measure_stalls(seconds, lambda: control.report(os.getpid()))
    return as_plain_data(found)


def departures(control: Any) -> dict[str, Any]:
    """A core's forwarding and departures at a tenth of it, and what else comes of that."""
    forwarding = measure_forwarding(FRAME, 0.2, PACKETS)
    found, stamps, apart = measure_departures(0.1, forwarding.frames_per_s, SECONDS, PACKETS)
    return {
        "forwarding": as_plain_data(forwarding),
        "departures": as_plain_data(found),
        "stamps": None if stamps is None else as_plain_data(stamps),
        "apart_ns": apart,
    }


def turnaround(control: Any) -> dict[str, Any]:
    """Of CNM and PAUSE."""
    return as_plain_data(measure_turnaround(SECONDS, PACKETS))
