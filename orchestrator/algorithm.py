"""What an algorithm is: parameters, state and kernels, for one kind of place in a node.

A kernel is a plain Python function `kernel(state, params, entity, frame, now, message) -> int`
written in the subset that numba compiles. `state` and `params` are records of the algorithm's own
fields, `entity` is the record it works on (see below), `frame` and `message` are FRAME records
(orchestrator.node.records), `now` is in ps. All fields are int64.

=================  =========  ============================================================
kind               entity     kernels and what they return
=================  =========  ============================================================
congestion_point   QUEUE      arrival, departure: 0 or the frame whose source is told (1: this
                              one, 2: the one at the head, 3: one in an occupied unit drawn at
                              random, 4: one of the source that occupies the most), with feedback,
                              offset and delta in `message`, for 3 also the draws before a scan in
                              `message.mark` (0: no bound); 3 and 4 need parameters whose
                              `keeps_units` is true; timer (`queue.congestion_point_timer`):
                              0, 2, 3 or 4
reaction_point     LIMITER    feedback, sent, timer (`limiter.timer`): 0; they set `rate`,
                              `target`, `active`, `timer`
pause              QUEUE      enqueue, dequeue, timer (`queue.pause_timer`): 1 to send PAUSE
                              with the quanta in `message.feedback`, or PFC for the queue's lane
                              where `message.kind` is set to that
delay_line         PORT       delay: ps on the way after the last bit was sent
traffic            FLOW       next: ps to the source's next frame; may change `flow.length`
=================  =========  ============================================================

A state field named `lfsr` is seeded from the plan, differently for every instance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from orchestrator.node.records import FLOW, LIMITER, ON_DEPARTURE, ON_FRAME, ON_TIMER, PORT, QUEUE
from orchestrator.params import Params

Kernel = Callable[..., int]

ENTITIES: dict[str, np.dtype] = {
    "congestion_point": QUEUE,
    "reaction_point": LIMITER,
    "pause": QUEUE,
    "delay_line": PORT,
    "traffic": FLOW,
}
SLOTS: dict[str, dict[str, int]] = {
    "congestion_point": {"arrival": ON_FRAME, "departure": ON_DEPARTURE, "timer": ON_TIMER},
    "reaction_point": {"feedback": ON_FRAME, "sent": ON_DEPARTURE, "timer": ON_TIMER},
    "pause": {"enqueue": ON_FRAME, "dequeue": ON_DEPARTURE, "timer": ON_TIMER},
    "delay_line": {"delay": ON_FRAME},
    "traffic": {"next": ON_TIMER},
}
EVERY_TARGET = frozenset({"simulated", "software"})


@dataclass(frozen=True)
class Algorithm:
    """One algorithm as a plugin contributes it. Raises ValueError when it cannot be used."""

    name: str
    kind: str
    summary: str
    params: type[Params]
    state: np.dtype
    kernels: Mapping[str, Kernel]
    targets: frozenset[str] = EVERY_TARGET
    origin: str = field(default="", compare=False)
    """Where it was loaded from; the registry fills it in."""

    def __post_init__(self) -> None:
        if self.kind not in SLOTS:
            raise ValueError(f"{self.name}: kind {self.kind!r} is none of {', '.join(SLOTS)}")
        for event in self.kernels:
            if event not in SLOTS[self.kind]:
                known = ", ".join(SLOTS[self.kind])
                raise ValueError(f"{self.name}: a {self.kind} has no kernel {event!r} ({known})")
        for name in self.state.names or ():
            if self.state[name].base != np.int64:
                raise ValueError(f"{self.name}: state field {name} must be int64")

    def kernel_slots(self) -> list[Kernel | None]:
        """The kernels by slot: ON_FRAME, ON_DEPARTURE, ON_TIMER."""
        slots: list[Kernel | None] = [None, None, None]
        for event, kernel in self.kernels.items():
            slots[SLOTS[self.kind][event]] = kernel
        return slots


def _maker(kind: str) -> Callable[..., Algorithm]:
    def make(
        name: str, summary: str, params: type[Params], state: np.dtype, **kernels: Kernel
    ) -> Algorithm:
        return Algorithm(name, kind, summary, params, state, kernels)

    make.__name__ = kind
    make.__doc__ = f"A {kind}; kernels by keyword: {', '.join(SLOTS[kind])}."
    return make


congestion_point = _maker("congestion_point")
reaction_point = _maker("reaction_point")
pause = _maker("pause")
delay_line = _maker("delay_line")
traffic = _maker("traffic")
