"""Definition of each metric and its exact computation, for the reference.

`METRICS` in orchestrator.plan.metric_registry has the names and units. A value is None (null) where
the definition gives none: no samples, nothing active, nothing received.
"""

from __future__ import annotations

from typing import NamedTuple

from orchestrator.plan.metric_registry import CLASS_PREFIXES


class Meaning(NamedTuple):
    """`basis`: counter (what it grew by within the phase), gauge (statistics of the samples within
    the phase), histogram, messages, captures (frames that went in, or came out, within the phase),
    run (of the whole run only)."""

    basis: str
    text: str


COUNTER, GAUGE, HISTOGRAM, MESSAGES, RUN = "counter", "gauge", "histogram", "messages", "run"
CAPTURES = "captures"

_QUEUE = {
    "queue_bytes.mean": Meaning(GAUGE, "mean of the samples of `queue_bytes`"),
    "queue_bytes.sd": Meaning(GAUGE, "their standard deviation (of the population)"),
    "queue_bytes.max": Meaning(
        GAUGE,
        "the longest queue: exact where the run's maximum so far was reached within the phase, "
        "else the largest sample",
    ),
    "queue_bytes.p99": Meaning(
        GAUGE, "the smallest sample that 99 % of the samples do not exceed (nearest rank)"
    ),
    "queue_bytes.amplitude": Meaning(
        GAUGE, "how far it swings: half of what lies between the 5th and the 95th percentile"
    ),
    "queue.frequency_hz": Meaning(
        GAUGE,
        "how often: cycles per second, each from below the mean to above it by half an amplitude; "
        "null with fewer than two",
    ),
    "queue.overshoot": Meaning(
        GAUGE,
        "the largest sample above the mean over the phase's second half, as a share of that mean",
    ),
    "queue.settling_s": Meaning(
        GAUGE,
        "from the phase's start until the mean of the last twentieth of the phase stays within "
        "10 %, or the amplitude that is left, of the mean over its second half; null when it "
        "does not",
    ),
    "throughput_bps": Meaning(COUNTER, "bits of the data frames that left it, per second"),
    "frames.received": Meaning(COUNTER, "data frames that came, with those it dropped"),
    "frames.sent": Meaning(COUNTER, "data frames that left it"),
    "frames.dropped": Meaning(COUNTER, "data frames that found no room"),
    "frames.dropped_early": Meaning(
        COUNTER,
        "data frames that its congestion point or watchdog dropped; where there is one that does",
    ),
    "frames.trimmed": Meaning(
        COUNTER,
        "data frames that its congestion point cut to their headers, which went on past it; where "
        "there is one that does",
    ),
    "frames.reprioritized": Meaning(
        COUNTER,
        "data frames that its congestion point sent on in another lane; where there is one that "
        "does",
    ),
    "storms.detected": Meaning(
        COUNTER, "storms of PAUSE or PFC that its watchdog found; where there is one"
    ),
    "storms.restored": Meaning(COUNTER, "of these, those that it saw the end of; likewise"),
    "frames.drop_ratio": Meaning(
        COUNTER, "frames.dropped and frames.dropped_early over frames.received"
    ),
    "frames.marked": Meaning(
        COUNTER,
        "data frames whose mark its congestion point changed, or its notification point set; at a "
        "port with a congestion point, at an input with one that marks",
    ),
    "feedback.sent": Meaning(COUNTER, "messages to sources that its congestion point had sent"),
    "pause.count": Meaning(
        COUNTER, "PAUSE and PFC frames sent for its sake, those that let go included"
    ),
}
_AT_OUTPUTS = ("frames.trimmed", "frames.reprioritized", "storms.detected", "storms.restored")
_NOTIFIER = {
    "feedback.sent": Meaning(COUNTER, "messages to sources that its notification point sent"),
    "echoes.sent": Meaning(COUNTER, "probes that it turned round to their source"),
    "credits.sent": Meaning(
        COUNTER, "credits and other messages that its receiver sent; where there is one"
    ),
}
_FAIRNESS = {
    "fairness.jain": Meaning(
        COUNTER,
        "Jain's index of the flows' rates while they were on, (Σx)² / (n Σx²): 1 when all are "
        "equal, 1/n at worst. A flow's rate is what was received of it within the phase over the "
        "time that its source was on within it; flows whose source was on for less than half of "
        "the phase do not count",
    ),
    "fairness.max_min": Meaning(
        COUNTER,
        "the highest of the same rates over the lowest; null when a flow that was on got nothing",
    ),
    "fairness.window_mean": Meaning(
        COUNTER,
        "Jain's index while time passes: its mean over windows of a twentieth of the phase, one "
        "for each of up to 200 moments. In a window those flows count whose source was on for half "
        "of it; null where samples are fewer than 40, or no window has two flows",
    ),
    "fairness.window_min": Meaning(COUNTER, "the lowest index of the same windows"),
    "fairness.settling_s": Meaning(
        COUNTER,
        "time from the phase's start until the index of the same windows is 0.95 or more for the "
        "rest of it, by the end of the window; 0 when it always is, null when it is not at the end",
    ),
}
_SENT = Meaning(COUNTER, "data frames that its NIC sent")
_SENT_BPS = {
    "sent_bps.mean": Meaning(COUNTER, "bits of the frames that its NIC sent, per second"),
    "sent_bps.sd": Meaning(
        COUNTER,
        "how much that swings: standard deviation (of the population) of the same rate from each "
        "sample to the next",
    ),
}
_REFUSED = Meaning(COUNTER, "frames that the source made and the host queue had no room for")
_RECEIVED = Meaning(COUNTER, "data frames that reached their destination")
_REORDERED = Meaning(COUNTER, "data frames that arrived behind one that was sent later")
_THROUGHPUT = Meaning(COUNTER, "bits of the frames received, headers included, per second")

