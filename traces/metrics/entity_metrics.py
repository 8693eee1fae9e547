"""Metrics of each kind of entity in one window. Names: field spelling of result.json."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from orchestrator.plan.endpoint_metrics import NAKS, RECEIVED, RESENT, SOURCE, TIMEOUTS
from orchestrator.plan.metric_registry import counted_by
from traces.metrics.sample_statistics import jain, moments, over_time, percentile, spread
from traces.metrics.sample_table import PS, Window
from traces.metrics.transients import is_still, no_swing, recovery_s, settling_s, swings


def longest_pause_s(window: Window, entity: str) -> float:
    """The longest time held, in seconds; 0 when it never was.

    Where the data path measures each hold (`longest_hold_ps`): the longest that went on in the
    window, from its beginning, which may lie before the window. Else, as of gateware, what the
    counter of time held grew by over samples in a row in which it grew: holds closer than two
    sampling intervals may count as one.
    """
    if window.table.has(entity, "longest_hold_ps"):
        longest = window.table.column(entity, "longest_hold_ps")
        return int(longest[window.first + 1 : window.last + 1].max(initial=0)) / PS
    if not window.count(entity, "paused_ps"):
        return 0.0
    held = window.table.column(entity, "paused_ps")[window.first : window.last + 1]
    grew = np.diff(held)
    total = np.concatenate([[0], np.cumsum(grew)])
    at_rest = np.concatenate([[0], np.flatnonzero(grew == 0), [len(grew)]])
    return int(np.diff(total[at_rest]).max()) / PS


Number = int | float | None
Metrics = dict[str, Number]
COUNTED_OF = {
    kind: counted_by(kind) for kind in ("port", "link", "stage", "limiter", "nic", "switch")
}
"""Kind of entity -> metric -> the sampled counter whose increase it is."""
OF_SOURCE = counted_by("flow", SOURCE, RESENT, TIMEOUTS, NAKS)
OF_FLOW = counted_by("flow", SOURCE, RECEIVED)


def ratio(part: float, whole: float) -> float | None:
    """`part / whole`; None when there is no whole."""
    return part / whole if whole else None


def counters(window: Window, entity: str, names: dict[str, str]) -> Metrics:
    """Increments of the sampled counters of `metric: quantity`."""
    return {
        metric: window.count(entity, quantity)
        for metric, quantity in names.items()
        if window.table.has(entity, quantity)
    }


def throughput(window: Window, entity: str, quantity: str) -> float | None:
    """Bits per second of a counter of bytes."""
    return ratio(window.count(entity, quantity) * 8, window.seconds)


def rates(window: Window, entity: str, quantity: str) -> np.ndarray:
    """Bits per second of a counter of bytes from each of the equally spaced samples to the next."""
    return np.diff(window.gauge(entity, quantity)) * 8 / window.apart_s


def switch_port(window: Window, entity: str) -> Metrics:
    """An output queue of a switch, and the port it feeds."""
    queue = over_time(window.gauge(entity, "queue_bytes"))
    still = is_still(queue)
    level = float(queue[0]) if still else 0.0
    mean, sd = (level, 0.0) if still else moments(queue)  # most queues are empty, most of the time
    found: Metrics = {
        "queue_bytes.mean": mean,
        "queue_bytes.sd": sd,
        "queue_bytes.max": queue_max(window, entity, queue),
        "queue_bytes.p99": level if still else percentile(queue, 0.99),
        **(no_swing(level, len(queue)) if still else swings(window, queue)),
    }
    if window.table.has(entity, "bytes_out"):
        found["throughput_bps"] = throughput(window, entity, "bytes_out")
        if window.table.has(entity, "service_rate"):
            sent = window.count(entity, "bytes_out") * 8
            found["utilization"] = ratio(sent, window.bits(entity, "service_rate"))
            found["recovery_s"] = recovery_s(window, entity)
    if window.table.has(entity, "frames_in") and window.table.has(entity, "frames_dropped"):
        came, lost = (window.count(entity, name) for name in ("frames_in", "frames_dropped"))
        if window.table.has(entity, "frames_dropped_early"):
            lost += window.count(entity, "frames_dropped_early")
        found["frames.drop_ratio"] = ratio(lost, came)
    return found | counters(window, entity, COUNTED_OF["port"])


def queue_max(window: Window, entity: str, queue: np.ndarray) -> int | None:
    """The highest queue: exact where the run's maximum fell into this window, else of samples."""
    highest = int(queue.max()) if len(queue) else None
    if window.table.has(entity, "queue_max_bytes"):
        running = window.table.column(entity, "queue_max_bytes")
        grew = running[window.last] > running[window.first] or window.first == 0
        if grew and (highest is None or running[window.last] > highest):
            return int(running[window.last])
    return highest


def link_direction(window: Window, entity: str) -> Metrics:
    """One direction of a link."""
    found: Metrics = {"throughput_bps": throughput(window, entity, "bytes_out")}
    if window.table.has(entity, "rate"):
        sent = window.count(entity, "bytes_out") * 8
        found["utilization"] = ratio(sent, window.bits(entity, "rate"))
    return found | counters(window, entity, COUNTED_OF["link"])


