"""The window of a limiter, step by step, with numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.engine.node.send_window import (
    on_segment_departed,
    resume_windowed_flow,
    window_opens_at,
)
from orchestrator.engine.records import FLOW, NEVER, NONE
from orchestrator.engine.workload import HEADERS
from tests.orchestrator.worlds import one_limiter

FULL = HEADERS + 1000
"""Octets of a frame of the flow."""
NOW, RTT, LINK = 70_000, 300, 10**9
BUCKET = {"depth": 5, "tokens": -3, "rate": LINK, "link_rate": LINK, "rtt": RTT}


def flow(**values: int) -> np.record:
    """A flow with a limiter that has sent nothing yet, unless something else is said."""
    row = np.zeros(1, FLOW).view(np.recarray)[0]
    for name, value in ({"segment": 1000, "headers": HEADERS, "limiter": 0} | values).items():
        row[name] = value
    return row  # type: ignore[no-any-return]


def opens(window: int, **values: int) -> int:
    """When a segment of such a flow may be made."""
    return int(window_opens_at(one_limiter(window=window, **BUCKET).world, flow(**values), NOW))


def test_without_a_limiter_or_a_window_any_number_may_be_under_way() -> None:
    assert opens(1, limiter=NONE, flight=10**9) == NOW
    assert opens(0, flight=10**9) == NOW
    assert opens(-5, flight=10**9) == NOW
    assert opens(1, flight=10**9) == NEVER


def test_a_window_takes_whole_frames_to_its_last_octet() -> None:
    assert opens(3 * FULL, flight=2 * FULL) == NOW
    assert opens(3 * FULL - 1, flight=2 * FULL) == NEVER
    assert opens(FULL) == NOW
    assert opens(FULL, flight=1) == NEVER


def test_a_window_below_a_frame_lets_one_go_at_a_time_as_many_octets_a_round_trip() -> None:
    quarter = FULL // 4
    paced = RTT * FULL // quarter
    assert opens(quarter, made=NOW) == NOW + paced
    assert opens(quarter, made=NOW - paced + 1) == NOW + 1
    assert opens(quarter, made=0) == NOW, "long ago"
    assert opens(quarter, made=NOW, flight=1) == NEVER, "not before that one is acknowledged"
    assert opens(1, made=NOW) == NOW + RTT * FULL


@pytest.mark.parametrize(
    ("held", "on", "asked"), [(1, 1, NOW), (0, 1, NEVER), (1, 0, NEVER), (0, 0, NEVER)]
)
def test_who_waits_for_the_window_and_is_on_is_asked_again(held: int, on: int, asked: int) -> None:
    waiting = flow(held=held, on=on, next_frame=NEVER)
    resume_windowed_flow(waiting, NOW)
    assert waiting.next_frame == asked


@pytest.mark.parametrize(
    ("window", "rate", "limiter", "tokens"),
    [
        *((1, LINK, 0, 5), (1, LINK + 1, 0, 5), (9000, LINK, 0, 5)),
        *((0, LINK, 0, -3), (1, LINK - 1, 0, -3), (1, LINK, NONE, -3)),
    ],
)
def test_with_a_window_and_the_links_rate_no_bucket_holds_a_frame_back(
    window: int, rate: int, limiter: int, tokens: int
) -> None:
    world = one_limiter(window=window, **(BUCKET | {"rate": rate})).world
    frame = world.frames[0]
    on_segment_departed(world, flow(limiter=limiter), frame, NOW)
    assert (world.limiters[0].tokens, frame.created) == (tokens, NOW)
