"""Ranges of the fields of all records: declared once, with a reason each.

Proofs assume these ranges: the values that a plan may have (orchestrator.plan.field_types), that
fields
of frames hold, and that a run of an hour can reach. A kernel that writes a field of its record must
leave it within its range.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firmware.proof.term_graph import Interval
from orchestrator.engine.frames.telemetry_header import MOST_STAMPS
from orchestrator.engine.records import (
    FLOW,
    FRAME,
    LIMITER,
    MOST_ENTROPY,
    NEVER,
    NODE,
    PORT,
    QUEUE,
    SCHEDULER,
)
from orchestrator.plan.metric import COUNTER
from orchestrator.plan.metric_registry import ENTITIES


@dataclass(frozen=True)
class Range:
    """Inclusive bounds, with the reason."""

    bounds: Interval
    reason: str
    adds: int = 0
    """Largest increment of a total by one event; its bounds are those of a whole run."""


MOST_NOW = 3600 * 10**12
MOST_RATE = 10**13
MOST_FRAME = 65_535
MOST_OCTETS = MOST_RATE // 8 * 3600
EVENTS = 1 << 43
"""Most calls of a kernel in a run: an hour of the shortest frames (84 octets with their gap) at the
fastest link is 5.4 * 10^13 / 10 of them, with one event each."""

NOW = Range((0, MOST_NOW), "ps: a run lasts an hour at most (plan.fields.Instant)")
TIME = Range((0, NEVER + MOST_NOW), "ps: a time of the run, one that is set from it, or NEVER")
PAST = Range((0, MOST_NOW), "ps: a time of the run that is over")
SPAN = Range((1, MOST_NOW), "ps: a span within the run")
DRIFT = Range((0, (1000 << 30) // 10**6), "2^-30: up to 1 000 ppm slow (plan.model)")
RATE = Range((1000, MOST_RATE), "bit/s: of a link (plan.fields.LineRate)")
SPEED = Range((0, MOST_RATE), "bit/s: up to that of a link")
LENGTH = Range((0, MOST_FRAME), "octets: what a length of 16 bits holds; plans have 9216 at most")
QUEUED = Range(
    (0, 10**9 + MOST_FRAME), "octets: a buffer (plan.fields.Buffer), and a frame above it"
)
ROOM = Range((0, NEVER), "octets: a buffer, or NEVER without a bound")
OCTETS = Range((0, MOST_OCTETS), "octets: an hour of the fastest link", 1 << 32)
COUNT = Range((0, EVENTS), "events of a run", 1 << 12)
COUNTER_INCREASE = Range(
    (0, (1 << 31) - 1), "more than before: totals are carried modulo 2^32 (go-back-n)"
)
INDEX = Range((-2, 1 << 31), "an index, NONE or ELSEWHERE")
FLAG = Range((0, 1), "0 or 1")
MESSAGE_VALUE = Range(
    (0, MOST_RATE), "what a message says: a feedback, quanta, or bit/s of a probe"
)
SMALL = Range((0, 255), "a number of 8 bits")
QUEUE_DIFFERENCE = Range(
    (-(10**9) - MOST_FRAME, 10**9 + MOST_FRAME), "octets: the difference of two queues"
)
TOS = Range((0, 255), "the IP TOS octet; of a CNM a length, of PFC priorities")
WINDOW = Range((0, 1 << 40), "octets under way: 1 s of the fastest link, nearly")
FREE = Range((-(1 << 62), 1 << 62), "a number of the transport's or the program's own")


def _all(names: str, one: Range) -> dict[str, Range]:
    return dict.fromkeys(names.split(), one)


FRAMES = {
    **_all("next flow source destination port held unit original side behind", INDEX),
    **_all("kind priority copies hops", SMALL),
    **_all("created entered", PAST),
    "sequence": Range(
        (0, MOST_OCTETS), "a number of a segment; octets, of a credit or its request"
    ),
    "length": LENGTH,
    "due": TIME,
    "feedback": MESSAGE_VALUE,
    "offset": QUEUE_DIFFERENCE,
    "delta": QUEUE_DIFFERENCE,
    "inner": Range((-1, MOST_ENTROPY), "a path entropy, or NONE"),
    "mark": Range((0, MOST_FRAME), TOS.reason),
}
ANSWERS = {
    **_all(
        "offset delta",
        Range((QUEUE_DIFFERENCE.bounds[0], MOST_OCTETS), "a segment's number, or octets"),
    ),
    "inner": Range((-1, (1 << 32) - 1), "a map of 32 segments, a path entropy, or NONE"),
}
"""Ranges of these fields in events that may be acknowledgements."""
QUEUES = {
    **_all("port input head tail congestion_point pause request_head request_tail", INDEX),
    **_all("first_unit free_unit notification_point watchdog", INDEX),
    **_all("fly_head fly_tail awaited awaits_next before_tail", INDEX),
    **_all("priorities", SMALL),
    **_all("crossbar pausing deaf calm", FLAG),
    "stance": Range((0, 2), "OBEYS, IGNORES or DROPS"),
    **_all("bytes bytes_max reserved", QUEUED),
    **_all("frames units timed_octets", COUNT),
    **{one.record_field: COUNT for one in ENTITIES["port"] if one.kind == COUNTER},
    **_all("bytes_out bytes_came", OCTETS),
    "capacity": ROOM,
    **_all("service_rate pause_rate line_rate", RATE),
    **_all("timed_rate feedback_value", SPEED),
    **_all("timed_ps congestion_point_timer pause_timer watchdog_timer held_until", TIME),
    **_all("lfsr order_key", Range((0, (1 << 32) - 1), "32 bits")),
    **_all("marks_arriving marks_leaving buffer_management", INDEX),
    **_all("free headroom", QUEUED),
    "limit": ROOM,
    "contested": PAST,
    "contenders": COUNT,
}
NODES = {
    **_all("address first_port first_limiter reacting_head reacting_tail", INDEX),
    **_all("notification_point host_wire receiver classifier", INDEX),
    **_all("kind ports limiters", Range((0, 1 << 20), "so many at the most")),
    **_all("host_bytes host_capacity shared_bytes shared_capacity", ROOM),
    **_all("order_capacity order_bytes", ROOM),
    **_all("feedback_ignored feedback_unassigned unroutable foreign copied", COUNT),
    **_all("order_gaps frames_late feedback_sent echoes_sent credits_sent ttl_expired", COUNT),
    **_all("reaction_time order_timeout receiver_timer", TIME),
    **_all("routed host_port forwards", FLAG),
    "lfsr": Range((0, (1 << 32) - 1), "32 bits"),
    "obeys_pfc": SMALL,
    "receiver_rate": RATE,
    "receiver_overhead": Range((0, 1000), "octets (plan.fields.Overhead)"),
}
PORTS = {
    **_all("node address peer wire delay_line first_lane turn control_head", INDEX),
    **_all("control_tail input line_head line_tail agenda", INDEX),
    "next_hop": Range((-1, (1 << 48) - 1), "a MAC address, or NONE"),
    **_all("up in_order ahead", FLAG),
    **_all("scheduler injector", INDEX),
    "late": Range((0, 3), "not late, or how"),
    "rate": RATE,
    "delay": Range((0, 10 * 10**12), "ps (plan.fields.Delay)"),
    "overhead": Range((0, 1000), "octets (plan.fields.Overhead)"),
    **_all("free_at paused_until next_service timed_ps", TIME),
    **_all("timed_octets frames_out frames_lost pause_received", COUNT),
    "entries": Range((0, 1 << 20), "so many at the most"),
    "timed_rate": SPEED,
    **_all("line_bytes line_capacity", ROOM),
    **_all("patience paused_ps pause_counted last_due reached", TIME),
    **_all("hold_began hold_ended longest_hold_ps sampled_hold_ps", TIME),
    "bytes_out": OCTETS,
    "drift": DRIFT,
}
SCHEDULERS = {
    **_all("port algorithm", INDEX),
    **_all("ready backlogged", Range((0, 255), "a bit for each of 8 priorities")),
    **_all("sent octets", LENGTH),
    **_all("of_flows", FLAG),
    "unready": COUNT,
    "priority": SMALL,
}
LIMITERS = {
    **_all("node flow algorithm", INDEX),
    **_all("active", FLAG),
    "rate": SPEED,
    "target": Range((0, 1 << 60), "bit/s: what an uncapped target grows to (plugins.qcn_rp)"),
    "link_rate": RATE,
    "backlog": ROOM,
    **_all("timer timers soonest", TIME),
    **_all("feedback_received probes_sent", COUNT),
    **_all("tokens depth gain", FREE),
    **_all("tick phase lost_made", PAST),
    **_all("period rtt", SPAN),
    **_all("granularity gain_rate", SPEED),
    "window": WINDOW,
    **_all("flight flight_before", WINDOW),
    **_all("acked marked lost", COUNTER_INCREASE),
    "acked_total": OCTETS,
    "stamps": Range((0, (1 << 63) - 1), "an address"),
    "hops": SMALL,
    "named": Range((0, 4), "timers with a name"),
}
FLOWS = {
    **_all("node port lane source destination algorithm limiter head tail", INDEX),
    **_all("ready_next group order_head first_copy copies first_message message", INDEX),
    **_all("last_message arriving transport sending back entry", INDEX),
    **_all("priority ack_priority mark", SMALL),
    **_all("controlled on ready shared open_loop limited held withdrawn", FLAG),
    "length": LENGTH,
    **_all("next_frame order_until ack_timer", TIME),
    **_all("bytes capacity", ROOM),
    **_all("sequence frames_refused frames_sent frames_received latest", COUNT),
    **_all("frames_reordered order_next available losses highest frames_resent", COUNT),
    **_all("headers_received timeouts naks", COUNT),
    **_all("bytes_sent bytes_received demand octets_made acked marked", OCTETS),
    "mode": Range((0, 3), "where its frames come from"),
    "left": Range((0, 10**12), "octets of a message (plan.fields.MessageSize)"),
    "segment": LENGTH,
    **_all("flight flight_before", WINDOW),
    **_all("lost_made made", PAST),
    "stamps": Range((0, MOST_STAMPS), "hops whose stamps there is room for"),
    "headers": Range((58, 94), "octets: untagged RoCEv2 to two tags and IPv6 (plan.header_table)"),
    "ack_mark": TOS,
    "roce": Range((0, 2), "NOT_ROCE, ROCE_WRITE or ROCE_SEND (engine.records)"),
    "flow_class": Range((0, 7), "class of a flow scheduler (plan.plan_tables.Traffic)"),
    "drift": DRIFT,
    "phase": PAST,
}
RECORDS: dict[str, tuple[np.dtype, dict[str, Range]]] = {
    "frame": (FRAME, FRAMES),
    "message": (FRAME, FRAMES),
    "queue": (QUEUE, QUEUES),
    "node": (NODE, NODES),
    "port": (PORT, PORTS),
    "limiter": (LIMITER, LIMITERS),
    "flow": (FLOW, FLOWS),
    "scheduler": (SCHEDULER, SCHEDULERS),
}
ENTITY = {
    "congestion_point": "queue",
    "notification_point": "node",
    "reaction_point": "limiter",
    "pause": "queue",
    "delay_line": "port",
    "traffic": "flow",
    "transport": "flow",
    "receiver": "node",
    "watchdog": "queue",
    "scheduler": "scheduler",
    "buffer_management": "queue",
}
KEPT = {"limiter": {"window": (0, 0), "rate": RATE.bounds, "target": RATE.bounds}}
"""Fields of an entity that only its kernels write, with their initial values: the assembly gives a
limiter the rate of its link (assembly.node_rows), and a new flow finds no window
(engine.node.rate_limiter). Their bounds are searched as those of a state."""
SETTINGS = (
    *("link_rate", "line_rate", "service_rate", "pause_rate", "receiver_rate", "period"),
    *("granularity", "depth", "overhead", "receiver_overhead", "capacity", "segment", "headers"),
    *("stamps", "roce"),
)
"""Fields of entities that the assembly sets and events do not change."""
FEEDBACK_BITS = Range((0, 63), "the 6 bits of a message; only who sends probes hears an echo")
LFSR = Range((1, (1 << 32) - 1), "a register of 32 bits that never is 0")


def bounds_after_event(kind: str, name: str, bounds: Interval) -> Interval:
    """Range in which an event may leave a field that was within `bounds`: a total may have grown,
    as its bounds are those of a whole run."""
    fields = RECORDS[kind][1] if kind in RECORDS else {}
    return bounds[0], bounds[1] + (fields[name].adds if name in fields else 0)
