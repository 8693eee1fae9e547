"""Fields that kernels may assign to, by kind of algorithm, and the values that mean something.

The engine reads no other assignment, or works with it as if the engine had made it: a queue that a
kernel empties loses count of its frames. `orchestrator.kernel_contracts` says how each takes
effect; `engine.kernel_guards` refuses other values as they are stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from orchestrator.engine.records import (
    FLOW,
    LIMITER,
    MOST_ENTROPY,
    NEVER,
    NODE,
    NONE,
    QUEUE,
)
from orchestrator.engine.records import FRAME as FRAME_RECORD

ENTITY, FRAME, MESSAGE = 2, 3, 5
"""Places of the records among the arguments of a kernel."""
SETTABLE: Mapping[str, Mapping[int, frozenset[str]]] = {
    "congestion_point": {
        ENTITY: frozenset({"congestion_point_timer", "feedback_value"}),
        FRAME: frozenset({"mark", "feedback"}),
    },
    "notification_point": {ENTITY: frozenset(), FRAME: frozenset({"mark"})},
    "reaction_point": {
        ENTITY: frozenset({"rate", "target", "active", "timer", "timers", "window"}),
        FRAME: frozenset({"inner"}),
    },
    "pause": {ENTITY: frozenset({"pause_timer"}), FRAME: frozenset()},
    "delay_line": {ENTITY: frozenset(), FRAME: frozenset()},
    "traffic": {ENTITY: frozenset({"length"}), FRAME: frozenset()},
    "transport": {
        ENTITY: frozenset(
            [
                *("next_frame", "ack_timer", "lost_made", "withdrawn"),
                *("acked", "marked", "losses", "flight", "timeouts", "naks"),
            ]
        ),
        FRAME: frozenset({"created", "feedback"}),
    },
    "receiver": {ENTITY: frozenset({"receiver_timer"}), FRAME: frozenset()},
    "watchdog": {
        ENTITY: frozenset({"stance", "watchdog_timer", "storms", "storms_over"}),
        FRAME: frozenset(),
    },
    "scheduler": {ENTITY: frozenset(), FRAME: frozenset()},
    "buffer_management": {ENTITY: frozenset(), FRAME: frozenset()},
}
"""Kind -> place -> fields."""
MESSAGE_FIELDS = frozenset(
    [
        *("kind", "feedback", "priority", "offset", "delta", "mark"),
        *("sequence", "inner", "flow", "created", "copies", "due"),
    ]
)
"""Fields of `message` that one answer or another reads."""
TIMERS: Mapping[str, str] = {
    "congestion_point": "congestion_point_timer",
    "pause": "pause_timer",
    "reaction_point": "timer",
    "receiver": "receiver_timer",
    "watchdog": "watchdog_timer",
}
"""Kind -> the timer of its entity, for which its kernel `timer` is called."""


BEFORE_RUN = "no time is below 0; one that is over is due a nanosecond later"
"""Said of times: -1 mostly stands for none, and a difference below 0 for a mistake in its sign."""


class Bounds(NamedTuple):
    """Least and most of a field, both included."""

    record: str
    """Word for its record in messages: limiter, flow, queue, node, frame, message."""
    field: str
    least: int | str
    """A name: what that field of the same record has."""
    most: int

    def hold(self, value: int, record: Any) -> bool:
        """True if a value lies between them."""
        least = record[self.least] if isinstance(self.least, str) else self.least
        return bool(int(least) <= value <= self.most)

    @property
    def accepted(self) -> str:
        """What is accepted, for people."""
        least = f"{self.record}.{self.least}" if isinstance(self.least, str) else self.least
        text = f"{least} to {'NEVER' if self.most == NEVER else self.most} are accepted"
        return (
            f"{text}; {BEFORE_RUN}" if self.field in _TIMES.get(self.record, "").split() else text
        )


MOST_RATE = 10**13
"""bit/s: the fastest link of a plan."""
LONGEST_FRAME = 9216
"""Octets without FCS, as in `orchestrator.plan.field_types`, which lies above."""
_TIMES = {
    "queue": "congestion_point_timer pause_timer watchdog_timer",
    "limiter": "timer timers",
    "flow": "next_frame ack_timer lost_made",
    "node": "receiver_timer",
}
_COUNTS = {
    "queue": "storms storms_over",
    "flow": "acked marked losses flight flight_before timeouts naks",
    "limiter": "window",
}
BOUNDS: tuple[Bounds, ...] = (
    *(
        Bounds(record, field, 0, NEVER)
        for table in (_TIMES, _COUNTS)
        for record, fields in table.items()
        for field in fields.split()
    ),
    Bounds("queue", "stance", 0, 2),
    Bounds("queue", "feedback_value", 0, MOST_RATE),
    Bounds("limiter", "rate", 0, MOST_RATE),
    Bounds("limiter", "target", 0, NEVER),
    Bounds("limiter", "active", 0, 1),
    Bounds("flow", "length", "headers", LONGEST_FRAME),
    Bounds("flow", "withdrawn", 0, 1),
    Bounds("frame", "mark", 0, 255),
    Bounds("frame", "created", 0, NEVER),
    Bounds("frame", "feedback", 0, MOST_RATE),
    Bounds("frame", "inner", NONE, MOST_ENTROPY),
)
"""Bounds of fields that kernels may assign to; the place of each is its number in a fault."""
RECORDS: Mapping[str, np.dtype] = {
    "queue": QUEUE,
    "limiter": LIMITER,
    "flow": FLOW,
    "node": NODE,
    "frame": FRAME_RECORD,
}


AT_END = frozenset({"rate", "target", "window"})
"""Of a limiter: kernels compute them in steps, so that what one leaves at its end counts."""


def numbered_bounds(record: str) -> dict[str, tuple[int, Bounds]]:
    """Field -> number and bounds, of a record of that word."""
    return {one.field: (place, one) for place, one in enumerate(BOUNDS) if one.record == record}


def word_of(entity: np.dtype) -> str:
    """Word for the record of an entity; empty: kernels assign to none of its fields."""
    return next((word for word, dtype in RECORDS.items() if dtype == entity), "")
