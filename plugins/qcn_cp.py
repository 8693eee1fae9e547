"""QCN congestion point (IEEE 802.1Qau; paper 001, L146-L208).

F = (q - Q_eq) + w (q - q_old) is computed from the queue without the arriving frame whenever the
sample counter falls below 0; above 0 it is clipped to Q_eq (2 w + 1), quantised to 6 bits and sent.

Departures from the pseudo code, as the specification decides:
- q_old takes q after F and the deltas are computed (L177 before L189: the delta is always 0);
- the offset sent is q - Q_eq, positive when congested (L188 has it the other way round);
- a frame that finds no room neither counts towards a sample nor is sampled: the sample base is
  defined in octets that are enqueued (IEEE8021-CN-MIB, CpMinSampleBase). The pseudo code, which
  knows no full queue, counts every arriving frame (L153, L171): `counts = "arriving"`;
- F is computed at a sample only; between samples the pseudo code computes it and uses it nowhere.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from orchestrator.algorithm import Algorithm, congestion_point
from orchestrator.jit import compiled
from orchestrator.lfsr import jittered, lfsr_next
from orchestrator.node.records import record
from orchestrator.params import Params, Size

SAMPLE_BASE = 150_000
"""The first entry of Table 1; `sample_base` scales the whole table."""
SAMPLE_INTERVALS = (150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500)
"""Octets to the next sample by the quantised feedback >> 3 (paper 000, Table 1)."""

ARRIVAL, HEAD, DEPARTURE = 0, 1, 2
ENQUEUED = 0
TELL_ARRIVING, TELL_HEAD = 1, 2


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
    sampling: Literal["arrival", "head", "departure"] = Field(
        "arrival", description="which frame is sampled and whose source is told"
    )
    counts: Literal["enqueued", "arriving"] = Field(
        "enqueued", description="whether a frame that finds no room counts towards a sample"
    )
    jitter: bool = Field(True, description="spread the sample intervals by +-15 %")


STATE = record("countdown", "started", "old", "lfsr")


@compiled
def _sample(state, params, queue, frame, message):  # type: ignore[no-untyped-def]
    """Count a frame; at a sample compute the feedback. Returns 1 when a message is due."""
    if state.started == 0:
        state.started = 1
        state.countdown = params.sample_base
    state.countdown -= frame.length
    if state.countdown >= 0:
        return 0
    offset = queue.bytes - params.set_point
    delta = queue.bytes - state.old
    state.old = queue.bytes
    limit = params.set_point * (2 * params.weight + 1)
    feedback = min(max(offset + params.weight * delta, 0), limit) * 63 // limit
    interval = SAMPLE_INTERVALS[feedback >> 3] * params.sample_base // SAMPLE_BASE
    if params.jitter != 0:
        state.lfsr = lfsr_next(state.lfsr)
        interval = jittered(interval, state.lfsr)
    state.countdown = interval
    message.feedback = feedback
    message.offset = offset
    message.delta = delta
    return 1 if feedback > 0 else 0


def on_arrival(state, params, queue, frame, now, message):  # type: ignore[no-untyped-def]
    """A frame arrives; `queue.bytes` does not hold it yet."""
    if params.sampling == DEPARTURE:
        return 0
    if params.counts == ENQUEUED and queue.bytes + frame.length > queue.capacity:
        return 0
    if _sample(state, params, queue, frame, message) == 0:
        return 0
    return TELL_HEAD if params.sampling == HEAD else TELL_ARRIVING


def on_departure(state, params, queue, frame, now, message):  # type: ignore[no-untyped-def]
    """A frame leaves; `queue.bytes` does not hold it any more."""
    if params.sampling != DEPARTURE:
        return 0
    return _sample(state, params, queue, frame, message)


QCN_CP: Algorithm = congestion_point(
    "qcn-cp",
    "QCN congestion point of IEEE 802.1Qau",
    QcnCongestionPoint,
    STATE,
    arrival=on_arrival,
    departure=on_departure,
)
