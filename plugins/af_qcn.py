"""AF-QCN congestion point: QCN with approximate fairness from the rate of each source (AF-QCN).

IBM input-buffered QCN, section VII names it as the standard comparison: per-flow rate
measurements, weighted fairness. Octets that arrive are counted by source over intervals; a
source's share is

    fair_i = W_i / (sum of the weights of all that sent) * (octets of all)

and when QCN would notify source i with feedback F_q, it is sent

    F = (1 - alpha) F_q + alpha floor(63 max(0, 1 - fair_i / octets_i))

so that one who sends no more than its share is cut less, one who sends far more is cut more.
Whether a message is sent at all stays QCN's decision. All octets of the last whole interval count,
none are left to sampling. A weight is the frame's priority plus 1, or 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from plugins.qcn_cp import QcnCongestionPoint, count_arrival
from tailback.plugin import (
    FORWARD,
    Algorithm,
    Duration,
    Ratio,
    RatioLimit,
    compiled,
    congestion_point,
)

SOURCES = 256
"""Sources that are counted separately, by the low octet of their address index."""
HIGHEST = 63
BY_PRIORITY = 1
MOST_OCTETS = 1 << 44
"""Counted of a source in an interval: more than 10 Tb/s bring in the longest, of a second."""


class AfQcn(QcnCongestionPoint):
    """Parameters of AF-QCN: those of QCN, and how sources are weighed."""

    sampling: Literal["arrival"] = Field(
        "arrival", description="the arriving frame is sampled and its source notified"
    )
    alpha: Annotated[Ratio, RatioLimit(100_000)] = Field(
        Fraction(1, 2), ge=0, le=1, description="share of the AF feedback"
    )
    interval: Duration = Field(
        1_000_000_000, ge=1_000_000, le=10**12, description="over which arrivals are counted"
    )
    weights: Literal["equal", "priority"] = Field(
        "equal", description="priority: a source's weight is its priority plus 1"
    )


STATE = np.dtype(
    [
        ("countdown", np.int64),
        ("started", np.int64),
        ("old", np.int64),
        ("lfsr", np.int64),
        ("interval_end", np.int64),  # ps
        ("all_octets", np.int64),  # of the last whole interval
        ("all_weights", np.int64),
        ("now_octets", np.int64, (SOURCES,)),  # of this interval, by source
        ("octets", np.int64, (SOURCES,)),  # of the last whole interval
        ("weight", np.int64, (SOURCES,)),
    ]
)


@compiled
def _close_interval(state, params, now):
    """Turn the counts of this interval into those of the last one."""
    state.interval_end = now + params.interval
    state.all_octets = 0
    state.all_weights = 0
    for source in range(SOURCES):
        counted = state.now_octets[source]
        state.octets[source] = counted
        state.now_octets[source] = 0
        if counted > 0:
            state.all_octets += counted
            state.all_weights += state.weight[source]


def on_arrival(state, params, queue, frame, now, message):
    """A frame arrives: count it for its source; at a sample weigh what QCN would say."""
    if now >= state.interval_end:
        _close_interval(state, params, now)
    source = frame.source & (SOURCES - 1)
    state.now_octets[source] = min(state.now_octets[source] + frame.length, MOST_OCTETS)
    state.weight[source] = frame.priority + 1 if params.weights == BY_PRIORITY else 1
    notified = count_arrival(state, params, queue, frame, now, message)
    octets = state.octets[source]
    # never true (`state.all_weights == 0`): who sent in the last interval has a weight in it
    if notified == 0 or octets == 0 or state.all_weights == 0:
        return notified
    fair = state.all_octets * state.weight[source] // state.all_weights
    over = HIGHEST * max(octets - fair, 0) // octets
    whole = params.alpha_den
    part = params.alpha_num
    message.feedback = ((whole - part) * message.feedback + part * over) // whole
    return notified if message.feedback > 0 else FORWARD


AF_QCN: Algorithm = congestion_point(
    "af-qcn",
    "QCN congestion point with approximate fairness by the rate of each source",
    AfQcn,
    STATE,
    arrival=on_arrival,
)
