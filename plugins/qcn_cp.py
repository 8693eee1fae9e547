"""QCN congestion point (IEEE 802.1Qau; QCN 2.2, L146-L208).

F = (q - Q_eq) + w (q - q_old) is computed from the queue without the arriving frame whenever the
sample counter falls below 0; above 0 it is clipped to Q_eq (2 w + 1), quantised to 6 bits and sent.

Departures from the pseudo code (docs/settled/algorithms.md#qcn-congestion-point):
- q_old takes q after F and the deltas are computed (L177 before L189: the delta is always 0);
- the offset sent is q - Q_eq, positive when congested (L188 has it the other way round);
- a frame that finds no room neither counts towards a sample nor is sampled: the sample base is
  defined in octets that are enqueued (IEEE8021-CN-MIB, CpMinSampleBase). The pseudo code, which
  knows no full queue, counts every arriving frame (L153, L171): `counts = "arriving"`;
- with `sampling` by occupancy (IBM input-buffered QCN, section III.B) arrivals are counted as
  ever, and a source is notified whose frames lie in the buffer: `occupancy-random` draws an
  occupied unit of 256 octets, `occupancy-max` takes the source that occupies the most;
- with `keep_alive` (IBM input-buffered QCN, section IV) the buffer is also sampled once per
  `sample_base` of link time while it has paused its neighbour, when nothing arrives that could be
  counted;
- with `tell = "destination"` (three points) the sampled frame carries the feedback on, in the six
  bits above its ECN codepoint, and a notification point answers it (`notify`, preset `qcn`);
- F is computed at a sample only; between samples the pseudo code computes it and uses it nowhere.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from tailback.plugin import (
    AS_VERILOG_TOO,
    CE,
    FORWARD,
    NEVER,
    NOTHING,
    NOTIFY_ARRIVING,
    NOTIFY_HEAD,
    NOTIFY_LARGEST,
    NOTIFY_RANDOM_UNIT,
    Algorithm,
    Params,
    Size,
    compiled,
    congestion_point,
    jittered,
    lfsr_next,
    record,
    wire_time,
)

SAMPLE_BASE = 150_000
"""The first entry of that table; `sample_base` scales the whole table."""
SAMPLE_INTERVALS = (150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500)
"""Octets to the next sample by the quantised feedback >> 3 (NetFPGA-QCN, table 1)."""

BY_DEPARTURE = 2
NOTIFIED = (NOTIFY_ARRIVING, NOTIFY_HEAD, NOTIFY_ARRIVING, NOTIFY_RANDOM_UNIT, NOTIFY_LARGEST)
"""By `sampling`: whose source is notified."""
ENQUEUED = 0
BY_DESTINATION = 1


class QcnCongestionPoint(Params):
    """Parameters of the congestion point, named after IEEE8021-CN-MIB."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "ieee": {},
        "netfpga": {"set_point": "33KB"},
        "pseudocode": {"counts": "arriving"},
        "ibm-10g": {"set_point": "60KB"},
        "ibm-100g": {"set_point": "60KB"},
    }

    set_point: Size = Field(26_000, ge=64, le=10**9, description="queue length aimed at, Q_eq")
    weight: int = Field(2, ge=0, le=64, description="weight of the queue's growth, w")
    sample_base: Size = Field(
        SAMPLE_BASE, ge=64, le=10**9, description="octets between samples without congestion"
    )
    sampling: Literal["arrival", "head", "departure", "occupancy-random", "occupancy-max"] = Field(
        "arrival", description="which frame is sampled and whose source is notified"
    )
    searches: int = Field(
        0, ge=0, le=10**6, description="draws of occupancy-random before a scan; 0: no bound"
    )
    keep_alive: bool = Field(False, description="sample by link time while the neighbour is paused")
    counts: Literal["enqueued", "arriving"] = Field(
        "enqueued", description="whether a frame that finds no room counts towards a sample"
    )
    jitter: bool = Field(True, description="spread the sample intervals by +-15 %")
    tell: Literal["source", "destination"] = Field(
        "source", description="send a message back, or mark the frame for its destination to"
    )

    @model_validator(mode="after")
    def _check_marking(self) -> QcnCongestionPoint:
        if self.tell == "destination" and self.sampling != "arrival":
            raise ValueError('tell = "destination" needs sampling = "arrival"')
        return self

    @model_validator(mode="after")
    def _check_keep_alive(self) -> QcnCongestionPoint:
        if self.keep_alive and not self.sampling.startswith("occupancy"):
            raise ValueError("keep_alive needs sampling by occupancy: nothing arrives meanwhile")
        return self

    def keeps_units(self) -> bool:
        """Occupancy sampling needs to know which frame lies in which unit."""
        return self.sampling.startswith("occupancy")

    def marks(self) -> bool:
        """With three points the frame carries the feedback on."""
        return self.tell == "destination"

    def feedback_in_dscp(self) -> bool:
        """With three points."""
        return self.tell == "destination"

    def sends_cnm(self) -> bool:
        """With two points."""
        return self.tell != "destination"

    def needless(self) -> frozenset[str]:
        """Frames that leave matter where they are sampled, and to the clock of `keep_alive`."""
        looks = self.sampling == "departure" or self.keep_alive
        return frozenset() if looks else frozenset({"departure"})

    def needless_unless_pausing(self) -> frozenset[str]:
        """The clock of `keep_alive` begins in a buffer that pauses its neighbour."""
        return frozenset() if self.sampling == "departure" else frozenset({"departure"})

    def operating_queue(self, rate: int) -> int:
        """The set point."""
        return self.set_point


