"""Fields of entities and frames that kernels may assign to, by kind of algorithm.

The engine reads no other assignment, or works with it as if the engine had made it: a queue that a
kernel empties loses count of its frames. `orchestrator.kernel_contracts` says how each takes
effect.
"""

from __future__ import annotations

from collections.abc import Mapping

ENTITY, FRAME = 2, 3
"""Places of the two records among the arguments of a kernel."""
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
    "watchdog": {
        ENTITY: frozenset({"stance", "watchdog_timer", "storms", "storms_over"}),
        FRAME: frozenset(),
    },
    "scheduler": {ENTITY: frozenset(), FRAME: frozenset()},
    "buffer_management": {ENTITY: frozenset(), FRAME: frozenset()},
}
"""Kind -> place -> fields; transports and receivers keep state of their own in theirs."""


def settable_by(kind: str, place: int) -> frozenset[str] | None:
    """Fields that a kernel of this kind may assign to; None: any of this record."""
    return SETTABLE[kind].get(place) if kind in SETTABLE else None
