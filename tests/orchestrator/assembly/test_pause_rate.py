"""The rate by which an output is told to pause: that of the fastest of the other links."""

from __future__ import annotations

import pytest

from orchestrator.assembly import queue_rows


@pytest.mark.parametrize("rates", [[5], [5, 5], [5, 3], [3, 5, 4], [5, 5, 2], [1, 2, 3, 4]])
def test_fastest_of_the_others(rates: list[int]) -> None:
    for at, own in enumerate(rates):
        others = [rate for place, rate in enumerate(rates) if place != at]
        fastest = sorted(rates, reverse=True)[:2]
        assert queue_rows._fastest_other(*fastest, own=own) == max(others, default=1)
