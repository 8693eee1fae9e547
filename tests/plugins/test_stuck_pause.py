"""A broken NIC's PAUSE: from its start to its stop, refreshed, whatever the queue holds."""

from __future__ import annotations

import pytest

from orchestrator.engine.records import NEVER
from orchestrator.errors import BadInput
from plugins.stuck_pause import STUCK, StuckPause
from tailback.plugin import NOTHING, PFC, SEND
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

US = 10**6
HALF = 1000 * 512 * 10**12 // 10**9 // 2
"""ps of half of 1000 quanta at 1 Gb/s."""


def stuck(**params: object) -> Driver:
    one = StuckPause.from_table({"quanta": 1000, **params}, bare=True)
    return Driver(STUCK, one, pause_rate=10**9, pause_timer=NEVER)


@pytest.mark.parametrize(("frames", "kind"), [("pause", 0), ("pfc", PFC)])
def test_the_first_frame_from_its_start_on_begins_the_storm(frames: str, kind: int) -> None:
    nic = stuck(start=5 * US, frames=frames)
    assert nic.come("enqueue", 5 * US - 1) == NOTHING
    assert nic.pause_timer == NEVER
    assert nic.come("enqueue", 5 * US) == SEND
    assert int(nic.message["kind"][0]) == kind
    assert int(nic.message["feedback"][0]) == 1000
    assert nic.pause_timer == 5 * US + HALF
    assert nic.come("enqueue", 5 * US + 1) == NOTHING, "it is on already"


def test_the_storm_is_refreshed_until_its_stop() -> None:
    nic = stuck(stop=3 * HALF)
    assert nic.come("enqueue", 0) == SEND
    assert [nic.come("timer", n * HALF) for n in (1, 2)] == [SEND, SEND]
    assert nic.pause_timer == 3 * HALF
    assert nic.come("timer", 3 * HALF) == NOTHING
    assert nic.come("enqueue", 3 * HALF) == NOTHING, "it is over"


def test_a_stop_before_its_start_is_refused() -> None:
    assert stuck(start=7, stop=7).come("enqueue", 7) == NOTHING
    with pytest.raises(BadInput, match="start must not be above stop"):
        StuckPause.from_table({"start": 8, "stop": 7}, bare=True)
    assert check_page("plugins.stuck_pause") == 4
