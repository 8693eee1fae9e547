"""The next thing to do: a tournament over the wake times of all actors.

Row p of `tree` is (time, actor) of the earliest below place p; row 1 is the earliest of all, leaves
start at half of the rows. Of equal times the lower actor number wins, so that a run has one order
of events. The way up is taken to its end without looking whether anything changes: the branch
would cost more than the few levels it saves.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.jit import inlined
from orchestrator.engine.records import NEVER


def tournament(actors: int) -> np.ndarray:
    """A tree of at least `actors` leaves, none of which wakes: int64[2 * leaves, 2]."""
    leaves = 1 << max((actors - 1).bit_length(), 1)
    tree = np.full((2 * leaves, 2), NEVER, np.int64)
    tree[leaves:, 1] = np.arange(leaves)
    for place in range(leaves - 1, 0, -1):
        tree[place, 1] = tree[2 * place, 1]
    return tree


@inlined
def wake_at(w, actor, time):  # type: ignore[no-untyped-def]
    """Let `actor` wake at `time` (ps; NEVER: not at all) and at no other time."""
    tree = w.tree
    place = (tree.shape[0] >> 1) + actor
    if tree[place, 0] == time:
        return
    tree[place, 0] = time
    while place > 1:
        above = place >> 1
        rival = tree[place ^ 1, 0]
        if rival - (place & 1) < time:  # on the left an equal time wins
            time = rival
            actor = tree[place ^ 1, 1]
            if tree[above, 1] == actor:
                return  # it was ahead before: further up nothing has changed
        place = above
        tree[place, 0] = time
        tree[place, 1] = actor


@inlined
def wake_time(w, actor):  # type: ignore[no-untyped-def]
    """When `actor` wakes (ps)."""
    return w.tree[(w.tree.shape[0] >> 1) + actor, 0]
