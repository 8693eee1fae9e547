"""PIE (RFC 8033): drops arriving frames with a probability that a PI controller sets.

Every `update_interval` the chance grows by alpha times what the delay in the queue is above
`target`, and by
beta times what that has grown by; by less while it is small. A burst after a quiet time is let
through, and so is what meets a short queue, or a delay below half the target. Chances add up from
frame to frame, so that drops do not come in clusters. With `ecn` an ECN-capable frame is marked
instead while the chance is below a tenth. The delay is that of the last frame that left, by its
time stamp, as the RFC allows; 0 while nothing waits. A chance is an integer in 10^-12: a gain in Hz
times a delay in ps.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar

from pydantic import Field

from tailback.plugin import (
    CE,
    DROP,
    FORWARD,
    NEVER,
    NOT_ECT,
    NOTHING,
    Algorithm,
    Duration,
    Observed,
    Params,
    Ratio,
    RatioLimit,
    Size,
    compiled,
    congestion_point,
    lfsr_next,
    record,
)

MS = 10**9
CERTAIN = 10**12
"""A chance of 1."""
SCALES = ((10**6, 2048), (10**7, 512), (10**8, 128), (10**9, 32), (10**10, 8), (10**11, 2))
"""Below a chance, what its change is divided by."""
LEAST, MOST = CERTAIN * 85 // 100, CERTAIN * 85 // 10
"""Chances that add up to less do not drop, those that do to more drop for certain."""
LONGEST = 10**14
"""A delay beyond counts as this, 100 s: times a gain it fits an int64."""


class Pie(Params):
    """Parameters of PIE; the defaults are the RFC's."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"rfc8033": {}}
    former: ClassVar[dict[str, str]] = {
        "update": "update_interval",
        "burst": "max_burst",
        "short": "min_queue",
    }

    target: Duration = Field(15 * MS, ge=1_000_000, le=10**12, description="delay aimed at")
    update_interval: Duration = Field(
        15 * MS, ge=1_000_000, le=10**12, description="between updates"
    )
    alpha: Annotated[Ratio, RatioLimit(10_000)] = Field(
        Fraction(1, 8), gt=0, le=100, description="gain of the delay, Hz"
    )
    beta: Annotated[Ratio, RatioLimit(10_000)] = Field(
        Fraction(5, 4), gt=0, le=100, description="gain of its growth, Hz"
    )
    max_burst: Duration = Field(150 * MS, ge=0, le=10**13, description="without drops, MAX_BURST")
    min_queue: Size = Field(
        3_000, ge=0, le=10**9, description="no drop up to this queue: two frames"
    )
    ecn: bool = Field(False, description="mark ECN-capable frames instead of dropping them")

    def marks(self) -> bool:
        """With `ecn`."""
        return self.ecn

    def operating_queue(self, rate: int) -> int:
        """Octets served at `rate` in the target time."""
        return self.target * rate // (8 * CERTAIN)


STATE = record("drop_probability", "delay", "old", "burst_left", "summed", "started", "lfsr")


@compiled
def probability_change(state, params, delay):
    """Change of the drop probability in one update (RFC 8033, section 4.2)."""
    grown = (delay - params.target) * params.alpha_num // params.alpha_den
    grown += (delay - state.old) * params.beta_num // params.beta_den
    for below, divisor in SCALES:
        if state.drop_probability < below:
            return grown // divisor
    return min(grown, CERTAIN // 50)


def on_update(state, params, queue, frame, now, message):
    """Update the drop probability."""
    queue.congestion_point_timer = now + params.update_interval
    delay = state.delay if queue.frames > 0 else 0
    chance = state.drop_probability + probability_change(state, params, delay)
    if delay == 0 and state.old == 0:
        chance = chance * 98 // 100
    state.drop_probability = min(max(chance, 0), CERTAIN)
    calm = 2 * delay < params.target and 2 * state.old < params.target
    state.burst_left = max(state.burst_left - params.update_interval, 0)
    if state.drop_probability == 0 and calm:
        state.burst_left = params.max_burst
    state.old = delay
    return NOTHING


@compiled
def is_selected(state, params, queue):
    """True if an arriving frame is to be dropped or marked."""
    chance = state.drop_probability
    if chance == 0:
        state.summed = 0
    if state.burst_left > 0 or queue.bytes <= params.min_queue:
        return False
    if 2 * state.old < params.target and chance < CERTAIN // 5:
        return False
    state.summed += chance
    if state.summed < LEAST:
        return False
    state.lfsr = lfsr_next(state.lfsr)
    if state.summed < MOST and state.lfsr >= (chance // 1000 << 32) // 10**9:
        return False
    state.summed = 0
    return True


def on_arrival(state, params, queue, frame, now, message):
    """A frame arrives; `queue.bytes` does not hold it yet."""
    if state.started == 0:
        state.started = 1
        state.burst_left = params.max_burst
    if queue.congestion_point_timer == NEVER:
        queue.congestion_point_timer = now + params.update_interval
    if not is_selected(state, params, queue):
        return FORWARD
    if params.ecn != 0 and frame.mark & CE != NOT_ECT and state.drop_probability < CERTAIN // 10:
        frame.mark |= CE
        return FORWARD
    return DROP


def on_departure(state, params, queue, frame, now, message):
    """A frame leaves."""
    state.delay = min(now - frame.entered, LONGEST)
    return FORWARD


PIE: Algorithm = congestion_point(
    "pie",
    "drops by a chance that a PI controller of the delay sets, as RFC 8033 does",
    Pie,
    STATE,
    arrival=on_arrival,
    departure=on_departure,
    timer=on_update,
    drops=("arrival",),
    columns=(
        Observed("delay", "ps", "how long the last frame that left was in the queue"),
        Observed("drop_probability", "10^-12", "chance that an arriving frame is dropped"),
    ),
)
