"""CoDel (RFC 8289): drops frames with a long sojourn time at dequeue, at a rising rate.

Once every frame that left for an `interval` had waited for `target` or longer, the next one is
dropped, and further ones interval / sqrt(n) apart until one was in time. Frames are looked at as
they leave, in the order of the RFC's pseudo code: one that follows a dropped one in the same
instant. With `ecn` a frame that is ECN-capable is marked and forwarded instead.

The square root is that of an integer in 2^-20, rounded down.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from tailback.plugin import (
    CE,
    DROP,
    FORWARD,
    NOT_ECT,
    Algorithm,
    Duration,
    Observed,
    Params,
    Size,
    compiled,
    congestion_point,
    record,
    square_root,
)

MS = 10**9
ROOT_BITS = 20
RECENT = 16
"""Intervals after which what a dropping state has learnt is forgotten."""


class Codel(Params):
    """Parameters of CoDel; the defaults are the RFC's."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"rfc8289": {}}
    former: ClassVar[dict[str, str]] = {"longest": "mtu"}

    target: Duration = Field(5 * MS, ge=1_000, le=10**12, description="acceptable standing delay")
    interval: Duration = Field(
        100 * MS, ge=1_000_000, le=10**12, description="sliding window; a worst-case RTT"
    )
    mtu: Size = Field(1_500, ge=64, le=10**6, description="no drop from a queue up to this")
    ecn: bool = Field(False, description="mark ECN-capable frames instead of dropping them")

    def marks(self) -> bool:
        """With `ecn`."""
        return self.ecn

    def operating_queue(self, rate: int) -> int:
        """Octets served at `rate` in the target time."""
        return self.target * rate // (8 * 10**12)


STATE = record("sojourn", "above_at", "dropping", "next_at", "count", "before", "again")
"""`above_at`: when an interval above the target will be over, 0: the wait is below it; `again`: 1
while the frame before, of this instant, was dropped in the dropping state."""


@compiled
def control_law(params, at, count):
    """Time of the drop after the one at `at`: interval / sqrt(count) later. After a drop, `at` is
    not later than now, and `count` is above 0."""
    root = square_root(min(max(count, 1), 1 << 20) << (2 * ROOT_BITS))
    return at + (params.interval << ROOT_BITS) // root


@compiled
def ok_to_drop(state, params, queue, now):
    """True if sojourn times exceeded the target for an interval (RFC 8289 `dodequeue`)."""
    if state.sojourn < params.target or queue.bytes <= params.mtu:
        state.above_at = 0
        return False
    if state.above_at == 0:
        state.above_at = now + params.interval
        return False
    return now >= state.above_at


@compiled
def drop_or_mark(state, params, queue, frame, again):
    """Mark the frame and forward it, or drop it; the next frame is then examined at once."""
    if params.ecn != 0 and frame.mark & CE != NOT_ECT:
        frame.mark |= CE
        return FORWARD
    state.again = again
    if queue.frames == 0:  # never true: more than `mtu` octets are left
        state.above_at = 0
        state.dropping -= again
        state.again = 0
    return DROP


def on_departure(state, params, queue, frame, now, message):
    """A frame leaves, or the one before was dropped in the same instant."""
    state.sojourn = now - frame.entered
    late = ok_to_drop(state, params, queue, now)
    again = state.again
    state.again = 0
    if state.dropping != 0:
        if not late:
            state.dropping = 0
            return FORWARD
        if again == 1:
            state.next_at = control_law(params, min(state.next_at, now), state.count)
        if now < state.next_at:
            return FORWARD
        state.count += 1
        answer = drop_or_mark(state, params, queue, frame, 1)
        if answer == 0:
            state.next_at = control_law(params, state.next_at, state.count)
        return answer
    if not late:
        return FORWARD
    learnt = state.count - state.before
    recent = now - state.next_at < RECENT * params.interval
    state.dropping = 1
    state.count = learnt if learnt > 1 and recent else 1
    state.before = state.count
    state.next_at = control_law(params, now, state.count)
    return drop_or_mark(state, params, queue, frame, 0)


CODEL: Algorithm = congestion_point(
    "codel",
    "drops frames that waited too long, as RFC 8289 does",
    Codel,
    STATE,
    departure=on_departure,
    drops=("departure",),
    columns=(
        Observed("sojourn", "ps", "how long the last frame that left was in the queue"),
        Observed("dropping", "1", "1 in the dropping state, else 0"),
        Observed("count", "1", "frames dropped or marked since it entered that state"),
    ),
)
