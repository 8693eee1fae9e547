"""What runs beside the data path obeys orders and tells: here beside worlds in virtual time."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from orchestrator.assembly import Assembly, assemble
from orchestrator.live.command_slots import EVERY_PS, MARGIN_PS, slot_times
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.targets.software.control_thread import (
    FRAMES,
    MAKE,
    ROWS,
    SEEN,
    WATCH,
    ControlThread,
)
from orchestrator.targets.software.worker_stages import CHANGE, HALT
from tests.orchestrator.worlds import MS, line_of_three, run_until

LASTS = 300 * MS
CUT = {"cut": "up"}


class Driver:
    """Stands for a thread of the data path."""

    def __init__(self, assembly: Assembly, nodes: list[str]) -> None:
        self.assembly, self.nodes = assembly, nodes
        self.ended: Callable[[], None] = lambda: None


class Bed:
    """An attendant of one world that has come to `now`, and what it was told and tells."""

    def __init__(self, now: int) -> None:
        capture = {"ports": ["nic.switch"], "frames": 5000, "snap": 64}
        table = line_of_three(duration=LASTS, sample_interval=MS, capture=capture)
        resolved = Plan.load(Plan(**table).check(Registry.load()).plan.to_toml()).check(
            Registry.load()
        )
        self.assembly = assemble(resolved, slots=slot_times(LASTS))
        run_until(self.assembly, now)
        self.orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.news: list[Any] = []
        self.told: list[dict[str, Any]] = []
        thread: Any = Driver(self.assembly, list(resolved.plan.nodes))
        self.attendant = ControlThread(self, resolved, [thread], self.told.append)
        self.thread = thread

    def report(self, news: Any) -> None:
        self.news.append(news)

    def obey(self, *orders: tuple[Any, ...]) -> None:
        """Have orders obeyed until the data path is done."""
        for order in orders:
            self.orders.put(order)
        self.thread.ended()
        self.attendant.serve()

    def done(self) -> list[tuple[int, str]]:
        """What the plan has of changes."""
        return [(a.at, a.verb) for a in self.attendant.changes.resolved.actions]


@pytest.fixture
def bed() -> Bed:
    """After 10 ms of 300."""
    return Bed(10 * MS)


def test_a_change_is_made_and_told_with_its_time(bed: Bed) -> None:
    bed.obey((MAKE, "7", CUT))
    ((at, verb),) = bed.done()
    assert bed.told == [{"number": "7", "at_ps": at}]
    assert verb == "cut"
    assert 10 * MS + MARGIN_PS <= at <= 10 * MS + MARGIN_PS + EVERY_PS
    assert bed.assembly.resolved is bed.attendant.changes.resolved
    run_until(bed.assembly, at - MS)
    port = bed.assembly.world.ports[bed.assembly.indices.sender("nic>switch")]
    assert port.up == 1
    run_until(bed.assembly, at + 1)
    assert port.up == 0


def test_several_machines_ask_first_and_name_the_time_then(bed: Bed) -> None:
    bed.obey((CHANGE, "c", "1", CUT, None), (CHANGE, "c", "2", CUT, 100 * MS))
    (soonest, made) = bed.told
    assert soonest["number"] == "1"
    assert 10 * MS + MARGIN_PS <= soonest["at_ps"] <= 10 * MS + MARGIN_PS + EVERY_PS
    assert made == {"number": "2", "at_ps": 100 * MS}
    assert bed.done() == [(100 * MS, "cut")]


def test_who_was_too_late_is_asked_again_and_the_change_is_made_once(bed: Bed) -> None:
    bed.obey(
        (CHANGE, "c", "1", CUT, 10 * MS),
        (CHANGE, "c", "2", CUT, 100 * MS),
        (CHANGE, "c", "3", CUT, 140 * MS),
    )
    assert bed.told == [
        {"number": "1", "late": True},
        {"number": "2", "at_ps": 100 * MS},
        {"number": "3", "at_ps": 140 * MS},
    ]
    assert bed.done() == [(140 * MS, "cut")]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"cut": "upp"}, "did you mean up"),
        ({"stop": "gen"}, "target software cannot start or stop traffic that the plan does not"),
        ({"set": "nodes.switch.buffer", "to": "900MB"}, "room for"),
    ],
)
@pytest.mark.parametrize("at", [None, 100 * MS, "soon"])
def test_a_mistake_is_told_with_its_reason(bed: Bed, step: Any, why: str, at: Any) -> None:
    bed.obey((MAKE, "7", step) if at == "soon" else (CHANGE, "c", "7", step, at))
    (told,) = bed.told
    assert told["number"] == "7"
    assert why in told["refused"]
    assert not bed.done()


def test_near_the_end_every_way_to_ask_is_refused_alike() -> None:
    bed = Bed(LASTS - MARGIN_PS)
    bed.obey((MAKE, "1", CUT), (CHANGE, "c", "2", CUT, None))
    assert [told["refused"] for told in bed.told] == ["the run is at its end"] * 2


def test_rows_are_handed_out_to_those_who_watch_and_frames_to_those_who_ask(bed: Bed) -> None:
    bed.obey((WATCH,), (FRAMES, "3", 5 * MS, 4))
    kinds = [news[0] for news in bed.news]
    assert kinds == [SEEN, ROWS]
    assert len(bed.news[0][2]) == 4
    times, values = bed.news[1][1:]
    world = bed.assembly.world
    rows = int(world.clock[0].row)
    assert np.array_equal(times, world.row_times[:rows])
    assert np.array_equal(values, world.rows[:rows])


def test_nobody_watches_and_nothing_is_handed_out(bed: Bed) -> None:
    bed.obey()
    assert not bed.news


def test_a_run_that_is_halted_has_nothing_of_the_phases_it_did_not_reach(bed: Bed) -> None:
    world = bed.assembly.world
    bed.obey((HALT,))
    assert world.clock[0].stop == 1
    assert world.latency.sum() > 0
    assert np.array_equal(world.latency_marks[-1], world.latency)
