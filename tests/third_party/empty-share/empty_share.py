"""A metric for tailback in one file: the share of a phase's samples in which a queue is empty.

Plans expect it ([[expect]]) and draw it ([[figure]]); `report.html` has a panel of it.
"""

from __future__ import annotations

from tailback.plugin import GAUGE, RATIO, Metric, hookimpl


def empty_share(recording, entity, phase):
    """Share of the samples within [from, to) that have no octet in the queue; None without any."""
    begin, end = phase
    inside = (recording.times_ps >= begin) & (recording.times_ps < end)
    octets = recording.column(entity, "queue_bytes")[inside]
    return float((octets == 0).mean()) if len(octets) else None


EMPTY_SHARE = Metric(
    "queue_bytes.empty_share",
    RATIO,
    GAUGE,
    "share of the samples within the phase in which the queue is empty",
    label="time without a queue",
    entities=("port",),
    compute=empty_share,
)


@hookimpl
def tailback_metric_types():
    """The metrics of this plugin."""
    return [EMPTY_SHARE]
