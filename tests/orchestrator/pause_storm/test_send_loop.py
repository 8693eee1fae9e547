"""What the loop does with a socket that takes nothing, and with its core."""

from __future__ import annotations

import os
import socket
import threading
import time

import pytest

from orchestrator.engine.histogram import percentile_ps
from orchestrator.pause_storm import pause_quanta, send_loop, storm_runner
from orchestrator.pause_storm.pause_frames import frames_of
from orchestrator.pause_storm.storm_interfaces import Port
from orchestrator.pause_storm.storm_request import StormRequest
from orchestrator.pause_storm.storm_runner import planned_of, rehearse, state_of
from orchestrator.pause_storm.storm_state import Planned, StormState, new_state, start
from tests.patience import PATIENCE_S

MAC = "02:54:42:00:00:09"
OCTETS = frames_of(MAC, (3,), 100)
MS = 1_000_000


@pytest.fixture(autouse=True, scope="module")
def compiled() -> None:
    """The loop is compiled, or loaded, before time counts."""
    kept(new_state([Planned(-1, OCTETS, 4 * MS, 3 * MS)], stamps=False), 0)


def kept(desk: StormState, length_ns: int) -> StormState:
    now = time.monotonic_ns()
    start(desk, now, now + length_ns)
    send_loop.run_holds(desk)
    send_loop.drain_stamps(desk)
    return desk


def port(rate: int, raw: socket.socket) -> Port:
    return Port("p0", MAC, "veth", rate, raw)


def test_frames_that_are_not_taken_are_counted_and_offered_again() -> None:
    desk = kept(new_state([Planned(10**6, OCTETS, 10 * MS, 5 * MS)], stamps=True), 600 * MS)
    assert int(desk.holds[0]["refused"]) > 3, "every 20 us or so"
    assert int(desk.holds[0]["refused"]) < 600 * MS // send_loop.RETRY_NS + 10
    assert int(desk.own[0]["frames"]) == int(desk.control[send_loop.SENT]) == 0


def test_a_rehearsal_sends_nothing_and_is_as_busy() -> None:
    desk = kept(new_state([Planned(-1, OCTETS, 4 * MS, 3 * MS)], stamps=False), 600 * MS)
    assert int(desk.own[0]["frames"]) >= 3
    assert percentile_ps(desk.lateness, 1.0) > 0


def test_who_is_stopped_ends_soon_also_in_its_sleep() -> None:
    desk = new_state([Planned(-1, OCTETS, 4 * 10**9, 2 * 10**9)], stamps=False, nap_ns=1000)
    now = time.monotonic_ns()
    start(desk, now, now + 60 * 10**9)
    cpu = time.process_time()
    storm = storm_runner.StormThread(desk)
    storm.start()
    time.sleep(0.3)
    storm.stop()
    storm.join(PATIENCE_S)
    assert not storm.is_alive()
    assert time.process_time() - cpu < 0.2, "it slept"
    assert int(desk.own[0]["expires_ns"]) == 0, "let go"


def test_it_sleeps_where_frames_leave_a_quarter_of_a_core() -> None:
    with socket.socket() as raw:
        for ports, sleeps in ((1, True), (88, True), (140, False)):
            asked = StormRequest(("p0",) * ports, 1.0, (3,))
            desk = state_of(planned_of(asked, [port(10**11, raw)] * ports, 0), stamps=False)
            assert (desk.control[send_loop.NAP_NS] > 0) == sleeps, ports


@pytest.mark.parametrize("sleeps", [True, False])
def test_only_who_sleeps_has_the_real_time_class(sleeps: bool) -> None:
    found = {}

    def look() -> None:
        found["told"] = storm_runner._elevated(sleeps=sleeps)
        found["class"] = os.sched_getscheduler(0)

    one = threading.Thread(target=look)
    one.start()
    one.join()
    assert (found["class"] == os.SCHED_FIFO) == (found["told"] == "real time")
    assert found["told"] in (
        ("real time", "nice -10", "ordinary") if sleeps else ("nice -10", "ordinary")
    )
    if os.geteuid() == 0 and sleeps:
        assert found["told"] == "real time"


def test_the_margin_is_what_the_rehearsal_asks_for_or_who_asks() -> None:
    with socket.socket() as raw:
        gigabit = port(10**9, raw)
        asked = StormRequest(("p0",), 1.0, (3,))
        hold = pause_quanta.hold_ns(65_535, 10**9)
        assert [one.margin_ns for one in planned_of(asked, [gigabit], 0)] == [hold * 3 // 4]
        (late,) = planned_of(asked, [gigabit], 7 * MS)
        assert late.margin_ns == 28 * MS
        (own,) = planned_of(StormRequest(("p0",), 1.0, (3,), margin_ns=5), [gigabit], 7 * MS)
        assert own.margin_ns == 5
        assert late.socket == raw.fileno()
        assert rehearse(asked, [gigabit], 0.1) > 0
