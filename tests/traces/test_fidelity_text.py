"""Fidelity as sentences: each with its number, its unit and what is accepted of it."""

from __future__ import annotations

from typing import Any

import pytest

from traces.fidelity_text import sentences

LATE = {"p50": 4e-6, "p99": 31e-6, "max": 0.0021}
LINKS = {
    "nic.switch": {"duplicated": 3, "reordered": 0, "delay_s": 52e-6, "planned_delay_s": 50e-6},
    "switch.sink": {"duplicated": 0, "reordered": 2, "delay_s": 50e-6, "planned_delay_s": 50e-6},
}
QUIET = {name: {"duplicated": 0, "reordered": 0} for name in LINKS}


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"note": "simulated: no machine"}, "Simulated: no machine."),
        ({"pace": 0.25}, "The run went at 0.25 of real time."),
        ({"pace": 1}, "The run went in real time."),
        (
            {"lateness_s": LATE, "departures": 12345, "bounds": {"lateness_p99_s": [1e-4, 1e-3]}},
            "Of 12 345 departures half were at most 4 µs late, 99 % at most 31 µs (100 µs is "
            "accepted); the latest was 2.1 ms behind.",
        ),
        (
            {"displaced_share": 0.0125, "bounds": {"displaced_share": [0.01, 0.1]}},
            "1.25 % of departures came later than the whole reaction time (1 % is accepted).",
        ),
        ({"held": {"share": 0.0, "count": 0, "longest_s": 0}}, "Its clock was never held back."),
        (
            {"held": {"share": 0.02, "count": 4, "longest_s": 0.003}},
            "Its clock was held back 4 times, 3 ms at the longest, 2 % of the run.",
        ),
        (
            {"lost_outside_queues": {"nic": 0, "switch": 0}},
            "Lost outside the emulated queues: no frame.",
        ),
        (
            {"lost_outside_queues": {"nic": 0, "switch": 7}},
            "Lost outside the emulated queues: 7 at switch.",
        ),
        ({"capture_lost": 5}, "Captures lack 5 frames."),
        *(
            ({"datapath": found}, f"{text}.")
            for found, text in (
                ({"arrivals": "by the kernel"}, "Times of arrival were taken by the kernel"),
                (
                    {"arrivals": "by the kernel", "waited_s": {"p99": 4e-6}},
                    "Times of arrival were taken by the kernel; 99 % waited at most 4 µs to be "
                    "taken in",
                ),
                ({"departures": "by NICs"}, "Times of departure were taken by NICs"),
                (
                    {"departures": "by NICs", "left": {"late_s": {"p99": 3e-6}}},
                    "Times of departure were taken by NICs; 99 % left at most 3 µs late",
                ),
                (
                    {"clocks": {"a": {"error_s": 2e-6}, "b": {"error_s": 5e-6}, "c": {}}},
                    "Clocks of NICs were joined to the system's to within 5 µs",
                ),
                (
                    {"launched": {"behind": 2, "missed": 0}},
                    "Frames were launched by NICs; of their times went wrong: 2 behind",
                ),
                (
                    {"launched": {"missed": 0}},
                    "Frames were launched by NICs; of their times went wrong: none",
                ),
            )
        ),
        (
            {"stalls": {"count": 0, "floor_s": 5e-5, "felt": 0}},
            "Stalls of its data path: none above 50 µs.",
        ),
        (
            {"rate_error": {"nic": 0.001, "switch": -0.02}, "bounds": {"rate_error": [0.01, 0.05]}},
            "Rates were the plan's within 2 % (at switch) (1 % is accepted).",
        ),
        (
            {"links": QUIET},
            "2 ways were balanced, frames sent against received: none duplicated, none reordered.",
        ),
    ],
)
def test_what_is_measured_is_said_with_its_unit_and_what_is_accepted(
    said: dict[str, Any], text: str
) -> None:
    assert sentences(said) == [text]


def test_stalls_of_each_of_several_machines_are_a_sentence() -> None:
    none = {"count": 0, "floor_s": 5e-5, "felt": 0}
    stalls = none | {"machines": {"left": none, "right": {"untold": "it is older"}}}
    assert sentences({"stalls": stalls}) == [
        "Stalls of its data path: on left, none above 50 µs.",
        "Stalls of its data path: on right, unknown: it is older.",
    ]


def test_ways_that_are_out_of_order_and_the_slowest_one_are_named() -> None:
    assert sentences({"links": LINKS, "bounds": {"extra_delay_s": [1e-5, 1e-4]}}) == [
        "2 ways were balanced, frames sent against received: "
        "nic.switch 3 duplicated, switch.sink 2 reordered.",
        "The slowest of them took 2 µs longer than planned (nic.switch) (10 µs is accepted).",
    ]


def test_lateness_is_said_with_what_it_counts_against() -> None:
    late = {"lateness_s": LATE, "reaction_time_s": 0.063}
    assert sentences(late)[1] == "The plan reacts within 63 ms: lateness counts against that."


@pytest.mark.parametrize("wrong", [None, "x", [1], {"p50": "x"}, True])
def test_what_is_of_another_type_is_passed_over(wrong: object) -> None:
    keys = ("note", "pace", "lateness_s", "held", "rate_error", "links", "bounds", "datapath")
    for key in keys:
        if not (key == "note" and isinstance(wrong, str)):
            assert sentences({key: wrong}) == [], key