_LONGEST = Meaning(
    COUNTER,
    "the longest time at once of the same, from its beginning, which may lie before the phase; on "
    "gateware PAUSEs less than two sampling intervals apart may count as one",
)


_STATISTIC_TEXTS = {
    "mean": "mean",
    "p50": "median (nearest rank)",
    "p95": "95th percentile (nearest rank)",
    "p99": "99th percentile (nearest rank)",
}


def _completion() -> dict[str, Meaning]:
    """Of messages that began within the phase, all or those of a size class."""
    found = {}
    for prefix in CLASS_PREFIXES:
        of = f"{prefix.rstrip('.')} messages" if prefix else "all messages"
        for part, words in _STATISTIC_TEXTS.items():
            time = "from its start until its last octet arrived"
            slow = "the same time as a multiple of what the empty path would have taken"
            found[f"fct_s.{prefix}{part}"] = Meaning(MESSAGES, f"{of}: {words} of the time {time}")
            found[f"slowdown.{prefix}{part}"] = Meaning(MESSAGES, f"{of}: {words} of {slow}")
    return found


def _collectives() -> dict[str, Meaning]:
    """Of rounds of a collective, and of their steps, that began within the phase."""
    time = "from the begin of its first message to the arrival of its last"
    found = {
        "collectives.started": Meaning(MESSAGES, "rounds of a collective that began in the phase"),
        "collectives.completed": Meaning(MESSAGES, "those of which every message has arrived"),
    }
    for part, words in _STATISTIC_TEXTS.items():
        found[f"collective_s.{part}"] = Meaning(MESSAGES, f"{words} of the time of a round, {time}")
        step = f"{words} of the time of a step of a round, {time}"
        found[f"collective_step_s.{part}"] = Meaning(MESSAGES, step)
    return found


_SEEN = {
    "throughput_bps": Meaning(
        CAPTURES, "bits of all frames that came out of it, headers included, per second"
    ),
    "frames.sent": Meaning(CAPTURES, "frames that came out of it, of those that went in"),
    "frames.reordered": Meaning(
        CAPTURES, "of these, those that came out behind one of their flow that went in later"
    ),
    "frames.duplicated": Meaning(CAPTURES, "those that came out once more than they went in"),
    "frames.foreign": Meaning(
        CAPTURES,
        "emulated data and control frames that came out and never went in: damaged, or made up",
    ),
    "feedback.sent": Meaning(CAPTURES, "messages to sources that it made itself"),
    "pause.count": Meaning(CAPTURES, "PAUSE and PFC frames that it sent, those that let go too"),
    "latency_s.mean": Meaning(
        CAPTURES,
        "mean time from our end that a frame went in by to the one that it came out to; what our "
        "own ends take to hand a frame over and to take it in is part of it",
    ),
    "latency_s.p50": Meaning(CAPTURES, "median of the same (nearest rank)"),
    "latency_s.p99": Meaning(CAPTURES, "99th percentile of the same (nearest rank)"),
    "latency_s.max": Meaning(CAPTURES, "the longest of the same"),
}

