"""Words of a deviation: names of frames, times, and a rate that differs."""

from __future__ import annotations

import pytest

from orchestrator.engine.records import CNM, DATA, PAUSE, PFC, PROBE
from tests.traces.oracle.diagnosis.made_case import case, got, wanted
from traces.oracle.diagnosis.deviation_text import another_rate, frame_name, identity, moved_by
from traces.oracle.diagnosis.diagnosis_case import is_early, key_of, kind_of


def test_a_frame_is_named_by_kind_flow_and_number() -> None:
    assert frame_name(got(7, flow=3)) == "the data of flow 3 (sequence 7)"
    assert frame_name(wanted(7, kind=CNM)) == "the CNM of flow 0 (sequence 7)"
    assert frame_name(got(7, kind=PAUSE)) == "the PAUSE"
    assert frame_name(got(7, kind=PFC)) == "the PFC"
    assert frame_name(got(7, flow=-1)) == "the data"
    assert frame_name(got(7, kind=99)) == "the frame of an unknown type of flow 0 (sequence 7)"


def test_frames_of_the_plain_kinds_are_known_by_three_fields() -> None:
    assert identity(got(7, flow=3, feedback=5)) == (DATA, 3, 7) == key_of(got(7, flow=3))
    fields = {"feedback": 1, "offset": 2, "delta": 3, "inner": 4}
    assert identity(got(7, kind=PROBE, **fields)) == (PROBE, 0, 7, 1, 2, 3, 4)
    assert (kind_of(None), kind_of(got(1))) == (-1, DATA)


@pytest.mark.parametrize(
    ("at", "text"), [(12.5, "2.500 us late"), (9, "1.000 us early"), (10, "0.000 us early")]
)
def test_a_frame_is_late_or_early_by_its_time(at: float, text: str) -> None:
    assert moved_by(got(at), wanted(10)) == text


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        (1.0, ""),
        (1.001, ""),
        (1.25, "20.0 % slower over 7 frames"),
        (0.5, "100.0 % faster over 7 frames"),
    ],
)
def test_a_rate_is_compared_over_the_frames_behind(factor: float, text: str) -> None:
    times = [10 * n for n in range(1, 9)]
    expected = [wanted(t) for t in times]
    seen = [got(t * factor, sequence=t) for t in times]
    assert another_rate(case("time", expected, seen)) == text
    assert another_rate(case("time", expected[:5], seen[:5])) == "", "too few to tell"


def test_of_a_long_list_twenty_frames_count() -> None:
    times = [10 * n for n in range(1, 60)]
    expected = [wanted(t) for t in times]
    seen = [got(t * 2, sequence=t) for t in times]
    assert another_rate(case("time", expected, seen)) == "50.0 % slower over 19 frames"
    strangers = [got(t, sequence=t + 1) for t in times]
    assert another_rate(case("time", expected, strangers)) == ""
    still = [got(10, sequence=t) for t in times]
    assert another_rate(case("time", expected, still)) == ""


def test_a_frame_too_many_is_early_and_one_too_few_is_late() -> None:
    assert is_early(case("unexpected", [], [got(1)]).departure)
    assert not is_early(case("missing", [wanted(1)], []).departure)
    assert is_early(case("time", [wanted(2)], [got(1)]).departure)
    assert not is_early(case("time", [wanted(2)], [got(2)]).departure)
