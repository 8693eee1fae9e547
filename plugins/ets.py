"""Enhanced transmission selection (IEEE 802.1Q-2018, 8.6.8.4 and clause 37; 802.1Qaz).

Each priority is a traffic class of its own. One with a share of 0 % is served by strict priority,
and before all others; the rest of the port goes to the classes with a share, in proportion to their
shares while they have frames. What a class leaves unused goes to the others. The credit-based
shaper is no part of it.

The standard leaves the algorithm open and asks for shares within 10 % of the link's rate; this is
deficit round robin with quanta in proportion to the shares, which keeps to them within a frame.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field, model_validator

from plugins.deficit_round_robin import BOUNDS, charge_deficit, next_by_deficit
from plugins.deficit_round_robin import STATE as DEFICITS
from plugins.strict_priority import highest_of
from tailback.plugin import NOTHING, Algorithm, Params, compiled, scheduler

QUANTUM_OF_PERCENT = 150
"""Octets at each turn for 1 %: a class with 10 % sends a full frame at each of its turns."""


def _share(priority: int) -> int:
    text = f"% of the rest for priority (or flow class) {priority}; 0: strict priority"
    return Field(0, ge=0, le=100, description=text)


class Ets(Params):
    """Bandwidth table of 802.1Qaz, a share for each priority."""

    share_0: int = _share(0)
    share_1: int = _share(1)
    share_2: int = _share(2)
    share_3: int = _share(3)
    share_4: int = _share(4)
    share_5: int = _share(5)
    share_6: int = _share(6)
    share_7: int = _share(7)

    def shares(self) -> list[int]:
        """Percent of each priority, 0 to 7."""
        return [int(getattr(self, f"share_{priority}")) for priority in range(8)]

    @model_validator(mode="after")
    def _adds_up(self) -> Ets:
        total = sum(self.shares())
        if total not in (0, 100):
            raise ValueError(f"the shares come to {total} %; 100 % in all, or none, is expected")
        return self

    def unfit_for(self, priorities: tuple[int, ...]) -> str | None:
        """A share of a priority without a lane, or of a class without a flow, is refused: no frame
        could use it."""
        shares = self.shares()
        for priority in range(8):
            if shares[priority] and priority not in priorities:
                return (
                    f"share_{priority} is of a priority without a lane, or of a class without a "
                    "flow; 0 is expected, or traffic of that priority or flow_class, or for lanes "
                    f"more_priorities = [{priority}]"
                )
        return None


STATE = np.dtype([*DEFICITS.descr, ("by_share", np.int64)])
"""`by_share`: 1: the class that was chosen last has a share."""


@compiled
def _set_quanta(state, params):
    """Quanta by the shares, and the set of priorities that have one (bit n: priority n)."""
    state.quanta[0] = params.share_0 * QUANTUM_OF_PERCENT
    state.quanta[1] = params.share_1 * QUANTUM_OF_PERCENT
    state.quanta[2] = params.share_2 * QUANTUM_OF_PERCENT
    state.quanta[3] = params.share_3 * QUANTUM_OF_PERCENT
    state.quanta[4] = params.share_4 * QUANTUM_OF_PERCENT
    state.quanta[5] = params.share_5 * QUANTUM_OF_PERCENT
    state.quanta[6] = params.share_6 * QUANTUM_OF_PERCENT
    state.quanta[7] = params.share_7 * QUANTUM_OF_PERCENT
    shared = 0
    for priority in range(8):
        if state.quanta[priority] > 0:
            shared |= 1 << priority
    return shared


def on_choose(state, params, scheduler, frame, now, message):
    """A strict priority with a frame, the highest one; else a class by its share."""
    shared = _set_quanta(state, params)
    strict = scheduler.ready & ~shared
    state.by_share = 0
    if strict != 0:
        return highest_of(strict)
    state.by_share = 1
    return next_by_deficit(state, scheduler, shared)


def on_sent(state, params, scheduler, frame, now, message):
    """A frame of a class with a share is taken off its deficit."""
    if state.by_share == 1:
        charge_deficit(state, scheduler)
    return NOTHING


ETS: Algorithm = scheduler(
    "ets",
    "serves strict priorities first and shares the rest by percent (802.1Qaz)",
    Ets,
    STATE,
    choose=on_choose,
    sent=on_sent,
    bounds=BOUNDS,
)
