"""Deviations of a node from its prediction: place, frames before and behind, another port."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orchestrator.engine.records import CNM, DATA, NEVER, NONE
from tests.traces.oracle.edits import EDITS, Edit
from tests.traces.oracle.test_mutants import captured, resolved_plan
from traces.oracle import capture_feeder, conditioned_reference, reference_driver
from traces.oracle.conformance_judge import Settings, judge
from traces.oracle.node_check import CONTEXT_FRAMES, Deviation
from traces.oracle.rtl_tolerance import RtlTiming

QUICK = {edit.name: edit for edit in EDITS if edit.plan == "open"}
NAMES = (
    *("one frame lost", "message late", "message out of another port"),
    "message to another address",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captures")


def departure(edit: Edit, folder: Path, *, clocked: bool) -> Deviation:
    """The one deviation that is found, as a device that acts at once or one with clocks."""
    resolved = resolved_plan(edit.plan, edit.settings)
    place = folder / edit.name.replace(" ", "-")
    place.mkdir(exist_ok=True)
    paths = captured(resolved, place, edit.apply)
    clocks = RtlTiming(period_ps=8000)
    settings = Settings(window_ns=clocks.act_ns, late_ns=clocks.late_ns(resolved))
    (finding,) = judge(paths, resolved, settings if clocked else Settings()).findings
    return finding.departure


@pytest.mark.parametrize("clocked", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_deviation_has_its_place_and_its_surroundings(
    name: str, clocked: bool, folder: Path
) -> None:
    edit = QUICK[name]
    found = departure(edit, folder, clocked=clocked)
    assert found.node == edit.node
    assert found.port.startswith(f"{edit.node}.")
    assert Path(found.path).is_file()
    assert 0 < len(found.before) <= 8
    assert len(found.expected_next) <= CONTEXT_FRAMES - 1
    assert len(found.seen_next) <= CONTEXT_FRAMES - 1
    times = [one.time_ns for one in found.before]
    assert times == sorted(times)
    assert times[-1] <= found.time_ns
    numbers = [one.number for one in found.before]
    assert numbers == sorted(numbers)
    if found.seen is not None:
        assert found.seen.number > numbers[-1]
        ahead = [one.number for one in found.seen_next]
        assert ahead == sorted(ahead)
        assert all(number > found.seen.number for number in ahead)
    if found.expected is not None:
        due = [one.due_ps for one in (found.expected, *found.expected_next)]
        assert due == sorted(due)
        assert found.time_ns <= due[0] // 1000
    assert all(abs(one.time_ns - found.time_ns) < 10**9 for one in found.others)


def test_a_lost_frame_is_expected_and_the_one_behind_it_is_seen(folder: Path) -> None:
    found = departure(QUICK["one frame lost"], folder, clocked=False)
    assert found.expected is not None
    assert found.seen is not None
    wanted, got = found.expected.frame, found.seen.frame
    assert int(wanted["kind"]) == DATA
    following = [int(one.frame["sequence"]) for one in found.expected_next]
    assert int(got["sequence"]) in following
    assert found.time_ns == min(found.expected.due_ps // 1000, found.seen.time_ns)
    assert found.elsewhere == ""


def test_a_message_out_of_another_port_is_seen_there(folder: Path) -> None:
    found = departure(QUICK["message out of another port"], folder, clocked=False)
    assert found.elsewhere
    assert found.elsewhere != found.port
    one = found.expected if found.is_missing else found.seen
    assert one is not None
    assert int(one.frame["kind"]) == CNM


def test_ports_are_held_where_they_are_followed() -> None:
    """Nothing waits at first, and no state is left of another run."""
    hold = conditioned_reference.new_hold(3, [1])
    assert hold[:, conditioned_reference.HELD].tolist() == [0, 1, 0]
    assert hold[:, conditioned_reference.SINCE].tolist() == [NEVER] * 3
    assert hold[:, conditioned_reference.OTHER].tolist() == [NONE] * 3
    assert hold[:, conditioned_reference.FREE].tolist() == [0] * 3
    assert not capture_feeder.Timing(0, 1, False, 2).nudges
    one, other = reference_driver.new_state(), reference_driver.new_state()
    one[reference_driver.SENT] = 5
    assert other[reference_driver.SENT] == 0


def test_frames_of_one_nanosecond_keep_their_order_by_picoseconds() -> None:
    order = capture_feeder._offsets_ps
    assert order(np.array([0, 5, 5, 5, 6, 7, 7])).tolist() == [0, 0, 1, 2, 0, 0, 1]
    many = order(np.full(1_200, 9))
    assert many[:3].tolist() == [0, 1, 2]
    assert many.max() == 998, "it stays within the nanosecond"
    assert order(np.zeros(0, np.int64)).tolist() == []
