"""Scripted PAUSE: as many as are wanted, each of the chosen quanta, not before its time."""

from __future__ import annotations

from types import SimpleNamespace

from plugins.scripted_pause import CRAFTED_PAUSE, CraftedPause, on_enqueue
from tailback.plugin import NOTHING, SEND
from tests.plugins.described import check_page


def sent(params: CraftedPause, times: list[int]) -> list[tuple[int, int]]:
    """(time, quanta) of the frames that are sent when frames are enqueued at these times."""
    state, found = SimpleNamespace(sent=0), []
    for now in times:
        message = SimpleNamespace(feedback=-1)
        answer = on_enqueue(state, params, None, None, now, message)
        if answer == SEND:
            found.append((now, message.feedback))
        else:
            assert (answer, message.feedback) == (NOTHING, -1)
    assert state.sent == len(found)
    return found


def test_a_frame_is_due_at_each_interval_from_the_first_time_on() -> None:
    params = CraftedPause(first=100, interval=10, count=3, quanta=7)
    times = [0, 99, 100, 101, 109, 110, 119, 125, 126, 200]
    assert sent(params, times) == [(100, 7), (110, 7), (125, 7)]


def test_none_is_sent_where_none_is_wanted_and_late_ones_follow_each_other() -> None:
    assert sent(CraftedPause(count=0), [0, 10**12]) == []
    assert sent(CraftedPause(interval=10, count=2, quanta=0), [50, 51, 52]) == [(50, 0), (51, 0)]


def test_its_parameters_are_those_of_the_page() -> None:
    assert CRAFTED_PAUSE.former == ("crafted-pause",)
    assert CRAFTED_PAUSE.bounds == {"sent": (0, 10**6)}
    assert check_page("plugins.scripted_pause") == 5
