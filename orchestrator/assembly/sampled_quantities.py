"""Sampled quantities, by the kind of entity that has them.

The names are those of `samples.parquet`; `field` is where the value lies in the entity's record
(orchestrator.engine.records). A gauge is the value at the instant of the sample, a counter has
counted since the run began.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from orchestrator.recording import ACTIVE, RTT, WINDOW


class Sampled(NamedTuple):
    """One quantity: its name, the record's field, its unit, what it counts or shows."""

    quantity: str
    field: str
    unit: str
    kind: Literal["gauge", "counter"]
    meaning: str


QUEUE = (
    Sampled("queue_bytes", "bytes", "B", "gauge", "octets that lie in it"),
    Sampled("queue_max_bytes", "bytes_max", "B", "gauge", "the most octets since the run began"),
    Sampled("queue_frames", "frames", "1", "gauge", "frames that lie in it"),
    Sampled(
        "service_rate", "service_rate", "bit/s", "gauge", "rate at which the port serves the queue"
    ),
    Sampled("bytes_out", "bytes_out", "B", "counter", "octets of the data frames that left it"),
    Sampled(
        "frames_in", "frames_in", "1", "counter", "data frames that came, with those it dropped"
    ),
    Sampled("frames_out", "frames_out", "1", "counter", "data frames that left it"),
    Sampled(
        "frames_dropped", "frames_dropped", "1", "counter", "data frames that found no room in it"
    ),
    Sampled(
        "feedback_sent",
        "feedback_sent",
        "1",
        "counter",
        "messages to sources that its congestion point had sent",
    ),
    Sampled(
        "feedback_value",
        "feedback_value",
        "1",
        "gauge",
        "quantised feedback (0 to 63) of the last of these messages; 0 before the first",
    ),
    Sampled(
        "pause_sent",
        "pause_sent",
        "1",
        "counter",
        "PAUSE, PFC and grant frames sent for its sake, those that let a neighbour go on included",
    ),
    Sampled("times_emptied", "emptied", "1", "counter", "how often its last frame left"),
)
MARKED = (
    Sampled(
        "frames_marked",
        "frames_marked",
        "1",
        "counter",
        "data frames whose mark its congestion point changed, or its notification point set",
    ),
)
DROPPED_EARLY = (
    Sampled(
        "frames_dropped_early",
        "frames_dropped_early",
        "1",
        "counter",
        "data frames that its congestion point or watchdog dropped, though there was room",
    ),
)
TRIMMED = (
    Sampled(
        "frames_trimmed",
        "frames_trimmed",
        "1",
        "counter",
        "data frames that its congestion point cut to their headers, which went on past it",
    ),
)
MOVED = (
    Sampled(
        "frames_moved",
        "frames_moved",
        "1",
        "counter",
        "data frames that its congestion point sent on in another lane",
    ),
)
STORMS = (
    Sampled("storms", "storms", "1", "counter", "storms of PAUSE or PFC that its watchdog found"),
    Sampled("storms_over", "storms_over", "1", "counter", "of these, those that it saw the end of"),
)
INPUT = tuple(sampled for sampled in QUEUE if sampled.quantity != "service_rate")
LINK = (
    Sampled(
        "bytes_out",
        "bytes_out",
        "B",
        "counter",
        "octets of the frames sent, control frames included, without the link's overhead",
    ),
    Sampled("frames_out", "frames_out", "1", "counter", "frames sent, control frames included"),
    Sampled(
        "frames_dropped",
        "frames_lost",
        "1",
        "counter",
        "frames that a cut link, a full delay line or a lossy one lost",
    ),
    Sampled(
        "paused_ps",
        "paused_ps",
        "ps",
        "counter",
        "time in which its sender was held, in any lane, by PAUSE, PFC or for want of credit",
    ),
    Sampled(
        "longest_hold_ps",
        "longest_hold_ps",
        "ps",
        "gauge",
        "the longest time at once of the same that went on since the last row, from its beginning",
    ),
    Sampled("rate", "rate", "bit/s", "gauge", "rate of the link this way"),
)
LANE = (
    Sampled(
        "paused_ps",
        "paused_ps",
        "ps",
        "counter",
        "time in which this lane of its sender was held, by PAUSE, PFC or for want of credit",
    ),
    Sampled(
        "longest_hold_ps",
        "longest_hold_ps",
        "ps",
        "gauge",
        "the longest time at once of the same that went on since the last row, from its beginning",
    ),
)
LIMITER = (
    Sampled(ACTIVE, "active", "1", "gauge", "1 while it limits a flow, else 0"),
    Sampled(
        "current_rate",
        "rate",
        "bit/s",
        "gauge",
        "rate it lets its flow send at; without meaning while it is not active",
    ),
    Sampled(
        "target_rate", "target", "bit/s", "gauge", "rate that it recovers towards (target rate)"
    ),
)
LIMITER_FEEDBACK = (
    Sampled("feedback_received", "feedback_received", "1", "counter", "messages that it acted on"),
)
"""Observables of its reaction point stand between the two."""
CONTROLLED = (
    Sampled(
        WINDOW,
        "window",
        "B",
        "gauge",
        "octets that may be under way, of algorithms that use acknowledgements; 0: any number, or "
        "there was no flow yet",
    ),
    Sampled(
        RTT,
        "rtt",
        "ps",
        "gauge",
        "round trip that the last acknowledgement told, of the same algorithms; 0: there was none",
    ),
)
FLOW_SENT = (
    Sampled("frames_sent", "frames_sent", "1", "counter", "data frames that its NIC sent"),
    Sampled("bytes_sent", "bytes_sent", "B", "counter", "octets of these"),
    Sampled(
        "frames_refused",
        "frames_refused",
        "1",
        "counter",
        "frames that the source made and the host queue had no room for",
    ),
)
FLOW_RECEIVED = (
    Sampled(
        "frames_received",
        "frames_received",
        "1",
        "counter",
        "data frames that reached their destination",
    ),
    Sampled("bytes_received", "bytes_received", "B", "counter", "octets of these"),
    Sampled(
        "frames_reordered",
        "frames_reordered",
        "1",
        "counter",
        "data frames that arrived behind one that was sent later",
    ),
)
RESENT = (
    Sampled(
        "frames_resent",
        "frames_resent",
        "1",
        "counter",
        "segments that its transport made a second time; of transports that leave control",
    ),
)
REASSEMBLY = (
    Sampled(
        "reassembly_bytes",
        "order_bytes",
        "B",
        "gauge",
        "octets that wait for an earlier frame of their flow",
    ),
    Sampled(
        "reassembly_gaps",
        "order_gaps",
        "1",
        "counter",
        "times that what was missing was given up, for its timeout or for want of memory",
    ),
    Sampled(
        "reassembly_late",
        "frames_late",
        "1",
        "counter",
        "frames that came after they had been given up",
    ),
)
NOTIFIER = (
    Sampled(
        "feedback_sent",
        "feedback_sent",
        "1",
        "counter",
        "messages to sources that its notification point sent",
    ),
    Sampled(
        "echoes_sent", "echoes_sent", "1", "counter", "probes that it turned round to their source"
    ),
)
CREDITS = (
    Sampled(
        "credits_sent",
        "credits_sent",
        "1",
        "counter",
        "credits and other messages that its receiver sent to sources",
    ),
)
NIC = (
    Sampled(
        "feedback_ignored",
        "feedback_ignored",
        "1",
        "counter",
        "messages for an address that is no flow of this NIC, or to a NIC without limiters",
    ),
    Sampled(
        "feedback_unassigned",
        "feedback_unassigned",
        "1",
        "counter",
        "messages for a flow without a limiter when none was free",
    ),
)

ENTITIES: dict[str, tuple[Sampled, ...]] = {
    "port": QUEUE + MARKED + DROPPED_EARLY + TRIMMED + MOVED + STORMS,
    "input": INPUT + MARKED + DROPPED_EARLY,
    "link": LINK,
    "lane": LANE,
    "limiter": LIMITER + LIMITER_FEEDBACK + CONTROLLED,
    "flow": FLOW_SENT + RESENT + FLOW_RECEIVED,
    "multicast": FLOW_SENT,
    "copy": FLOW_RECEIVED,
    "nic": NIC + NOTIFIER + CREDITS,
    "sink": NOTIFIER + CREDITS,
    "switch": REASSEMBLY,
}
"""Kind of entity (see orchestrator.plan.entity_names.entities) -> all that can be sampled of it."""
