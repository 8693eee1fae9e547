"""Events of every kind of algorithm, for which its kernels are called.

An event's number is its place in the `kernels` of an instance. A kind has as many as it needs;
`orchestrator.algorithm` says what each hands over and what the kernel may answer.
"""

from __future__ import annotations

CP_ARRIVAL, CP_DEPARTURE, CP_TIMER, CP_PROBE = range(4)
NP_ARRIVAL, NP_PROBE = range(2)
RP_FEEDBACK, RP_SENT, RP_TIMER, RP_START, RP_ACKED, RP_LOST = range(6)
RP_BOUND, RP_STARTED, RP_ENDED, RP_NAMED = range(6, 10)
PAUSE_ENQUEUE, PAUSE_DEQUEUE, PAUSE_TIMER = range(3)
DELAY_LINE_DELAY = 0
TRAFFIC_NEXT = 0
TRANSPORT_SEND, TRANSPORT_ACKNOWLEDGED, TRANSPORT_ARRIVED = range(3)
TRANSPORT_TRIMMED, TRANSPORT_CREDITED = range(3, 5)
RECEIVER_ARRIVED, RECEIVER_TIMER, RECEIVER_FLOW_BEGINS = range(3)
WATCHDOG_HELD, WATCHDOG_TIMER = range(2)

EVENTS: dict[str, dict[str, int]] = {
    "congestion_point": {
        "arrival": CP_ARRIVAL,
        "departure": CP_DEPARTURE,
        "timer": CP_TIMER,
        "probe": CP_PROBE,
    },
    "notification_point": {"arrival": NP_ARRIVAL, "probe": NP_PROBE},
    "reaction_point": {
        "feedback": RP_FEEDBACK,
        "sent": RP_SENT,
        "timer": RP_TIMER,
        "start": RP_START,
        "acked": RP_ACKED,
        "lost": RP_LOST,
        "bound": RP_BOUND,
        "started": RP_STARTED,
        "ended": RP_ENDED,
    },
    "pause": {"enqueue": PAUSE_ENQUEUE, "dequeue": PAUSE_DEQUEUE, "timer": PAUSE_TIMER},
    "delay_line": {"delay": DELAY_LINE_DELAY},
    "traffic": {"next": TRAFFIC_NEXT},
    "transport": {
        "send": TRANSPORT_SEND,
        "acknowledged": TRANSPORT_ACKNOWLEDGED,
        "arrived": TRANSPORT_ARRIVED,
        "trimmed": TRANSPORT_TRIMMED,
        "credited": TRANSPORT_CREDITED,
    },
    "receiver": {
        "arrived": RECEIVER_ARRIVED,
        "timer": RECEIVER_TIMER,
        "flow_begins": RECEIVER_FLOW_BEGINS,
    },
    "watchdog": {"held": WATCHDOG_HELD, "timer": WATCHDOG_TIMER},
}
"""The names that algorithms give their kernels by, for every kind."""
MOST_TIMERS = 4
"""Timers that a reaction point can name; their kernels have the places from RP_NAMED on."""
MOST_EVENTS = max(RP_NAMED + MOST_TIMERS, *(len(events) for events in EVENTS.values()))

LANES = range(16, 24)
"""Answers of a congestion point that name a lane: LANE plus a priority."""
ANSWERS: dict[tuple[str, str], frozenset[int]] = {
    ("congestion_point", "arrival"): frozenset({*range(10), *LANES}),
    ("congestion_point", "departure"): frozenset({*range(6), 7, 8, 9}),
    ("congestion_point", "timer"): frozenset({0, 2, 3, 4}),
    ("congestion_point", "probe"): frozenset({0}),
    ("transport", "send"): frozenset({0, 1, 2}),
    ("transport", "acknowledged"): frozenset({0}),
    ("transport", "credited"): frozenset({0}),
    ("watchdog", "held"): frozenset({0}),
    ("watchdog", "timer"): frozenset({0}),
}
"""Answers of a kernel that have a meaning, by kind and event; of those that are not here, 0 and 1.
"""
AMOUNTS = ("delay_line", "traffic")
"""Kinds whose kernels answer a time."""


def answers_of(kind: str, event: str) -> frozenset[int] | None:
    """Answers of a kernel that have a meaning; None where any number has."""
    return None if kind in AMOUNTS else ANSWERS.get((kind, event), frozenset({0, 1}))
