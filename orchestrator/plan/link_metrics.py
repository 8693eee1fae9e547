"""Metrics and samples of links, their lanes and their stages, in each direction."""

from __future__ import annotations

from orchestrator.plan.metric import (
    BITS_PER_SECOND,
    COUNTER,
    RATIO,
    SECONDS,
    Curve,
    Declaration,
    Metric,
    Sampled,
    counter,
)

HOLD_LABEL = "time held by PAUSE"
LONGEST_HOLD = (
    Sampled(
        "longest_hold_ps",
        "longest_hold_ps",
        "ps",
        "gauge",
        "the longest time at once of the same that went on since the last row, from its beginning",
    ),
    Metric(
        "pause.longest_s",
        SECONDS,
        COUNTER,
        "the longest time at once of the same, from its beginning, which may lie before the phase; "
        "on gateware PAUSEs less than two sampling intervals apart may count as one",
    ),
)
INJECTED = "injections"
"""Group of samples (`Sampled.when`): of links whose sender the timeline injects faults at."""
_INJECTIONS: tuple[Metric, ...] = tuple(
    counter(
        f"injected.{name}",
        f"injected_{name}",
        meaning,
        "of links that the timeline injects faults at",
        record_field=name,
        when=INJECTED,
    )
    for name, meaning in (
        ("dropped", "frames that the timeline dropped; frames.dropped has them too"),
        ("marked", "frames whose ECN codepoint the timeline set to CE"),
        (
            "corrupted",
            "frames that the timeline corrupted and the FCS check at the other end dropped, "
            "or, by `field`, whose IPv4 header checksum, UDP checksum or ICRC was wrong; "
            "frames.dropped has those that the node at the other end drops",
        ),
        ("delayed", "frames that the timeline delayed"),
        ("duplicated", "copies of frames that the timeline added; frames.sent has them too"),
    )
)
STAGED = "stages"
"""Group of samples (`Sampled.when`): of links whose frames pass stages."""
STAGE: tuple[Declaration, ...] = (
    counter(
        "frames.entered",
        "frames_entered",
        "frames that entered the stage, copies of stages before it included",
        record_field="frames_in",
    ),
    counter(
        "frames.lost",
        "frames_lost",
        "frames that the stage lost; frames.dropped of the link has them too",
        record_field="lost",
    ),
    counter(
        "frames.corrupted",
        "frames_corrupted",
        "frames whose octets the stage corrupted",
        record_field="corrupted",
    ),
    counter(
        "frames.duplicated",
        "frames_duplicated",
        "copies of frames that the stage added; frames.sent of the link has them too",
        record_field="duplicated",
    ),
    counter(
        "frames.reordered",
        "frames_reordered",
        "frames that the stage held back: those behind that are due before overtake them",
        record_field="held_back",
    ),
)
LINK: tuple[Declaration, ...] = (
    Metric(
        "throughput_bps",
        BITS_PER_SECOND,
        COUNTER,
        "bits of all frames sent this way, control frames included, per second",
        curve=True,
        label="throughput",
    ),
    Metric(
        "utilization",
        RATIO,
        COUNTER,
        "these bits over the integral of the link's rate",
        curve=True,
        label="utilisation",
    ),
    Sampled(
        "bytes_out",
        "bytes_out",
        "B",
        "counter",
        "octets of the frames sent, control frames included, without the link's overhead",
    ),
    counter("frames.sent", "frames_out", "frames sent this way, control frames included"),
    counter(
        "frames.dropped",
        "frames_dropped",
        "frames that a cut link, a full delay line or a lossy one lost",
        record_field="frames_lost",
        label="frames dropped",
    ),
    Sampled(
        "paused_ps",
        "paused_ps",
        "ps",
        "counter",
        "time in which its sender was held, in any lane, by PAUSE, PFC or for want of credit",
    ),
    Curve("paused", RATIO, HOLD_LABEL),
    Metric(
        "pause.time_s",
        SECONDS,
        COUNTER,
        "time in which the sender was held, in any lane, by PAUSE or PFC",
    ),
    *LONGEST_HOLD,
    Sampled("rate", "rate", "bit/s", "gauge", "rate of the link this way"),
    *_INJECTIONS,
    counter(
        "frames.fcs_errors",
        "frames_fcs_errors",
        "frames that a stage corrupted and the FCS check at the other end dropped; frames.dropped "
        "has them too",
        "of links whose frames pass stages",
        record_field="fcs_errors",
        when=STAGED,
    ),
    counter(
        "frames.icrc_errors",
        "frames_icrc_errors",
        "frames that a stage corrupted with a right FCS and whose own check, as the ICRC of a CNP, "
        "dropped them at the other end; frames.dropped has them too",
        "of links whose frames pass stages",
        record_field="icrc_errors",
        when=STAGED,
    ),
    counter(
        "frames.duplicated",
        "frames_duplicated",
        "copies of frames that stages added; frames.sent has them too",
        "of links whose frames pass stages",
        record_field="copies",
        when=STAGED,
    ),
)
LANE = (
    Sampled(
        "paused_ps",
        "paused_ps",
        "ps",
        "counter",
        "time in which this lane of its sender was held, by PAUSE, PFC or for want of credit",
    ),
    Curve("paused", RATIO, HOLD_LABEL),
    Metric("pause.time_s", SECONDS, COUNTER, "time in which this lane of the sender was held"),
    *LONGEST_HOLD,
)
