"""Frame descriptors: each is out once at most, and an empty pool is counted."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.node.descriptor_pool import give_back, take, unused_descriptors
from orchestrator.engine.records import NONE
from tests.orchestrator.worlds import flows_only

SIZE = 6


@settings(max_examples=100)
@given(st.lists(st.one_of(st.none(), st.integers(0, SIZE - 1)), max_size=40))
def test_no_descriptor_is_out_twice(steps: list[int | None]) -> None:
    """None: take one; a number: give back one of those that are out."""
    world = flows_only(1, pool=SIZE).world
    out: list[int] = []
    refused = most = 0
    for step in steps:
        if step is None:
            index = int(take(world))
            if len(out) == SIZE:
                assert index == NONE
                refused += 1
            else:
                assert 0 <= index < SIZE
                assert index not in out
                out.append(index)
        elif out:
            give_back(world, out.pop(step % len(out)))
        most = max(most, len(out))
        assert world.clock[0].frames_used == most, "those that were out at once, and no more"
        assert unused_descriptors(world) == SIZE - len(out)
        assert world.clock[0].no_descriptor == refused


def test_the_message_under_construction_is_never_handed_out() -> None:
    world = flows_only(1, pool=SIZE).world
    assert {int(take(world)) for _ in range(SIZE)} == set(range(len(world.frames) - 1))
