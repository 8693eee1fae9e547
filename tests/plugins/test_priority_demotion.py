"""Demotion: above the threshold a data frame goes on in another lane."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from plugins.priority_demotion import ASIDE, PriorityDemotion, on_arrival
from tailback.plugin import FORWARD, LANE
from tests.plugins.described import check_page


@pytest.mark.parametrize(
    ("queue", "length", "moved"),
    [(0, 1500, False), (8500, 1500, False), (8501, 1500, True), (20_000, 64, True)],
)
@pytest.mark.parametrize("priority", [0, 1, 7])
def test_the_queue_counts_with_the_frame(
    queue: int, length: int, moved: bool, priority: int
) -> None:
    params = PriorityDemotion(threshold=10_000, priority=priority)
    found = on_arrival(
        None, params, SimpleNamespace(bytes=queue), SimpleNamespace(length=length), 0, None
    )
    assert found == (LANE + priority if moved else FORWARD)
    assert params.goes_on_in() == (priority,)


def test_it_says_that_it_changes_lanes() -> None:
    assert ASIDE.changes_lane
    assert (set(ASIDE.kernels), ASIDE.former) == ({"arrival"}, ("aside",))
    assert check_page("plugins.priority_demotion") == 4
