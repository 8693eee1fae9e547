"""Metrics and samples of limiters, flows, NICs and sinks.

The order of metrics is that of `result.json`; samples follow in the same order within each group.
"""

from __future__ import annotations

from orchestrator.plan.metric import (
    BITS_PER_SECOND,
    BYTES,
    COUNT,
    COUNTER,
    GAUGE,
    RATIO,
    RUN,
    SECONDS,
    Curve,
    Metric,
    Sampled,
    counter,
    name_of,
    without,
)

ACTIVE = "active"
"""Quantity of a limiter that has a flow (`orchestrator.recording`)."""
ACKNOWLEDGED, FEEDBACK, CREDITS, RESENT = "acknowledgements", "feedback", "credits", "resends"
"""Groups of samples (`Sampled.when`): of reaction points that process acknowledgements; behind the
observables of a reaction point; of receivers; of flows with a transport."""
TIMEOUTS, NAKS = "timeouts", "naks"
"""Groups of samples of transports that count these (`Algorithm.counts`)."""
NOTIFIES = "notifications"
"""Group of samples of notification points."""
SOURCE, RECEIVED = "source", "received"
"""Groups of a flow's samples: at its NIC, at its destination."""

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
    Curve("rate_bps", BITS_PER_SECOND, "rate limit"),
    Curve("target_bps", BITS_PER_SECOND, "target rate"),
    Metric(
        "rate_bps.mean",
        BITS_PER_SECOND,
        GAUGE,
        "mean of its rate over the samples in which it is active",
    ),
    Metric(
        "rate_bps.sd", BITS_PER_SECOND, GAUGE, "standard deviation of the same (of the population)"
    ),
    Metric("rate_bps.min", BITS_PER_SECOND, GAUGE, "the smallest of these samples"),
    Metric("rate_bps.max", BITS_PER_SECOND, GAUGE, "the largest of these samples"),
    Metric(
        "window_bytes.mean",
        BYTES,
        GAUGE,
        "mean of its window while it has one; of algorithms that use acknowledgements",
    ),
    Metric("window_bytes.sd", BYTES, GAUGE, "standard deviation of the same (of the population)"),
    Metric(
        "rtt_s.mean",
        SECONDS,
        GAUGE,
        "mean of the last round trip measured at each sample, from the first one on",
    ),
    Metric("rtt_s.p99", SECONDS, GAUGE, "the smallest of these that 99 % of them do not exceed"),
    Metric("active.share", RATIO, GAUGE, "share of the samples in which it is active"),
    Metric(
        "settling_s",
        SECONDS,
        GAUGE,
        "from the phase's start until its rate first is within 10 % of its mean over the last "
        "tenth of the phase; null when it is not active there",
    ),
    counter(
        "feedback.received",
        "feedback_received",
        "messages that it acted on",
        when=FEEDBACK,
        label="messages received",
    ),
    Sampled(
        "window_bytes",
        "window",
        "B",
        "gauge",
        "octets that may be under way, of algorithms that use acknowledgements; 0: any number, or "
        "there was no flow yet",
        when=ACKNOWLEDGED,
    ),
    Sampled(
        "rtt_ps",
        "rtt",
        "ps",
        "gauge",
        "round trip that the last acknowledgement told, of the same algorithms; 0: there was none",
        when=ACKNOWLEDGED,
    ),
)

SENT_CURVE = Curve("sent_bps", BITS_PER_SECOND, "rate sent")
SENT_RATE = (
    SENT_CURVE,
    Metric(
        "sent_bps.mean",
        BITS_PER_SECOND,
        COUNTER,
        "bits of the frames that its NIC sent, per second",
    ),
    Metric(
        "sent_bps.sd",
        BITS_PER_SECOND,
        COUNTER,
        "how much that swings: standard deviation (of the population) of the same rate from each "
        "sample to the next",
    ),
)
THROUGHPUT = Metric(
    "throughput_bps",
    BITS_PER_SECOND,
    COUNTER,
    "bits of the frames received, headers included, per second",
    curve=True,
    label="throughput",
)
FLOW = (
    THROUGHPUT,
    *SENT_RATE,
    counter("frames.sent", "frames_sent", "data frames that its NIC sent", when=SOURCE),
    Sampled("bytes_sent", "bytes_sent", "B", "counter", "octets of these", when=SOURCE),
    counter(
        "frames.received",
        "frames_received",
        "data frames that reached their destination",
        when=RECEIVED,
    ),
    Sampled("bytes_received", "bytes_received", "B", "counter", "octets of these", when=RECEIVED),
    Metric(
        "frames.dropped",
        COUNT,
        RUN,
        "frames.sent less frames.received: lost, or under way when the run ended",
    ),
    counter(
        "frames.refused",
        "frames_refused",
        "frames that the source made and the host queue had no room for",
        when=SOURCE,
    ),
    counter(
        "frames.reordered",
        "frames_reordered",
        "data frames that arrived behind one that was sent later",
        when=RECEIVED,
    ),
    counter(
        "frames.retransmitted",
        "frames_resent",
        "segments that its transport made a second time",
        "of flows with a transport",
        when=RESENT,
        label="frames retransmitted",
    ),
    counter(
        "timeouts",
        "timeouts",
        "times that its transport waited in vain for an answer, and resent or asked again",
        "of transports that count them",
        when=TIMEOUTS,
        label="timeouts",
    ),
    counter(
        "naks.received",
        "naks_received",
        "negative acknowledgements that came back to its source: of a gap, or a trimmed frame",
        "of transports that have them",
        record_field="naks",
        when=NAKS,
        label="NAKs",
    ),
)
AT_DESTINATION = ("throughput_bps", "frames.received", "bytes_received", "frames.reordered")
"""Declarations of a flow that are of one destination, where a flow has several."""
OF_TRANSPORT = ("frames.retransmitted", "timeouts", "naks.received")
"""Declarations of a flow with a transport, which leads to one node."""
MULTICAST = without(FLOW, *AT_DESTINATION, "frames.dropped", *OF_TRANSPORT)
COPY = tuple(one for one in FLOW if name_of(one) in AT_DESTINATION)

NOTIFICATION = (
    counter(
        "feedback.sent",
        "feedback_sent",
        "messages to sources that its notification point sent",
        when=NOTIFIES,
    ),
    counter(
        "echoes.sent",
        "echoes_sent",
        "probes that it turned round to their source",
        when=NOTIFIES,
    ),
    counter(
        "credits.sent",
        "credits_sent",
        "credits and other messages that its receiver sent to sources",
        "where there is one",
        when=CREDITS,
    ),
)
NIC = (
    counter(
        "feedback.ignored",
        "feedback_ignored",
        "messages for an address that is no flow of this NIC, or to a NIC without limiters",
    ),
    counter(
        "feedback.unassigned",
        "feedback_unassigned",
        "messages for a flow without a limiter when none was free",
    ),
    *NOTIFICATION,
)
SINK = NOTIFICATION
