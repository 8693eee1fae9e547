"""Metrics of traffic entries, of all traffic, of messages and of the network."""

from __future__ import annotations

from orchestrator.plan.endpoint_metrics import SENT_CURVE
from orchestrator.plan.metric import (
    BITS_PER_SECOND,
    COUNT,
    COUNTER,
    HISTOGRAM,
    MESSAGES,
    RATIO,
    RUN,
    SECONDS,
    Curve,
    Declaration,
    Metric,
)

FAIRNESS_DEFINITIONS = {
    "fairness.jain": (
        RATIO,
        "Jain's index of the flows' rates, (Σx)² / (n Σx²): 1 when all are equal, 1/n at worst. A "
        "flow's rate is what was received of it within the phase over the time that follows the "
        "first start of its source; a source that stops again counts as 0 from then on. Flows "
        "that start after half of the phase do not count; null for fewer than two flows",
    ),
    "fairness.max_min": (
        RATIO,
        "the highest of the same rates over the lowest; null when a flow got nothing",
    ),
    "fairness.window_mean": (
        RATIO,
        "Jain's index while time passes: its mean over windows of a twentieth of the phase, one "
        "for each of up to 200 moments. In a window those flows count whose source was on for half "
        "of it; null where samples are fewer than 40, or no window has two flows",
    ),
    "fairness.window_min": (RATIO, "the lowest index of the same windows"),
    "fairness.settling_s": (
        SECONDS,
        "time from the phase's start until the index of the same windows is 0.95 or more for the "
        "rest of it, by the end of the window; 0 when it always is, null when it is not at the end",
    ),
}
"""Fairness among several flows: metric -> unit, meaning."""


def _fairness(note: str = "") -> tuple[Metric, ...]:
    return tuple(
        Metric(name, unit, COUNTER, f"{text}; {note}" if note else text)
        for name, (unit, text) in FAIRNESS_DEFINITIONS.items()
    )


def _throughput(meaning: str, *, curve: bool) -> Metric:
    return Metric(
        "throughput_bps", BITS_PER_SECOND, COUNTER, meaning, curve=curve, label="throughput"
    )


def _served(note: str = "") -> Metric:
    text = "number of flows of which a frame was received within the phase"
    return Metric("flows.served", COUNT, COUNTER, f"{text}; {note}" if note else text)


ENTRY: tuple[Declaration, ...] = (
    SENT_CURVE,
    _throughput("of all its flows together", curve=True),
    Curve("latency_s", SECONDS, "latency", over_time=False),
    Metric(
        "latency_s.mean",
        SECONDS,
        HISTOGRAM,
        "mean time from the making of a frame by its source until its delivery, host queue "
        "included; each frame counts as the middle of its bin (32 bins per factor of two)",
        label="mean latency",
    ),
    Metric("latency_s.p50", SECONDS, HISTOGRAM, "median of the same, linear within its bin"),
    Metric(
        "latency_s.p99", SECONDS, HISTOGRAM, "99th percentile of the same, linear within its bin"
    ),
    *_fairness("of entries with several flows"),
    _served("of entries with several flows"),
)
TRAFFIC: tuple[Declaration, ...] = (
    _throughput("of all flows together", curve=False),
    *_fairness(),
    _served(),
)
NETWORK: tuple[Declaration, ...] = (
    Metric("deadlocks", COUNT, RUN, "rings of links that held one another until the run ended"),
)

STATISTICS = {
    "mean": "mean",
    "p50": "median (nearest rank)",
    "p95": "95th percentile (nearest rank)",
    "p99": "99th percentile (nearest rank)",
}
"""Suffix of a metric of messages -> the statistic."""
SIZE_CLASSES = ("small", "medium", "large")
"""Of messages: up to 100 KB, up to 10 MB, more (as in pFabric)."""


def _statistics(prefix: str, unit: str, of: str) -> tuple[Metric, ...]:
    """The metrics of one quantity of messages, one for each statistic."""
    units = {"s": SECONDS, "ratio": RATIO}
    return tuple(
        Metric(f"{prefix}{part}", units[unit], MESSAGES, of.format(words))
        for part, words in STATISTICS.items()
    )


def _completion(quantity: str, unit: str, text: str) -> tuple[Metric, ...]:
    """One quantity of the messages that began within the phase: of all, and of each size class."""
    found: tuple[Metric, ...] = ()
    for name in ("", *SIZE_CLASSES):
        prefix, of = (f"{name}.", f"{name} messages") if name else ("", "all messages")
        found += _statistics(f"{quantity}.{prefix}", unit, f"{of}: {{}} of {text}")
    return found


ROUND = "from the begin of its first message to the arrival of its last"
OF_MESSAGES: tuple[Declaration, ...] = (
    Curve("fct_s", SECONDS, "completion time", over_time=False),
    Curve("slowdown", RATIO, over_time=False),
    *_completion("fct_s", "s", "the time from its start until its last octet arrived"),
    *_completion(
        "slowdown", "ratio", "the same time as a multiple of what the empty path would have taken"
    ),
    *_statistics("collective_s.", "s", f"{{}} of the time of a round, {ROUND}"),
    *_statistics("collective_step_s.", "s", f"{{}} of the time of a step of a round, {ROUND}"),
    Metric(
        "collectives.started",
        COUNT,
        MESSAGES,
        "rounds of a collective that began in the phase",
    ),
    Metric("collectives.completed", COUNT, MESSAGES, "those of which every message has arrived"),
    Metric("messages.started", COUNT, MESSAGES, "messages that began within the phase"),
    Metric(
        "messages.completed",
        COUNT,
        MESSAGES,
        "those of them that were complete before the run ended",
    ),
)
"""Of flows that carry messages: completion times, and as multiples of those of an empty path; of
rounds of collectives, and of their steps."""
