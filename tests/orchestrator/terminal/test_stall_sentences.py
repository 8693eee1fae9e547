"""Stalls in words: how many above what, by whom, and whether a loop has felt any."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.run import datapath_stalls as found
from orchestrator.run.datapath_stalls import LongIteration, StallLog
from orchestrator.run.stall_impact import ControlLoop
from orchestrator.run.stall_report import stall_report
from orchestrator.terminal.stall_sentences import BY, MACHINES, as_entry, sentences

NONE = {"count": 0, "floor_s": 5e-5, "felt": 0}
LOOPS = {"switch.sink": {"longest_s": 3e-5, "reaction_time_s": 378e-6, "felt": 0}}
SOME = {
    "count": 12,
    "floor_s": 5e-5,
    "felt": 0,
    "longest_s": 0.0101,
    "not_logged": 0,
    "causes": {"processes": {"count": 9, "time_s": 1e-3}, "hypervisor": {"count": 3, "time_s": 4}},
    "loops": LOOPS,
}


@pytest.mark.parametrize(
    ("stalls", "text"),
    [
        (NONE, "none above 50 µs"),
        (
            SOME,
            "12 above 50 µs: 3 by the hypervisor, 9 by other processes; the longest 10.1 ms; no "
            "control loop was affected: 30 µs of its time at the most, and switch.sink reacts in "
            "378 µs",
        ),
        (
            SOME | {"felt": 2, "loops": {"s.d": {"felt": 2}, "s.e": {"felt": 0}}},
            "12 above 50 µs: 3 by the hypervisor, 9 by other processes; the longest 10.1 ms; "
            "2 of them delayed control loops (at s.d)",
        ),
        (
            {**NONE, "count": 5, "not_logged": 4, "loops": {}},
            "5 above 50 µs; 4 more were not logged; the plan has no control loop",
        ),
    ],
)
def test_what_is_said(stalls: dict[str, Any], text: str) -> None:
    assert sentences({"stalls": stalls}) == [text]
    assert as_entry({"stalls": stalls}) == {"stalls": text}


def test_every_cause_has_words() -> None:
    assert list(BY) == list(found.CAUSES)


def test_what_a_run_tells_has_words() -> None:
    turn = LongIteration(10**6, 2 * 10**6, 0, 10**7, span_ns=10**6, cpu_ns=0, waited_ns=10**6)
    log = StallLog(frozenset({"s"}), [turn], 1, 100.0, 50_000)
    loop = ControlLoop("s.d", frozenset({"s", "d"}), 10**8, 0)
    assert sentences({"stalls": stall_report([log], [loop])}) == [
        "1 above 50 µs: 1 by other processes; the longest 1 ms; no control loop was "
        "affected: 10 µs of its time at the most, and s.d reacts in 100 µs"
    ]


ONE_OF_TWO = (
    "on left, 12 above 50 µs: 3 by the hypervisor, 9 by other processes; the longest 10.1 ms"
)


def test_each_of_several_machines_has_a_sentence() -> None:
    stalls = SOME | {"machines": {"left": SOME, "right": NONE}}
    said = sentences({"stalls": stalls})
    assert said == [
        ONE_OF_TWO,
        "on right, none above 50 µs",
        "no control loop was affected: 30 µs of its time at the most, and switch.sink reacts in "
        "378 µs",
    ]
    assert as_entry({"stalls": stalls}) == {"stalls": "; ".join(said)}


def test_a_machine_that_tells_none_has_not_had_none() -> None:
    older = {"untold": "its agent is older"}
    assert sentences({"stalls": SOME | {"machines": {"left": SOME, "right": older}}}) == [
        ONE_OF_TWO,
        "on right, unknown: its agent is older",
        "no control loop was affected on machines with reports: 30 µs of its time at the most, and "
        "switch.sink reacts in 378 µs",
    ]
    assert sentences({"stalls": NONE | {"machines": {"right": older}}}) == [
        "on right, unknown: its agent is older"
    ]


def test_of_many_machines_some_are_told_one_by_one() -> None:
    machines = {f"m{number}": NONE for number in range(MACHINES + 2)}
    said = sentences({"stalls": NONE | {"machines": machines}})
    assert said[-2:] == [
        f"on m{MACHINES - 1}, none above 50 µs",
        "on 2 more machines as result.json has it",
    ]
    assert len(said) == MACHINES + 1


@pytest.mark.parametrize("row", [None, 7, "x", [], {}, {"untold": 7}, {"count": "12"}])
def test_nonsense_of_a_machine_is_passed_over(row: object) -> None:
    assert sentences({"stalls": NONE | {"machines": {"left": row, "right": NONE}}}) == [
        "on right, none above 50 µs"
    ]


@pytest.mark.parametrize(
    "nonsense",
    [
        *(None, 7, [], {}, {"stalls": None}, {"stalls": []}, {"stalls": {"count": "12"}}),
        *({"stalls": {"count": 3, "floor_s": 1}}, {"stalls": {"count": True, "floor_s": 1}}),
    ],
)
def test_what_says_nothing_is_passed_over(nonsense: object) -> None:
    assert sentences(nonsense) == []
    assert as_entry(nonsense) == {}


@pytest.mark.parametrize("place", ["causes", "loops", "longest_s", "not_logged"])
@pytest.mark.parametrize("value", [None, 7, "x", [], {"switch.sink": 3}, {"processes": []}])
def test_nonsense_within_is_passed_over(place: str, value: object) -> None:
    assert sentences({"stalls": SOME | {place: value}})[0].startswith("12 above 50 µs")
