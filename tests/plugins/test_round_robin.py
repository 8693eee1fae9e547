"""Round robin: lanes with a frame take turns in the order of their priorities."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from plugins.round_robin import ROUND_ROBIN, on_choose


def chosen(ready: list[int], start: int = 0) -> list[int]:
    state, found = SimpleNamespace(next=start), []
    for lanes in ready:
        found.append(on_choose(state, None, SimpleNamespace(ready=lanes), None, 0, None))
        low, high = ROUND_ROBIN.bounds["next"]
        assert low <= state.next <= high
    return found


def test_all_lanes_get_a_turn_before_any_gets_another() -> None:
    assert chosen([0xFF] * 10) == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]


def test_lanes_without_a_frame_lose_their_turn() -> None:
    assert chosen([0b10010010] * 5) == [1, 4, 7, 1, 4]
    assert chosen([0b100, 0b101, 0b101, 0b1000_0001, 0b1]) == [2, 0, 2, 7, 0]


@pytest.mark.parametrize("lane", range(8))
def test_a_lane_alone_is_chosen_wherever_the_turn_is(lane: int) -> None:
    for start in range(8):
        assert chosen([1 << lane] * 2, start) == [lane, lane]