def lane(window: Window, entity: str) -> Metrics:
    """A link, or a lane of one: the time in which its sender was held, and the longest at once."""
    return {
        "pause.time_s": window.count(entity, "paused_ps") / PS,
        "pause.longest_s": longest_pause_s(window, entity),
    }


def stage(window: Window, entity: str) -> Metrics:
    """A stage of a link: the frames that it lost, corrupted, duplicated and held back."""
    return counters(window, entity, COUNTED_OF["stage"])


def limiter(window: Window, entity: str) -> Metrics:
    """A rate limiter of a reaction point; its rates count only while it is active."""
    rate = over_time(window.valid_values(entity, "current_rate"))
    share: Number = 1.0
    if window.table.has(entity, "active"):
        active = over_time(window.gauge(entity, "active")) != 0
        share = float(active.mean()) if len(active) else None
    mean, sd = moments(rate)
    controlled: Metrics = {}
    if window.table.has(entity, "window_bytes"):
        controlled = acknowledged(window, entity)
    return {
        "rate_bps.mean": mean,
        "rate_bps.sd": sd,
        "rate_bps.min": int(rate.min()) if len(rate) else None,
        "rate_bps.max": int(rate.max()) if len(rate) else None,
        "active.share": share,
        "settling_s": settling_s(window, entity) if window.table.has(entity, "active") else None,
        **controlled,
    } | counters(window, entity, COUNTED_OF["limiter"])


def acknowledged(window: Window, entity: str) -> Metrics:
    """A limiter whose reaction point hears acknowledgements: its window, its round trips."""
    size, deviation = moments(over_time(window.valid_values(entity, "window_bytes")))
    trips = over_time(window.valid_values(entity, "rtt_ps")) / PS
    return {
        "window_bytes.mean": size,
        "window_bytes.sd": deviation,
        "rtt_s.mean": moments(trips)[0],
        "rtt_s.p99": percentile(trips, 0.99),
    }


def flow(window: Window, entity: str) -> Metrics:
    """One flow, or what one member of a group receives of it.

    What is under way makes sent - received meaningless but over the whole run.
    """
    found: Metrics = {"throughput_bps": throughput(window, entity, "bytes_received")}
    return found | counters(window, entity, OF_FLOW)


def nic(window: Window, entity: str) -> Metrics:
    """Feedback that found no limiter (unassigned) or was of no use (ignored), and the metrics of
    the notification point of a sink or a NIC."""
    return counters(window, entity, COUNTED_OF["nic"])


def source(window: Window, entity: str) -> Metrics:
    """Metrics of the source of a flow."""
    found = counters(window, entity, OF_SOURCE)
    if window.table.has(entity, "bytes_sent"):
        found["sent_bps.mean"] = throughput(window, entity, "bytes_sent")
        found["sent_bps.sd"] = moments(rates(window, entity, "bytes_sent"))[1]
    return found


def reassembly(window: Window, entity: str) -> Metrics:
    """A switch that restores the order of flows."""
    held = over_time(window.gauge(entity, "reassembly_bytes"))
    return {
        "reassembly_bytes.mean": moments(held)[0],
        "reassembly_bytes.max": int(held.max()) if len(held) else None,
    } | counters(window, entity, COUNTED_OF["switch"])


def router(window: Window, entity: str) -> Metrics:
    """An IP router: frames that it dropped because their TTL ended."""
    return counters(window, entity, COUNTED_OF["switch"])


KINDS: tuple[tuple[tuple[str, ...], Callable[[Window, str], Metrics]], ...] = (
    (("queue_bytes",), switch_port),
    (("paused_ps", "bytes_out"), link_direction),
    (("paused_ps",), lane),
    (("frames_entered",), stage),
    (("current_rate",), limiter),
    (("frames_sent",), source),
    (("bytes_received",), flow),
    (("reassembly_bytes",), reassembly),
    (("frames_ttl_expired",), router),
    (("feedback_ignored",), nic),
    (("feedback_unassigned",), nic),
    (("feedback_sent",), nic),
)
"""An entity is what its sampled quantities say it is."""


COUNTED = 0.5
"""Least share of a phase after the first start of a flow's source for the flow to count in its
fairness: what is on its way to one of a shorter life would be a rate that it never had. A source
that falls silent afterwards received nothing in that time, and counts with that."""


def fairness(window: Window, flows: Mapping[str, float]) -> Metrics:
    """Fairness of the flows' rates from the start of each on; `flows` has the share of the phase
    that follows it."""
    rates = [
        window.count(flow, "bytes_received") / share
        for flow, share in flows.items()
        if share >= COUNTED
    ]
    served = np.array(rates, float)
    return {"fairness.jain": jain(served), "fairness.max_min": spread(served)}


def aggregate_flows(window: Window, flows: Mapping[str, float]) -> Metrics:
    """All flows as one, and how evenly they were served."""
    bits = sum(window.count(flow, "bytes_received") for flow in flows) * 8
    return {
        "throughput_bps": ratio(bits, window.seconds),
    } | fairness(window, flows)


def served(window: Window, flows: Iterable[str]) -> Metrics:
    """How many flows received something."""
    return {"flows.served": sum(window.count(one, "bytes_received") > 0 for one in flows)}
