"""Metrics and samples of queues, input buffers and switches.

The order of metrics is that of `result.json`; samples follow in the same order, first those that
every queue has, then those with a condition (`Sampled.when`).
"""

from __future__ import annotations

from orchestrator.plan.metric import (
    BITS_PER_SECOND,
    BYTES,
    COUNTER,
    GAUGE,
    HERTZ,
    MARKS,
    RATIO,
    SECONDS,
    WATCHDOG,
    Metric,
    Sampled,
    counter,
    without,
)

QUEUE_LENGTH = (
    Sampled(
        "queue_bytes", "bytes", "B", "gauge", "octets that lie in it", drawn=True, label="queue"
    ),
    Sampled("queue_max_bytes", "bytes_max", "B", "gauge", "the most octets since the run began"),
    Sampled("queue_frames", "frames", "1", "gauge", "frames that lie in it"),
    Metric("queue_bytes.mean", BYTES, GAUGE, "mean of the samples of `queue_bytes`"),
    Metric("queue_bytes.sd", BYTES, GAUGE, "their standard deviation (of the population)"),
    Metric(
        "queue_bytes.max",
        BYTES,
        GAUGE,
        "the longest queue: exact where the run's maximum so far was reached within the phase, "
        "else the largest sample",
    ),
    Metric(
        "queue_bytes.p99",
        BYTES,
        GAUGE,
        "the smallest sample that 99 % of the samples do not exceed (nearest rank)",
    ),
    Metric(
        "queue_bytes.amplitude",
        BYTES,
        GAUGE,
        "how far it swings: half of what lies between the 5th and the 95th percentile",
    ),
    Metric(
        "queue.frequency_hz",
        HERTZ,
        GAUGE,
        "how often: cycles per second, each from below the mean to above it by half an amplitude; "
        "null with fewer than two",
    ),
    Metric(
        "queue.overshoot",
        RATIO,
        GAUGE,
        "the largest sample above the mean over the phase's second half, as a share of that mean",
    ),
    Metric(
        "queue.settling_s",
        SECONDS,
        GAUGE,
        "from the phase's start until the mean of the last twentieth of the phase stays within "
        "10 %, or the amplitude that is left, of the mean over its second half; null when it "
        "does not",
    ),
)
SERVICE = (
    Metric(
        "utilization",
        RATIO,
        COUNTER,
        "bits that left the queue over the integral of its service rate",
        curve=True,
        label="utilisation",
    ),
    Metric(
        "throughput_bps",
        BITS_PER_SECOND,
        COUNTER,
        "bits of the data frames that left it, per second",
        curve=True,
        label="throughput",
    ),
    Sampled(
        "service_rate",
        "service_rate",
        "bit/s",
        "gauge",
        "rate at which the port serves the queue",
        drawn=True,
        label="service rate",
    ),
    Sampled("bytes_out", "bytes_out", "B", "counter", "octets of the data frames that left it"),
)
FRAMES = (
    counter("frames.received", "frames_in", "data frames that came, with those it dropped"),
    counter("frames.sent", "frames_out", "data frames that left it"),
    counter(
        "frames.dropped",
        "frames_dropped",
        "data frames that found no room in it",
        label="frames dropped",
    ),
    counter(
        "frames.dropped_early",
        "frames_dropped_early",
        "data frames that its congestion point or watchdog dropped, though there was room",
        "where there is one that does",
        when="drops",
        removed="dropped {} frames, and its algorithm does not say at which events (`drops`) it "
        "may",
        label="frames dropped early",
    ),
    Metric(
        "frames.drop_ratio",
        RATIO,
        COUNTER,
        "frames.dropped and frames.dropped_early over frames.received",
        label="frames dropped",
    ),
    counter(
        "frames.trimmed",
        "frames_trimmed",
        "data frames that its congestion point cut to their headers, which went on past it",
        "where there is one that does",
        when="trims",
        removed="trimmed {} frames, and its algorithm does not say (`trims`) that it may",
        label="frames trimmed",
    ),
    counter(
        "frames.reprioritized",
        "frames_moved",
        "data frames that its congestion point sent on in another lane",
        "where there is one that does",
        when="changes_lane",
        removed="sent {} frames on in another lane, and its algorithm does not say "
        "(`changes_lane`) that it may",
        label="frames sent on in another lane",
    ),
    counter(
        "storms.detected",
        "storms",
        "storms of PAUSE or PFC that its watchdog found",
        "where there is one",
        when=WATCHDOG,
        label="storms found",
    ),
    counter(
        "storms.restored",
        "storms_over",
        "of these, those that it saw the end of",
        "likewise",
        when=WATCHDOG,
        label="storms that are over",
    ),
    counter(
        "frames.marked",
        "frames_marked",
        "data frames whose mark its congestion point changed, or its notification point set",
        "at a port with a congestion point, at an input with one that marks",
        when=MARKS,
        label="frames marked",
    ),
)
FEEDBACK = (
    counter(
        "feedback.sent",
        "feedback_sent",
        "messages to sources that its congestion point had sent",
        label="messages sent",
    ),
    Sampled(
        "feedback_value",
        "feedback_value",
        "1",
        "gauge",
        "quantised feedback (0 to 63) of the last of these messages; 0 before the first",
    ),
    counter(
        "pause.count",
        "pause_sent",
        "PAUSE, PFC and grant frames sent for its sake, those that let a neighbour go on included",
        label="PAUSE frames sent",
    ),
    Sampled("times_emptied", "emptied", "1", "counter", "how often its last frame left"),
)
RECOVERY = Metric(
    "recovery_s",
    SECONDS,
    COUNTER,
    "from the phase's start until the throughput of the last 20 ms first reaches 95 % of the "
    "service rate; 0 when it does at the start, null when it never does",
)
PORT = (*QUEUE_LENGTH, *SERVICE, *FRAMES, *FEEDBACK, RECOVERY)
INPUT = without(
    PORT,
    *("utilization", "service_rate", "frames.trimmed", "frames.reprioritized", "storms.detected"),
    *("storms.restored", "recovery_s"),
)
ROUTES = "routes"
"""Group of samples (`Sampled.when`): of switches that are IP routers."""
SWITCH = (
    Sampled(
        "reassembly_bytes",
        "order_bytes",
        "B",
        "gauge",
        "octets that wait for an earlier frame of their flow",
    ),
    Metric(
        "reassembly_bytes.mean",
        BYTES,
        GAUGE,
        "mean of the octets that wait for an earlier frame of their flow",
    ),
    Metric("reassembly_bytes.max", BYTES, GAUGE, "the largest sample of the same"),
    counter(
        "reassembly.gaps",
        "reassembly_gaps",
        "times that what was missing was given up, for its timeout or for want of memory",
        record_field="order_gaps",
    ),
    counter(
        "reassembly.late",
        "reassembly_late",
        "frames that came after they had been given up",
        record_field="frames_late",
    ),
    counter(
        "frames.ttl_expired",
        "frames_ttl_expired",
        "IP frames that it dropped because their TTL ended at it: data, acknowledgements, messages",
        "of switches that forward by IP",
        record_field="ttl_expired",
        when=ROUTES,
        label="frames whose TTL ended",
    ),
)
