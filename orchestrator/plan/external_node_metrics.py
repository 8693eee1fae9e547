"""Metrics of external nodes and their ports, by the captures at the emulated ports."""

from __future__ import annotations

from orchestrator.plan.metric import (
    BITS_PER_SECOND,
    CAPTURES,
    COUNT,
    RATIO,
    RUN,
    SECONDS,
    Metric,
)

EXTERNAL_PORT = (
    Metric(
        "throughput_bps",
        BITS_PER_SECOND,
        CAPTURES,
        "bits of all frames that came out of it, headers included, per second",
    ),
    Metric("frames.sent", COUNT, CAPTURES, "frames that came out of it, of those that went in"),
    Metric(
        "frames.reordered",
        COUNT,
        CAPTURES,
        "of these, those that came out behind one of their flow that went in later",
    ),
    Metric("frames.duplicated", COUNT, CAPTURES, "those that came out once more than they went in"),
    Metric(
        "frames.foreign",
        COUNT,
        CAPTURES,
        "emulated data and control frames that came out and never went in: damaged, or made up",
    ),
    Metric("feedback.sent", COUNT, CAPTURES, "messages to sources that it made itself"),
    Metric(
        "pause.count",
        COUNT,
        CAPTURES,
        "PAUSE and PFC frames that it sent, those that let go too",
    ),
    Metric(
        "latency_s.mean",
        SECONDS,
        CAPTURES,
        "mean time from our end that a frame went in by to the one that it came out to; what our "
        "own ends take to hand a frame over and to take it in is part of it",
    ),
    Metric("latency_s.p50", SECONDS, CAPTURES, "median of the same (nearest rank)"),
    Metric("latency_s.p99", SECONDS, CAPTURES, "99th percentile of the same (nearest rank)"),
    Metric("latency_s.max", SECONDS, CAPTURES, "the longest of the same"),
)
EXTERNAL = (
    *EXTERNAL_PORT,
    Metric("frames.received", COUNT, CAPTURES, "frames that went into it from our ports"),
    Metric(
        "frames.dropped",
        COUNT,
        CAPTURES,
        "frames to one destination that went in and did not come out; what went in within the "
        "last 10 ms of the run (the longest latency, where that is more) may be under way, and "
        "does not count",
    ),
    Metric("frames.drop_ratio", RATIO, CAPTURES, "the same over frames.received"),
    Metric(
        "departures",
        COUNT,
        RUN,
        "1 where the oracle found a frame that is not as `as` says, 0 where all are; null "
        "where it cannot follow the device, and without `as`",
    ),
)
