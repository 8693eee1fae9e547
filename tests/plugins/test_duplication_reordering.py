"""Lines that duplicate frames and that hold frames back: which share, of which kinds, how much."""

from __future__ import annotations

import pytest

from orchestrator.algorithm import Algorithm
from plugins.frame_duplication import DUPLICATION, Duplication
from plugins.frame_reordering import REORDERING, Reordering
from tailback.plugin import CNM, DATA, PAUSE, Params
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

DELAY, HOLD, COPIES = 77, 5_000, 3


def line(which: str, rate: str, kinds: str = "all") -> tuple[Algorithm, Params, str, int]:
    """Algorithm, parameters, the field of the message that it sets, and to what."""
    if which == "duplication":
        params = Duplication(duplication_rate=rate, copies=COPIES, frame_kinds=kinds)
        return DUPLICATION, params, "copies", COPIES
    return REORDERING, Reordering(reordering_rate=rate, hold=HOLD, frame_kinds=kinds), "due", HOLD


def share(which: str, rate: str, kind: int = DATA, kinds: str = "all", count: int = 4000) -> float:
    """Share of the frames of a kind that it does something to; all have the link's delay."""
    algorithm, params, field, to = line(which, rate, kinds)
    driver = Driver(algorithm, params, delay=DELAY)
    found = []
    for _ in range(count):
        driver.message[field] = 0
        assert driver.come("delay", 0, kind=kind) == DELAY
        found.append(int(driver.message[field][0]))
    assert set(found) <= {0, to}
    return found.count(to) / count


@pytest.mark.parametrize("which", ["duplication", "reordering"])
@pytest.mark.parametrize("rate", ["0", "1/100", "1/4", "0.9", "1"])
def test_the_share_is_the_parameter(which: str, rate: str) -> None:
    wanted = {"0": 0.0, "1/100": 0.01, "1/4": 0.25, "0.9": 0.9, "1": 1.0}[rate]
    error = (wanted * (1 - wanted) / 4000) ** 0.5
    assert abs(share(which, rate) - wanted) <= 5 * error


@pytest.mark.parametrize("which", ["duplication", "reordering"])
@pytest.mark.parametrize(
    ("kinds", "data", "cnm", "pause"), [("all", 1, 1, 1), ("cnm", 0, 1, 0), ("data", 1, 0, 0)]
)
def test_frames_of_the_chosen_kinds_count(
    which: str, kinds: str, data: int, cnm: int, pause: int
) -> None:
    found = [share(which, "1", kind, kinds, 5) for kind in (DATA, CNM, PAUSE)]
    assert found == [data, cnm, pause]


def test_room_is_laid_out_for_what_they_do() -> None:
    assert (Duplication(copies=4).most_copies(), Duplication().most_added()) == (4, 0)
    assert (Reordering(hold=9).most_added(), Reordering().most_copies()) == (9, 0)
    assert check_page("plugins.frame_duplication") == 3
    assert check_page("plugins.frame_reordering") == 3
