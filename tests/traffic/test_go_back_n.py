"""Go-back-N's receiver, segment by segment: what it answers to what comes."""

from __future__ import annotations

from orchestrator.engine.records import DATA
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver
from traffic.go_back_n import GO_BACK_N, NEGATIVE, GoBackN

FRAME = 1500


def answers(*sequences: int) -> list[tuple[int, int, int]]:
    """(answers, feedback, the segment that is expected) for each segment that comes."""
    receiver = Driver(GO_BACK_N, GoBackN())
    found = []
    for sequence in sequences:
        receiver.message["feedback"] = 0
        said = receiver.come("arrived", kind=DATA, sequence=sequence, length=FRAME)
        feedback, expected = (int(receiver.message[name][0]) for name in ("feedback", "sequence"))
        found.append((said, feedback if said else 0, expected))
    return found


def test_one_gap_is_asked_for_once_and_the_next_gap_anew() -> None:
    assert answers(0, 2, 3, 4) == [(1, 0, 1), (1, NEGATIVE, 1), (0, 0, 1), (0, 0, 1)]
    again = answers(0, 2, 3, 1, 2, 4, 5)[3:]
    assert again == [(1, 0, 2), (1, 0, 3), (1, NEGATIVE, 3), (0, 0, 3)]


def test_what_came_before_is_acknowledged_again() -> None:
    assert answers(0, 1, 0) == [(1, 0, 1), (1, 0, 2), (1, 0, 2)]


def test_the_page_has_its_parameters() -> None:
    assert check_page("traffic.go_back_n") > 0