STATE = record("countdown", "started", "old", "lfsr")


@compiled
def _feedback(state, params, queue, message):
    """Sample the queue; returns the quantised feedback, which `message` holds then."""
    offset = queue.bytes - params.set_point
    delta = queue.bytes - state.old
    state.old = queue.bytes
    limit = params.set_point * (2 * params.weight + 1)
    feedback = min(max(offset + params.weight * delta, 0), limit) * 63 // limit
    message.feedback = feedback
    message.offset = offset
    message.delta = delta
    message.mark = params.searches
    return feedback


@compiled
def _count(state, params, queue, frame, message):
    """Count a frame; at a sample compute the feedback. Returns the notified source, or 0."""
    if state.started == 0:
        state.started = 1
        state.countdown = params.sample_base
    state.countdown -= frame.length
    if state.countdown >= 0:
        return FORWARD
    feedback = _feedback(state, params, queue, message)
    interval = SAMPLE_INTERVALS[feedback >> 3] * params.sample_base // SAMPLE_BASE
    if params.jitter != 0:
        state.lfsr = lfsr_next(state.lfsr)
        interval = jittered(interval, state.lfsr)
    state.countdown = interval
    return NOTIFIED[params.sampling] if feedback > 0 else FORWARD


@compiled
def _keep_alive(params, queue, now):
    """Set the clock that samples while the neighbour is paused."""
    if params.keep_alive != 0 and queue.pausing == 1 and queue.congestion_point_timer == NEVER:
        queue.congestion_point_timer = now + wire_time(params.sample_base, queue.line_rate)


@compiled
def count_arrival(state, params, queue, frame, now, message):
    """A frame arrives; `queue.bytes` excludes it yet. Returns the notified source, or 0."""
    _keep_alive(params, queue, now)
    if params.sampling == BY_DEPARTURE:
        return FORWARD
    if params.counts == ENQUEUED and queue.bytes + frame.length > queue.capacity:
        return FORWARD
    notified = _count(state, params, queue, frame, message)
    if notified != 0 and params.tell == BY_DESTINATION:
        frame.mark = CE | max(frame.mark & ~CE, message.feedback << 2)
        return FORWARD
    return notified


def on_arrival(state, params, queue, frame, now, message):
    """A frame arrives."""
    return count_arrival(state, params, queue, frame, now, message)


def on_departure(state, params, queue, frame, now, message):
    """A frame leaves; `queue.bytes` does not hold it any more."""
    _keep_alive(params, queue, now)
    if params.sampling != BY_DEPARTURE:
        return FORWARD
    return _count(state, params, queue, frame, message)


def on_keep_alive(state, params, queue, frame, now, message):
    """The neighbour was paused for another `sample_base` of link time."""
    # never true (`params.keep_alive == 0`): with it alone there is this timer
    if params.keep_alive == 0 or queue.pausing == 0:
        return NOTHING
    _keep_alive(params, queue, now)
    return NOTIFIED[params.sampling] if _feedback(state, params, queue, message) > 0 else NOTHING


QCN_CP: Algorithm = congestion_point(
    "qcn-cp",
    "QCN congestion point of IEEE 802.1Qau",
    QcnCongestionPoint,
    STATE,
    forms=AS_VERILOG_TOO,
    arrival=on_arrival,
    departure=on_departure,
    timer=on_keep_alive,
)
