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
SCHEDULER_CHOOSE, SCHEDULER_SENT = range(2)
BUFFER_LIMIT = 0

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
    "scheduler": {"choose": SCHEDULER_CHOOSE, "sent": SCHEDULER_SENT},
    "buffer_management": {"limit": BUFFER_LIMIT},
}
"""The names that algorithms give their kernels by, for every kind."""
MOST_TIMERS = 4
"""Timers that a reaction point can name; their kernels have the places from RP_NAMED on."""
MOST_EVENTS = max(RP_NAMED + MOST_TIMERS, *(len(events) for events in EVENTS.values()))
