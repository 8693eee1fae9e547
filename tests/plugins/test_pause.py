"""PAUSE and PFC of a queue with a high and a low mark: on above, off below, refreshed between."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.engine.records import NEVER
from orchestrator.errors import BadInput
from plugins.pause import PAUSE, Pause
from plugins.pfc import PFC as PFC_PAUSE
from plugins.pfc import PriorityFlowControl
from tailback.plugin import NOTHING, PFC, SEND
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

HIGH, LOW, QUANTA = 10_000, 4_000, 1000
HALF = QUANTA * 512 * 10**12 // 10**9 // 2
"""ps of half the quanta at 1 Gb/s; a quantum is 512 bit times (802.3 annex 31B)."""
BOTH = pytest.mark.parametrize(
    ("algorithm", "params", "kind"), [(PAUSE, Pause, 0), (PFC_PAUSE, PriorityFlowControl, PFC)]
)


def marked(algorithm: Any, params: Any) -> Driver:
    one = params(high=HIGH, low=LOW, quanta=QUANTA)
    return Driver(algorithm, one, pause_rate=10**9, pause_timer=NEVER)


def message(driver: Driver) -> tuple[int, int]:
    return int(driver.message["kind"][0]), int(driver.message["feedback"][0])


@BOTH
def test_a_queue_above_its_high_mark_pauses_once(algorithm: Any, params: Any, kind: int) -> None:
    driver = marked(algorithm, params)
    driver.set(bytes=HIGH)
    assert driver.come("enqueue", 7) == NOTHING
    assert driver.pause_timer == NEVER
    driver.set(bytes=HIGH + 1)
    assert driver.come("enqueue", 7) == SEND
    assert message(driver) == (kind, QUANTA)
    assert driver.pause_timer == 7 + HALF
    driver.set(bytes=HIGH + 5000)
    assert driver.come("enqueue", 9) == NOTHING
    assert driver.pause_timer == 7 + HALF


@BOTH
def test_a_paused_queue_below_its_low_mark_resumes_once(
    algorithm: Any, params: Any, kind: int
) -> None:
    driver = marked(algorithm, params)
    driver.set(bytes=LOW - 1)
    assert driver.come("dequeue", 5) == NOTHING, "it has paused no neighbour"
    driver.set(bytes=HIGH + 1)
    driver.come("enqueue", 7)
    driver.set(bytes=LOW)
    assert driver.come("dequeue", 8) == NOTHING
    assert driver.pause_timer == 7 + HALF
    driver.set(bytes=LOW - 1)
    assert driver.come("dequeue", 9) == SEND
    assert message(driver) == (kind, 0)
    assert driver.pause_timer == NEVER
    assert driver.come("dequeue", 10) == NOTHING
    driver.set(bytes=HIGH + 1)
    assert driver.come("enqueue", 11) == SEND, "and it can pause again"


@BOTH
def test_a_pause_is_refreshed_at_half_its_quanta(algorithm: Any, params: Any, kind: int) -> None:
    driver = marked(algorithm, params)
    driver.set(bytes=HIGH + 1)
    driver.come("enqueue", 7)
    driver.message["feedback"] = 0
    assert driver.come("timer", 7 + HALF) == SEND
    assert message(driver) == (kind, QUANTA)
    assert driver.pause_timer == 7 + 2 * HALF


@pytest.mark.parametrize("params", [Pause, PriorityFlowControl])
def test_marks_are_in_order(params: type[Pause]) -> None:
    assert params.from_table({"high": 5001, "low": 5000}, bare=True).operating_queue(10**9) == 5001
    for low in (5001, 6000):
        with pytest.raises(BadInput, match="low must be below high"):
            params.from_table({"high": 5001, "low": low}, bare=True)
    assert params().needless_unless_pausing() == {"dequeue"}


@pytest.mark.parametrize("preset", ["ibm-10g", "ibm-100g"])
def test_presets_are_the_marks_of_the_papers_switch(preset: str) -> None:
    found = Pause.from_table({"preset": preset})
    assert (found.high, found.low) == (110_000, 44_000)


def test_their_parameters_are_those_of_the_page() -> None:
    assert check_page("plugins.pause") == 5
    assert check_page("plugins.pfc") == 5
    assert PFC_PAUSE.own_lane
    assert not PAUSE.own_lane
