"""A lossy line loses its share of the chosen frames, and of no others."""

from __future__ import annotations

import pytest

from plugins.lossy_link import LOSSY, Lossy
from tailback.plugin import CNM, DATA, LOST, PAUSE
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

DELAY = 77


def lost(kind: int, count: int = 2000, **params: object) -> float:
    """Share of frames of a kind that is lost; the others have the link's delay."""
    line = Driver(LOSSY, Lossy(**params), delay=DELAY)
    found = [line.come("delay", 0, kind=kind) for _ in range(count)]
    assert set(found) <= {DELAY, LOST}
    return found.count(LOST) / count


@pytest.mark.parametrize("share", ["0", "0.1", "1/4", "1"])
def test_the_share_that_is_lost_is_the_parameter(share: str) -> None:
    wanted = {"0": 0.0, "0.1": 0.1, "1/4": 0.25, "1": 1.0}[share]
    assert lost(DATA, loss_rate=share) == pytest.approx(wanted, abs=0.03 * (0 < wanted < 1))


@pytest.mark.parametrize(
    ("kinds", "data", "cnm", "pause"), [("all", 1, 1, 1), ("cnm", 0, 1, 0), ("data", 1, 0, 0)]
)
def test_frames_of_the_chosen_kinds_are_lost(kinds: str, data: int, cnm: int, pause: int) -> None:
    found = [lost(kind, 20, loss_rate="1", frame_kinds=kinds) for kind in (DATA, CNM, PAUSE)]
    assert found == [data, cnm, pause]


def test_it_adds_no_delay_and_loses_a_tenth_unless_a_plan_says_otherwise() -> None:
    assert Lossy().most_added() == 0
    assert lost(DATA) == pytest.approx(0.1, abs=0.03)
    assert check_page("plugins.lossy_link") == 4
