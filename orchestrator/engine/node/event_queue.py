"""Event queue: a 4-ary tournament tree over the wake times of all actors.

Row p of `tree` is (time, actor) of the earliest below place p, of the four rows from 4 p on; row 1
is the earliest of all, leaves start at half of the rows. Of equal times the lower actor number
wins, so that a run has one order of events. Four rows are a line of the caches: a wake costs half
the lines and half the steps that it would with two. Which of the other three is the earliest does
not depend on who comes up from below, so all rows on the way up are looked at side by side, and
only a single comparison in each waits for the one before.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.cache_aligned import words_by_lines
from orchestrator.engine.index_types import ActorIndex
from orchestrator.engine.jit import inlined
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NEVER


def tournament(actors: int) -> np.ndarray:
    """A tree of at least `actors` leaves, none of which wakes: int64[2 * leaves, 2].

    Its rows begin with a line of the caches. Those that are below nothing stay unused.
    """
    leaves = 4
    while leaves < actors:
        leaves *= 4
    tree = words_by_lines(4 * leaves).reshape(2 * leaves, 2)
    tree[:] = NEVER
    tree[leaves:, 1] = np.arange(leaves)
    level = leaves // 4
    while level > 0:
        tree[level : 2 * level, 1] = tree[4 * level : 8 * level : 4, 1]
        level //= 4
    return tree


@inlined
def wake_at(w: World, actor: ActorIndex, time: int) -> None:
    """Let `actor` wake at `time` (ps; NEVER: not at all) and at no other time."""
    tree = w.tree
    place = (tree.shape[0] >> 1) + actor
    if tree[place, 0] == time:
        return
    tree[place, 0] = time
    while place > 1:
        # the other three; of two, the one on the right has to be sooner than the other to win
        rival, pair = place ^ 1, (place ^ 2) & ~1
        soonest = tree[pair, 0]
        if tree[pair + 1, 0] < soonest:
            soonest = tree[pair + 1, 0]
            pair += 1
        if soonest < tree[rival, 0] + ((place >> 1) & 1):
            rival = pair
        else:
            soonest = tree[rival, 0]
        lost = soonest < time + (rival < place)
        time = soonest if lost else time
        actor = tree[rival if lost else place, 1]
        place >>= 2
        if tree[place, 0] == time and tree[place, 1] == actor:
            return  # further up nothing changes
        tree[place, 0] = time
        tree[place, 1] = actor


@inlined
def wake_time(w: World, actor: ActorIndex) -> int:
    """Wake time of `actor` (ps)."""
    return w.tree[(w.tree.shape[0] >> 1) + actor, 0]
