"""Trimming: a data frame above the threshold is cut, one at it goes on whole."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from plugins.packet_trimming import TRIMMING, Trim, on_arrival
from tailback.plugin import FORWARD, TRIM
from tests.plugins.described import check_page


@pytest.mark.parametrize(
    ("queue", "length", "answer"),
    [(0, 1500, FORWARD), (8500, 1500, FORWARD), (8501, 1500, TRIM), (10_000, 64, TRIM)],
)
def test_the_queue_counts_with_the_frame(queue: int, length: int, answer: int) -> None:
    params = Trim(threshold=10_000)
    found = on_arrival(
        None, params, SimpleNamespace(bytes=queue), SimpleNamespace(length=length), 0, None
    )
    assert found == answer


def test_it_holds_its_queue_at_the_threshold_and_says_that_it_trims() -> None:
    assert Trim(threshold="7KB").operating_queue(10**9) == 7_000
    assert TRIMMING.trims
    assert set(TRIMMING.kernels) == {"arrival"}
    assert check_page("plugins.packet_trimming") == 2
