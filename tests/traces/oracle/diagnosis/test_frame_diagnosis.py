"""Diagnoses of a single frame, on deviations that are made up: which rule, in which words."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.engine.records import CNM, DATA, PAUSE, RETURNED
from tests.traces.oracle.diagnosis.made_case import LATE_NS, case, got, wanted
from traces.oracle.diagnosis.frame_diagnosis import BEHIND, single_frame
from traces.oracle.node_check import CLOCK_NS

TIMES = [10, 20, 30, 40, 50, 60]


def frames(times: list[float], **fields: int) -> tuple[list[Any], list[Any]]:
    """Predicted and captured frames at the same times."""
    return [wanted(t, **fields) for t in times], [got(t, **fields) for t in times]


def rule(*arguments: Any, **changes: Any) -> tuple[str, str] | None:
    found = single_frame(case(*arguments, **changes))
    return None if found is None else (found.rule, found.why)


def test_a_frame_that_is_missing_while_those_behind_it_leave() -> None:
    expected, seen = frames(TIMES)
    name = "the data of flow 0 (sequence 10)"
    text = f"{name} is missing, and those behind it leave"
    assert rule("frame", expected, seen[1:]) == ("queue.drop", f"{text}: there was room for it")
    assert rule("missing", expected, seen[1:]) == ("queue.drop", f"{text}: there was room for it")
    assert rule("frame", expected, seen[1:], node="h") == ("source.frames", text)


@pytest.mark.parametrize("late", [-CLOCK_NS, LATE_NS])
def test_frames_behind_may_be_late_and_early_within_what_is_allowed(late: int) -> None:
    expected, _ = frames(TIMES, flow=1)
    seen = [got(t + late / 1000, flow=1, sequence=t) for t in TIMES[1:]]
    found = rule("frame", expected, seen, node="h")
    assert found is not None
    assert found[0] == "source.frames"


def test_data_of_a_limiter_is_left_to_its_rules_unless_all_behind_is_in_time() -> None:
    expected, _ = frames(TIMES)
    shifted = [got(t + 5, sequence=t) for t in TIMES[1:]]
    assert rule("frame", expected, shifted, node="h") is None
    free, _ = frames(TIMES, flow=1)
    shifted = [got(t + 5, sequence=t, flow=1) for t in TIMES[1:]]
    found = rule("frame", free, shifted, node="h")
    assert found is not None
    assert found[0] == "source.frames"


def test_a_frame_alone_says_nothing_of_those_behind_it() -> None:
    expected, seen = frames(TIMES[: BEHIND - 1])
    assert rule("time", expected, [got(11, sequence=10), *seen[1:]]) is None
    expected, seen = frames(TIMES[: BEHIND + 1])
    assert rule("time", expected, [got(11, sequence=10), *seen[1:]]) is not None


@pytest.mark.parametrize(("at", "how"), [(12.5, "2.500 us late"), (8, "2.000 us early")])
def test_a_frame_that_leaves_at_another_time_once(at: float, how: str) -> None:
    expected, seen = frames(TIMES)
    moved = [got(at, sequence=10), *seen[1:]]
    text = f"the data of flow 0 (sequence 10) leaves {how}, once"
    assert rule("time", expected, moved) == ("queue.service", text)
    free = [got(at, sequence=10, flow=1), *frames(TIMES, flow=1)[1][1:]]
    found = rule("time", frames(TIMES, flow=1)[0], free, node="h")
    assert found is not None
    assert found[0] == "source.frames"
    assert rule("time", expected, moved, node="h") is None, "its limiter's rules explain it"


def test_all_that_is_late_is_not_one_frame() -> None:
    expected, _ = frames(TIMES)
    assert rule("time", expected, [got(t + 5, sequence=t) for t in TIMES]) is None


@pytest.mark.parametrize("kind", [DATA, CNM])
def test_a_frame_that_leaves_twice(kind: int) -> None:
    expected, seen = frames(TIMES)
    copy, first = got(10.5, sequence=5, kind=kind), got(9.5, sequence=5, kind=kind)
    name = "data" if kind == DATA else "CNM"
    found = rule("frame", expected, [copy, *seen], before=[first])
    assert found == (
        "frame.once",
        f"the {name} of flow 0 (sequence 5) leaves twice, 1.000 us apart",
    )
    other = got(9.5, octet=7, sequence=5, kind=kind)
    assert rule("frame", expected, [copy, *seen], before=[other]) is None, "its octets differ"


def test_equal_messages_that_are_far_apart_are_no_copies() -> None:
    expected, seen = frames([100, *range(110, 160, 10)])
    odd = got(100, sequence=5, kind=CNM)
    near, far = got(50, sequence=5, kind=CNM), got(49.9, sequence=5, kind=CNM)
    found = rule("frame", expected, [odd, *seen], before=[near])
    assert found is not None
    assert found[0] == "frame.once"
    found = rule("frame", expected, [odd, *seen], before=[far])
    assert found is None or found[0] != "frame.once"


@pytest.mark.parametrize(
    ("is_missing", "text"),
    [
        (True, "the data of flow 0 (sequence 10) leaves by s.h and not by s.d"),
        (False, "the data of flow 0 (sequence 10) leaves by s.d and not by s.h"),
    ],
)
def test_a_frame_that_stands_at_another_port(is_missing: bool, text: str) -> None:
    expected, seen = frames(TIMES)
    what = "missing" if is_missing else "unexpected"
    found = rule(
        what,
        expected if is_missing else [],
        [] if is_missing else seen,
        elsewhere="s.h",
        is_missing=is_missing,
    )
    assert found == ("forward.port", text)


def test_a_message_of_its_own_at_another_port_is_left_to_the_congestion_point() -> None:
    own = wanted(10, kind=CNM, source=71)
    assert rule("missing", [own], [], elsewhere="s.h", is_missing=True) is None
    passing = wanted(10, kind=CNM, source=5)
    found = rule("missing", [passing], [], elsewhere="s.h", is_missing=True)
    assert found is not None
    assert found[0] == "forward.port"


@pytest.mark.parametrize(
    ("field", "value", "rule_name", "text"),
    [
        ("hops", 1, "forward.ttl", "TTL 63 instead of 64"),
        ("mark", 3, "cp.mark", "mark 3 instead of 0"),
        ("priority", 2, "forward.fields", "priority 2 instead of 0"),
        ("destination", 9, "forward.fields", "destination 9 instead of 0"),
        ("feedback", 5, "cp.probe", "feedback 5 instead of 0"),
    ],
)
def test_a_field_with_another_value(field: str, value: int, rule_name: str, text: str) -> None:
    expected, seen = frames(TIMES)
    changed = [got(10, **{field: value}), *seen[1:]]
    name = "the data of flow 0 (sequence 10)"
    assert rule(field, expected, changed) == (rule_name, f"{name} has {text}")
    found = rule(field, expected, changed, node="h")
    assert found == ("source.frames", f"{name} has {text}")


def test_a_probe_is_rewritten_by_congestion_points_alone() -> None:
    expected, seen = frames(TIMES)
    changed = [got(10, feedback=5), *seen[1:]]
    found = rule("feedback", expected, changed, points=("t.d",))
    assert found is not None
    assert found[0] == "forward.fields"


def test_other_octets_of_equal_fields() -> None:
    expected, seen = frames(TIMES)
    found = rule("payload", expected, [got(10, octet=3), *seen[1:]])
    assert found == ("forward.fields", "the data of flow 0 (sequence 10) has other octets")


@pytest.mark.parametrize("field", ["feedback", "offset"])
def test_a_message_that_passes_and_one_of_its_own(field: str) -> None:
    for source, known in ((5, True), (70, False), (72, False)):
        expected = [wanted(10, kind=CNM, source=source), *frames(TIMES[1:])[0]]
        seen = [got(10, kind=CNM, source=source, **{field: 4}), *frames(TIMES[1:])[1]]
        found = rule(field, expected, seen)
        assert (found is not None) == known
        if found is not None:
            assert found[0] == "forward.fields"


def test_a_returned_frame_is_the_congestion_points() -> None:
    expected = [wanted(10, kind=RETURNED), *frames(TIMES[1:])[0]]
    seen = [got(10, kind=RETURNED, feedback=4), *frames(TIMES[1:])[1]]
    found = rule("feedback", expected, seen)
    assert found is not None
    assert found[0] == "cp.feedback"
    found = rule("destination", expected, [got(10, kind=RETURNED, destination=4), *seen[1:]])
    assert found is not None
    assert found[0] == "cp.culprit"
    found = rule("priority", expected, [got(10, kind=RETURNED, priority=4), *seen[1:]])
    assert found is not None
    assert found[0] == "cp.message"
    passing = rule("priority", expected, [got(10, kind=RETURNED, priority=4), *seen[1:]], points=())
    assert passing is not None
    assert passing[0] == "forward.fields"


def test_frames_that_change_places() -> None:
    expected, _ = frames(TIMES, flow=1)
    order = [20, 30, 10, 40, 50, 60]
    seen = [got(at, sequence=n, flow=1) for at, n in zip(TIMES, order, strict=True)]
    name = "the data of flow 1 (sequence 10)"
    text = f"frames leave in another order: {name} leaves 20.000 us late; 2 overtake it"
    assert rule("frame", expected, seen) == ("queue.service", text)
    found = rule("frame", expected, seen, node="h")
    assert found == ("source.frames", text)
    order = [40, 10, 20, 30, 50, 60]
    seen = [got(at, sequence=n, flow=1) for at, n in zip(TIMES, order, strict=True)]
    text = (
        "frames leave in another order: the data of flow 1 (sequence 40) leaves 30.000 us early; "
        "it overtakes 3"
    )
    assert rule("frame", expected, seen) == ("queue.service", text)


def test_pauses_are_not_diagnosed_as_single_frames() -> None:
    expected = [wanted(10, kind=PAUSE), *frames(TIMES[1:])[0]]
    _, seen = frames(TIMES)
    assert rule("frame", expected, seen[1:]) is None
    assert rule("time", expected, [got(12, kind=PAUSE, sequence=10), *seen[1:]]) is None
    assert rule("feedback", expected, [got(10, kind=PAUSE, feedback=4), *seen[1:]]) is None


def test_a_frame_with_another_number_at_its_time() -> None:
    expected, seen = frames(TIMES)
    found = rule("frame", expected, [got(10, sequence=99), *seen[1:]])
    name = "the data of flow 0 (sequence 10)"
    assert found == ("forward.fields", f"{name} has sequence 99 instead of 10")
    found = rule("frame", expected, [got(10, sequence=99, created=1001), *seen[1:]])
    assert found is None or found[0] != "forward.fields"
    own = [wanted(10, kind=CNM, source=71), *expected[1:]]
    found = rule("frame", own, [got(10, kind=CNM, source=71, flow=2), *seen[1:]])
    assert found is not None
    assert found == ("cp.message", "the CNM of flow 0 (sequence 10) has flow 2 instead of 0")