MEANINGS: dict[str, dict[str, Meaning]] = {
    "port": _QUEUE
    | {
        "utilization": Meaning(
            COUNTER, "bits that left the queue over the integral of its service rate"
        ),
        "recovery_s": Meaning(
            COUNTER,
            "from the phase's start until the throughput of the last 20 ms first reaches 95 % of "
            "the service rate; 0 when it does at the start, null when it never does",
        ),
    },
    "input": {name: meaning for name, meaning in _QUEUE.items() if name not in _AT_OUTPUTS},
    "link": {
        "throughput_bps": Meaning(
            COUNTER, "bits of all frames sent this way, control frames included, per second"
        ),
        "utilization": Meaning(COUNTER, "these bits over the integral of the link's rate"),
        "frames.sent": Meaning(COUNTER, "frames sent this way, control frames included"),
        "frames.dropped": Meaning(
            COUNTER, "frames that a cut link, a full delay line or a lossy one lost"
        ),
        "pause.time_s": Meaning(
            COUNTER, "time in which the sender was held, in any lane, by PAUSE or PFC"
        ),
        "pause.longest_s": _LONGEST,
    },
    "lane": {
        "pause.time_s": Meaning(COUNTER, "time in which this lane of the sender was held"),
        "pause.longest_s": _LONGEST,
    },
    "limiter": {
        "rate_bps.mean": Meaning(GAUGE, "mean of its rate over the samples in which it is active"),
        "rate_bps.sd": Meaning(GAUGE, "standard deviation of the same (of the population)"),
        "rate_bps.min": Meaning(GAUGE, "the smallest of these samples"),
        "rate_bps.max": Meaning(GAUGE, "the largest of these samples"),
        "window_bytes.mean": Meaning(
            GAUGE, "mean of its window while it has one; of algorithms that use acknowledgements"
        ),
        "window_bytes.sd": Meaning(GAUGE, "standard deviation of the same (of the population)"),
        "rtt_s.mean": Meaning(
            GAUGE,
            "mean of the last round trip measured at each sample, from the first one on",
        ),
        "rtt_s.p99": Meaning(GAUGE, "the smallest of these that 99 % of them do not exceed"),
        "active.share": Meaning(GAUGE, "share of the samples in which it is active"),
        "settling_s": Meaning(
            GAUGE,
            "from the phase's start until its rate first is within 10 % of its mean over the last "
            "tenth of the phase; null when it is not active there",
        ),
        "feedback.received": Meaning(COUNTER, "messages that it acted on"),
    },
    "flow": {
        "throughput_bps": _THROUGHPUT,
        **_SENT_BPS,
        "frames.sent": _SENT,
        "frames.received": _RECEIVED,
        "frames.dropped": Meaning(
            RUN, "frames.sent less frames.received: lost, or under way when the run ended"
        ),
        "frames.refused": _REFUSED,
        "frames.reordered": _REORDERED,
        "frames.retransmitted": Meaning(
            COUNTER, "segments that its transport made again; of transports that leave control"
        ),
    },
    "multicast": {**_SENT_BPS, "frames.sent": _SENT, "frames.refused": _REFUSED},
    "copy": {
        "throughput_bps": _THROUGHPUT,
        "frames.received": _RECEIVED,
        "frames.reordered": _REORDERED,
    },
    "entry": {
        "throughput_bps": Meaning(COUNTER, "of all its flows together"),
        "latency_s.mean": Meaning(
            HISTOGRAM,
            "mean time from the making of a frame by its source until its delivery, host queue "
            "included; each frame counts as the middle of its bin (32 bins per factor of two)",
        ),
        "latency_s.p50": Meaning(HISTOGRAM, "median of the same, linear within its bin"),
        "latency_s.p99": Meaning(HISTOGRAM, "99th percentile of the same, linear within its bin"),
    }
    | {
        name: Meaning(of.basis, f"{of.text}; of entries with several flows")
        for name, of in _FAIRNESS.items()
    },
    "traffic": {"throughput_bps": Meaning(COUNTER, "of all flows together")} | _FAIRNESS,
    "network": {
        "deadlocks": Meaning(RUN, "rings of links that held one another until the run ended")
    },
    "nic": _NOTIFIER
    | {
        "feedback.ignored": Meaning(
            COUNTER,
            "messages for an address that is no flow of this NIC, or to a NIC without limiters",
        ),
        "feedback.unassigned": Meaning(
            COUNTER, "messages for a flow without a limiter when none was free"
        ),
    },
    "sink": dict(_NOTIFIER),
    "switch": {
        "reassembly_bytes.mean": Meaning(
            GAUGE, "mean of the octets that wait for an earlier frame of their flow"
        ),
        "reassembly_bytes.max": Meaning(GAUGE, "the largest sample of the same"),
        "reassembly.gaps": Meaning(
            COUNTER,
            "times that what was missing was given up, for its timeout or for want of memory",
        ),
        "reassembly.late": Meaning(COUNTER, "frames that came after they had been given up"),
    },
    "external": _SEEN
    | {
        "frames.received": Meaning(CAPTURES, "frames that went into it from our ports"),
        "frames.dropped": Meaning(
            CAPTURES,
            "frames to one destination that went in and did not come out; what went in within the "
            "last 10 ms of the run (the longest latency, where that is more) may be under way, and "
            "does not count",
        ),
        "frames.drop_ratio": Meaning(CAPTURES, "the same over frames.received"),
        "departures": Meaning(
            RUN,
            "1 where the oracle found a frame that is not as `as` says, 0 where all are; null "
            "where it cannot follow the device, and without `as`",
        ),
    },
    "external port": dict(_SEEN),
    "messages": _completion()
    | {
        **_collectives(),
        "messages.started": Meaning(MESSAGES, "messages that began within the phase"),
        "messages.completed": Meaning(
            MESSAGES, "those of them that were complete before the run ended"
        ),
    },
}
"""Kind of entity -> metric -> meaning, of every metric in METRICS and of no other."""
