"""The PFC watchdog: what makes a storm, what becomes of frames meanwhile, when it is over."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.engine.records import DROPS, IGNORES, NEVER, OBEYS
from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.run_result import measure
from plugins.pfc_watchdog import PFC_WATCHDOG, PfcWatchdog
from tests.orchestrator.worlds import ALIGNED, MS, Table, line_of_three, recorded
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

TIMES = {"detection_time": 4 * MS, "restoration_time": 8 * MS, "polling_interval": MS}


class Watched(Driver):
    """A watchdog whose timer is called when it is due."""

    def __init__(self, **params: Any) -> None:
        super().__init__(PFC_WATCHDOG, PfcWatchdog(**(TIMES | params)), watchdog_timer=NEVER)

    def held(self, now: int, until: int) -> None:
        """A frame holds the queue."""
        self.set(held_until=until)
        self.come("held", now)

    def until(self, end: int) -> int:
        """Let time go on; how often it looked."""
        looks = 0
        while (due := self.watchdog_timer) <= end:
            self.set(watchdog_timer=NEVER)
            self.come("timer", due)
            looks += 1
        return looks


def test_a_queue_that_is_held_and_still_for_the_detection_is_in_a_storm() -> None:
    dog = Watched()
    dog.set(frames=7, frames_out=100)
    dog.held(10 * MS, 99 * MS)
    assert dog.watchdog_timer == 11 * MS
    dog.until(14 * MS - 1)
    assert (dog.storms, dog.stance) == (0, OBEYS)
    dog.until(14 * MS)
    assert (dog.storms, dog.stance) == (1, DROPS)


@pytest.mark.parametrize("why", ["it sends", "it is empty", "nobody holds it"])
def test_one_that_sends_or_waits_for_nothing_or_is_let_go_is_not(why: str) -> None:
    dog = Watched()
    dog.set(frames=0 if why == "it is empty" else 7, frames_out=100)
    dog.held(0, 99 * MS)
    for now in range(MS, 40 * MS, MS):
        if why == "it sends":
            dog.set(frames_out=dog.frames_out + (now % (3 * MS) == 0))
        if why == "nobody holds it" and now == 3 * MS:
            dog.set(held_until=now)
        dog.until(now)
    assert (dog.storms, dog.stance) == (0, OBEYS)
    assert (dog.watchdog_timer == NEVER) == (why == "nobody holds it"), "then it does not look"


def test_it_is_over_when_no_frame_that_holds_it_has_come_for_the_restoration() -> None:
    dog = Watched()
    dog.set(frames=7)
    for now in range(0, 21 * MS, MS):
        dog.held(now, now + 3 * MS)
        dog.until(now)
    assert (dog.storms, dog.storms_over, dog.stance) == (1, 0, DROPS)
    dog.until(28 * MS - 1)
    assert dog.storms_over == 0
    dog.until(28 * MS)
    assert (dog.storms, dog.storms_over, dog.stance) == (1, 1, OBEYS)
    assert dog.watchdog_timer == NEVER
    dog.held(50 * MS, 99 * MS)
    dog.until(54 * MS)
    assert (dog.storms, dog.stance) == (2, DROPS)


def test_the_restoration_is_twice_the_detection_where_none_is_given() -> None:
    dog = Watched(restoration_time=0)
    dog.set(frames=7)
    dog.held(0, 99 * MS)
    dog.until(8 * MS - 1)
    assert dog.storms_over == 0
    dog.until(8 * MS)
    assert (dog.storms, dog.storms_over) == (1, 1)


@pytest.mark.parametrize(("action", "stance"), [("forward", IGNORES), ("alert", OBEYS)])
def test_what_it_does_is_a_parameter(action: str, stance: int) -> None:
    dog = Watched(action=action)
    dog.set(frames=7)
    dog.held(0, 99 * MS)
    dog.until(5 * MS)
    assert (dog.storms, dog.stance) == (1, stance)


def test_a_poll_above_the_detection_is_refused() -> None:
    with pytest.raises(ValueError, match="polling_interval must not be above detection_time"):
        PfcWatchdog(detection_time=MS, polling_interval=2 * MS)


def stormy(frames: str = "pause", stop: int = 20 * MS, **dog: Any) -> Table:
    """NIC, switch, a broken one that holds it from 5 ms to `stop`, sink; 100 Mb/s into 1 Gb/s."""
    table = line_of_three(duration=40 * MS, **ALIGNED)
    table["nodes"]["broken"] = {
        "kind": "switch",
        "pause": {"plugin": "stuck-pause", "start": 5 * MS, "stop": stop, "frames": frames}
        | {"quanta": 2000},
    }
    table["links"] = {
        "up": {"ends": ["nic", "switch"], "rate": 10**9},
        "bad": {"ends": ["switch", "broken"], "rate": 10**9},
        "down": {"ends": ["broken", "sink"], "rate": 10**9},
    }
    table["traffic"]["gen"]["rate"] = 10**8
    table["nodes"]["switch"]["buffer"] = 10**6
    if dog:
        params = {"detection_time": 2 * MS, "restoration_time": 4 * MS, "polling_interval": MS}
        table["nodes"]["switch"]["watchdog"] = {"plugin": "pfc-watchdog"} | params | dog
    return table


def received(recording: Recording, begin: int, end: int) -> int:
    """Frames that the sink got between two times."""
    counted = recording.column("gen", "frames_received")
    row = dict(zip(recording.times_ps.tolist(), counted, strict=True))
    return int(row[end] - row[begin])


EXPECTED = 100  # frames of 1500 octets at 100 Mb/s: 120 us each
"""Frames in 12 ms."""


@pytest.mark.parametrize("frames", ["pause", "pfc"])
def test_frames_are_dropped_during_a_storm_and_pass_again_after_it(frames: str) -> None:
    without = recorded(stormy(frames))
    assert received(without, 8 * MS, 20 * MS) == 0
    found = recorded(stormy(frames, action="drop"))
    assert received(found, 8 * MS, 20 * MS) == 0
    dropped = found.column("switch.broken", "frames_dropped_early")
    assert dropped[-1] == pytest.approx((24 - 5) * MS / (120 * 10**6), abs=3)
    assert found.column("switch.broken", "queue_bytes")[found.times_ps == 15 * MS][0] == 0
    assert received(found, 26 * MS, 38 * MS) == pytest.approx(EXPECTED, abs=1)
    storms = [found.column("switch.broken", name)[-1] for name in ("storms", "storms_over")]
    assert storms == [1, 1]


@pytest.mark.parametrize("frames", ["pause", "pfc"])
def test_frames_are_sent_during_a_storm_where_that_is_wanted(frames: str) -> None:
    found = recorded(stormy(frames, action="forward"))
    assert received(found, 9 * MS, 21 * MS) == pytest.approx(EXPECTED, abs=1)
    assert found.column("switch.broken", "frames_dropped_early")[-1] == 0
    held = found.column("switch>broken", "paused_ps")
    assert held[-1] < 4 * MS, "from the detection on nothing holds it"
    assert found.column("switch.broken", "storms_over")[-1] == 1


def test_a_watchdog_that_only_says_so_changes_nothing() -> None:
    without, found = recorded(stormy()), recorded(stormy(action="alert"))
    for begin, end in ((0, 8 * MS), (8 * MS, 24 * MS), (24 * MS, 38 * MS)):
        assert received(found, begin, end) == received(without, begin, end)
    assert found.column("switch.broken", "storms")[-1] == 1


def test_a_short_pause_is_no_storm() -> None:
    found = recorded(stormy(stop=6 * MS, action="drop"))
    assert found.column("switch.broken", "storms")[-1] == 0
    assert found.column("switch.broken", "frames_dropped_early")[-1] == 0
    assert received(found, 0, 38 * MS) == pytest.approx(38 * MS / (120 * 10**6), abs=2)


def test_a_storm_and_its_end_are_events_and_metrics_of_the_run() -> None:
    registry = Registry.load()
    table = stormy(action="drop")
    recording = recorded(table)
    resolved = Plan(**table).check(registry)
    for _ in range(2):  # judged again they are no more
        found = measure(registry, resolved, recording)
    events = [(e.kind, e.entity, e.time_ps) for e in recording.events if e.kind.startswith("storm")]
    assert [one[:2] for one in events] == [
        ("storm", "switch.broken"),
        ("storm over", "switch.broken"),
    ]
    assert 7 * MS <= events[0][2] <= 9 * MS
    assert 24 * MS <= events[1][2] <= 26 * MS
    mine = found["metrics"]["run"]["switch.broken"]
    assert (mine["storms.detected"], mine["storms.restored"]) == (1, 1)


def test_other_lanes_of_the_port_are_not_touched() -> None:
    table = stormy("pfc", action="drop")
    table["priorities"] = "separate"
    broken = table["nodes"]["broken"]
    table["nodes"] |= {
        "broken": {"kind": "switch", "ports": {"sink": {"pause": broken["pause"]}}},
        "sound": {"kind": "sink"},
    }
    table["links"]["past"] = {"ends": ["broken", "sound"], "rate": 10**9}
    table["traffic"]["other"] = table["traffic"]["gen"] | {"priority": 3, "to": "sound"}
    found = recorded(table)
    names = {c.entity for c in found.columns if c.quantity == "storms"}
    storms = {name: int(found.column(name, "storms")[-1]) for name in names}
    assert sorted(count for name, count in storms.items() if "switch.broken" in name) == [0, 1]
    passed = found.column("other", "frames_received")[-1]
    assert passed == pytest.approx(40 * MS / (120 * 10**6), abs=2)


def test_gateware_lacks_what_it_needs() -> None:
    targets = {target.name: target for target in Registry.load().targets}
    assert PFC_WATCHDOG.lacks(targets["gateware"].capabilities)
    assert not PFC_WATCHDOG.lacks(targets["software"].capabilities)


def test_the_page_has_its_parameters() -> None:
    assert check_page("plugins.pfc_watchdog") > 0
