"""Figures of ECN marks and of a lossy class held to simulated switches, right and wrong ones."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tests.hardware import test_device_lossy as lossy
from tests.hardware import test_device_marking as marking
from tests.hardware.device_figures import Held
from tests.hardware.stand_in import Figures, StandIn
from traces.pytest_plugin.dut_description import Device, Marking

SAID: dict[str, Any] = {
    "ports": {"nic1": "e1", "nic2": "e2", "far": "e3"},
    "does": ["pfc", "ecn"],
    "rate": 10**8,
    "load": 2 * 10**6,
    "service": 10**7,
    "reaction": 10**9,
    "lossless": [3],
}
RIGHT = {"plugin": "red", "low": "20KB", "high": "100KB", "max_probability": "1/2"}
CLASS = {
    "plugin": "red-by-class",
    "low_3": "20KB",
    "high_3": "100KB",
    "max_probability_3": "1/2",
}


def device(at: str = "enqueue") -> Device:
    """What is stated."""
    stated = Marking(kmin=20_000, kmax=100_000, pmax=Fraction(1, 2), marks_at=at)
    return Device(**SAID, ecn=stated)


def marked(point: dict[str, Any], at: str = "enqueue", **more: Any) -> Figures:
    """The six figures of a switch that marks by a congestion point."""
    one, figures = device(at), Figures()
    assert one.ecn is not None
    lab = StandIn({"buffer": "400KB", "congestion_point": point, **more})
    held = marking.Bursts(lab.run(marking.plan_of(one, one.ecn)), one)
    assert held.bursts == marking.BURSTS, held.rejected
    if held.marks.marked.any():
        marking.test_marks_come_at_enqueue_or_dequeue(held, one.ecn, figures)
    marking.test_no_frame_is_marked_below_kmin(held, one.ecn, figures)
    marking.test_every_frame_is_marked_above_kmax(held, one.ecn, figures)
    marking.test_between_both_the_share_is_as_configured(held, one.ecn, figures)
    marking.test_the_probability_follows_the_line(held, one.ecn, figures)
    marking.test_frames_that_are_not_ecn_capable_stay_so(held, figures)
    return figures


@pytest.mark.parametrize(("at", "mark"), [("enqueue", "arrival"), ("dequeue", "departure")])
@pytest.mark.parametrize("point", [RIGHT, CLASS], ids=["red", "by-class"])
def test_a_switch_that_marks_as_stated_passes(at: str, mark: str, point: dict[str, Any]) -> None:
    figures = marked(point | {"mark": mark}, at)
    assert figures.missed == set(), figures.why
    assert len(figures.kept) == 6


SIDE, KMIN, KMAX = (
    "ECN: marks at dequeue",
    "ECN: frames marked below Kmin",
    "ECN: frames not marked above Kmax",
)
SHARE = "ECN: share of frames marked from Kmin to Kmax"
LINE = "ECN: parts of the range off the line"
WRONG: dict[str, tuple[dict[str, Any], set[str]]] = {
    "kmin 10 KB": (RIGHT | {"low": "10KB"}, {KMIN}),
    "kmin 45 KB": (RIGHT | {"low": "45KB"}, {SHARE, LINE}),
    "kmax 60 KB": (RIGHT | {"high": "60KB"}, {SHARE, LINE}),
    "kmax 130 KB": (RIGHT | {"high": "130KB"}, {KMAX, SHARE}),
    "pmax 1/4": (RIGHT | {"max_probability": "1/4"}, {SHARE, LINE}),
    "pmax 1": (RIGHT | {"max_probability": 1}, {SHARE, LINE}),
    "step at 60 KB": (
        RIGHT | {"low": "59999B", "high": "60KB", "max_probability": 1},
        {SHARE, LINE},
    ),
    "at dequeue": (RIGHT | {"mark": "departure"}, {SIDE}),
    "thresholds of DCQCN": ({"plugin": "red"}, {KMIN, KMAX, SHARE, LINE}),
    "another class": (CLASS | {"vector": 1 << 5}, {KMAX, SHARE, LINE}),
    "classes exchanged": (
        {"plugin": "red-by-class", "low_5": "20KB", "high_5": "100KB", "max_probability_5": "1/2"},
        {KMIN, KMAX, SHARE, LINE},
    ),
    "PIE in its place": ({"plugin": "pie", "ecn": True}, {LINE}),
    "CoDel in its place": ({"plugin": "codel", "ecn": True}, {LINE}),
}
"""A congestion point, and the figures that miss it."""


@pytest.mark.parametrize("name", WRONG)
def test_a_switch_that_marks_otherwise_misses(name: str) -> None:
    point, expected = WRONG[name]
    figures = marked(point)
    assert expected <= figures.missed, figures.why
    if name == "at dequeue":
        assert figures.missed == {SIDE}
        assert figures.why[SIDE].endswith("the device marks at dequeue, enqueue is stated")


def classes(**settings: Any) -> Figures:
    """The three figures of a switch with PFC on priority 3 alone, but for some settings."""
    right: dict[str, Any] = {
        "buffer": "60KB",
        "ports": {"far": {"service_rate": "10Mb/s"}},
        "pause": {"plugin": "pfc", "high": "40KB", "low": "20KB"},
        "pause_priorities": [3],
        "obeys_pfc": [3],
    }
    box = {name: one for name, one in (right | settings).items() if one is not None}
    lab, one, figures = StandIn(box), device(), Figures()
    held = Held(lab, one, lossy.OTHER_PRIORITY)
    lossy.test_a_lossy_class_goes_on_while_pfc_names_it(held, figures)
    lossy.test_a_lossy_class_loses_nothing_while_pfc_names_it(held, figures)
    seen = lambda port: lab.last.capture(port)  # noqa: E731
    lossy.test_a_lossy_class_in_congestion_pauses_nobody(lab, one, 5, seen, figures)
    return figures


ON = "PFC for a lossy class: frames of it that start meanwhile, of those sent"
LOST = "PFC for a lossy class: frames lost"
OWN = "lossy class in congestion: PFC frames that pause it"


@pytest.mark.parametrize("obeys", [[3], []])
def test_a_switch_whose_lossy_class_ignores_pfc_passes(obeys: list[int]) -> None:
    figures = classes(obeys_pfc=obeys)
    assert figures.missed == set(), figures.why
    assert len(figures.kept) == 3


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"obeys_pfc": None}, {ON, LOST}),
        ({"obeys_pfc": [3, 5]}, {ON, LOST}),
        ({"obeys_pfc": [5]}, {ON, LOST}),
        ({"obeys_pfc": [5], "buffer": "500KB"}, {ON}),
        ({"pause_priorities": None}, {OWN}),
        ({"pause_priorities": [5]}, {OWN}),
        ({"pause_priorities": [3, 5], "obeys_pfc": [3, 5]}, {ON, OWN}),
    ],
)
def test_a_switch_with_pfc_on_its_lossy_class_misses(
    settings: dict[str, Any], expected: set[str]
) -> None:
    figures = classes(**settings)
    assert expected <= figures.missed, figures.why
