"""The tournament of wake times against a heap."""

from __future__ import annotations

import heapq

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.compile_options import LINE_OCTETS
from orchestrator.engine.node.event_queue import tournament, wake_at, wake_time
from orchestrator.engine.records import NEVER
from tests.orchestrator.worlds import flows_only

TIMES = st.one_of(st.integers(0, 20), st.integers(0, NEVER - 1), st.just(NEVER))


class HeapOfWakes:
    """The same with heapq: an entry that was superseded is passed over when it comes up."""

    def __init__(self) -> None:
        self.heap: list[tuple[int, int]] = []
        self.times: dict[int, int] = {}

    def wake_at(self, actor: int, time: int) -> None:
        self.times[actor] = time
        heapq.heappush(self.heap, (time, actor))

    def first(self) -> tuple[int, int] | None:
        """(time, actor) of the earliest; of equal times the lower actor. None: nobody wakes."""
        while self.heap and self.times[self.heap[0][1]] != self.heap[0][0]:
            heapq.heappop(self.heap)
        return self.heap[0] if self.heap and self.heap[0][0] != NEVER else None


@settings(max_examples=150)
@given(actors=st.integers(3, 40), data=st.data())
def test_the_winner_is_the_heaps(actors: int, data: st.DataObject) -> None:
    world = flows_only(actors - 2).world
    heap = HeapOfWakes()
    steps = data.draw(st.lists(st.tuples(st.integers(0, actors - 1), TIMES), max_size=60))
    for actor, time in steps:
        wake_at(world, actor, time)
        heap.wake_at(actor, time)
        assert wake_time(world, actor) == time
        first = heap.first()
        if first is None:
            assert world.tree[1, 0] == NEVER
        else:
            assert tuple(world.tree[1]) == first


@settings(max_examples=50)
@given(st.lists(st.integers(0, 50), min_size=2, max_size=64))
def test_taking_the_winner_out_again_and_again_sorts(times: list[int]) -> None:
    world = flows_only(len(times) - 2 if len(times) > 2 else 1).world
    for actor, time in enumerate(times):
        wake_at(world, actor, time)
    order = []
    while world.tree[1, 0] != NEVER:
        order.append(tuple(int(value) for value in world.tree[1]))
        wake_at(world, order[-1][1], NEVER)
    assert order == sorted((time, actor) for actor, time in enumerate(times))


def test_nobody_wakes_at_first() -> None:
    for actors in (1, 2, 3, 4, 5, 16, 17, 1000):
        tree = tournament(actors)
        leaves = len(tree) // 2
        assert leaves >= actors
        assert (tree[:, 0] == NEVER).all()
        assert tree[1, 1] == 0
        assert tree[leaves:, 1].tolist() == list(range(leaves))


def test_four_that_compete_lie_in_one_line_of_the_caches() -> None:
    for actors in (3, 60, 5000):
        tree = tournament(actors)
        assert tree[4:].ctypes.data % LINE_OCTETS == 0
        assert 4 * tree.strides[0] == LINE_OCTETS


def test_of_a_hundred_that_wake_at_once_the_lower_number_is_first() -> None:
    world = flows_only(98).world
    for actor in (*range(99, -1, -2), *range(0, 100, 2)):
        wake_at(world, actor, 7)
    for actor in range(100):
        assert tuple(world.tree[1]) == (7, actor)
        wake_at(world, actor, 7 + actor % 3 * NEVER // 4 + 1)
