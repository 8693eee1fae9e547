"""Scripted messages: as many as are wanted, at their times, with feedback that grows by steps."""

from __future__ import annotations

from types import SimpleNamespace

from plugins.scripted_cnm import CRAFTED_CP, CraftedMessages, on_arrival
from tailback.plugin import FORWARD, NOTIFY_ARRIVING
from tests.plugins.described import check_page


def sent(params: CraftedMessages, times: list[int]) -> list[tuple[int, int]]:
    """(time, feedback) of the messages that frames at these times bring about."""
    state, found = SimpleNamespace(sent=0), []
    for now in times:
        message = SimpleNamespace(feedback=-1, offset=9, delta=9)
        answer = on_arrival(state, params, None, None, now, message)
        if answer == NOTIFY_ARRIVING:
            assert (message.offset, message.delta) == (0, 0)
            found.append((now, message.feedback))
        else:
            assert (answer, message.feedback) == (FORWARD, -1)
    assert state.sent == len(found)
    return found


def test_a_message_is_due_at_each_interval_from_the_first_time_on() -> None:
    params = CraftedMessages(first=100, interval=10, count=3, feedback=5, feedback_step=4)
    assert sent(params, [0, 99, 100, 101, 109, 110, 119, 120, 130, 200]) == [
        (100, 5),
        (110, 9),
        (120, 13),
    ]


def test_messages_that_are_late_come_with_the_next_frames_one_by_one() -> None:
    params = CraftedMessages(first=0, interval=10, count=2)
    assert sent(params, [50, 51, 52]) == [(50, 63), (51, 63)]
    assert sent(CraftedMessages(count=0), [0, 10**12]) == []


def test_feedback_stays_within_its_six_bits() -> None:
    up = CraftedMessages(interval=1, count=3, feedback=60, feedback_step=2)
    assert [feedback for _, feedback in sent(up, [0, 1, 2])] == [60, 62, 63]
    down = CraftedMessages(interval=1, count=4, feedback=2, feedback_step=-1)
    assert [feedback for _, feedback in sent(down, [0, 1, 2, 3])] == [2, 1, 0, 0]


def test_its_parameters_are_those_of_the_page() -> None:
    assert CRAFTED_CP.former == ("crafted-cp",)
    assert CRAFTED_CP.bounds == {"sent": (0, 10**6)}
    assert check_page("plugins.scripted_cnm") == 7
