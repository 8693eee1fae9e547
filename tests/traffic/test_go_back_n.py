"""Go-back-N's receiver, segment by segment: what it answers to what comes."""

from __future__ import annotations

from types import SimpleNamespace

from traffic.go_back_n import NEGATIVE, STATE, arrived

FRAME = 1500


def answers(*sequences: int) -> list[tuple[int, int, int]]:
    """(answers, feedback, the segment that is expected) for each segment that comes."""
    state = SimpleNamespace(**dict.fromkeys(STATE.names or (), 0))
    found = []
    for sequence in sequences:
        frame = SimpleNamespace(sequence=sequence, length=FRAME, mark=0, created=0)
        message = SimpleNamespace(feedback=0, sequence=0, created=0, offset=0, delta=0)
        said = arrived(state, None, None, frame, 0, message)
        found.append((said, message.feedback if said else 0, message.sequence))
    return found


def test_one_gap_is_asked_for_once_and_the_next_gap_anew() -> None:
    assert answers(0, 2, 3, 4) == [(1, 0, 1), (1, NEGATIVE, 1), (0, 0, 1), (0, 0, 1)]
    again = answers(0, 2, 3, 1, 2, 4, 5)[3:]
    assert again == [(1, 0, 2), (1, 0, 3), (1, NEGATIVE, 3), (0, 0, 3)]


def test_what_came_before_is_acknowledged_again() -> None:
    assert answers(0, 1, 0) == [(1, 0, 1), (1, 0, 2), (1, 0, 2)]
