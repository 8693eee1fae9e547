"""The figures of PFC headroom held to simulated switches, right and wrong ones."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from tests.hardware import erring_pfc as erring
from tests.hardware import test_device_headroom as suite
from tests.hardware.headroom_bursts import STEPS, Fillings
from tests.hardware.stand_in import Figures, StandIn
from traces.pytest_plugin.dut_description import Device, Headroom

SAID: dict[str, Any] = {
    "ports": {"nic1": "e1", "nic2": "e2", "far": "e3"},
    "does": ["pfc", "headroom"],
    "rate": 10**8,
    "load": 2 * 10**6,
    "reaction": 10**9,
    "lossless": [3],
}
STATED = Headroom(xoff_threshold=40_000, size=20_000)
MARKS = {"high": "40KB", "low": "20KB"}
NO_XOFF = "XOFF: bursts above the threshold without it"
AT = "XOFF: octets buffered when it comes"
SIZE = "headroom: octets after XOFF until the first drop"
WITHIN = "headroom: bursts that lose frames within it"
BESIDE = "headroom: frames of another priority lost meanwhile"
STRANGE = "XOFF: frames for what is below its threshold"
LAPSE = "XOFF: longest lapse of it while the queue is held"
XON = "XON: bursts that it does not follow"


def box(buffer: str = "60KB", pause: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A switch that accounts for frames at its inputs until they have left it."""
    right = {"plugin": "pfc", **MARKS} if pause is None else pause
    inputs = {"buffer": buffer, "hold_until_departure": True, "pause": right}
    inputs |= {"pause_priorities": [3]} | more
    return {"buffer": "2MB", "inputs": {key: one for key, one in inputs.items() if one is not None}}


def errs(fault: int, buffer: str = "60KB", **more: Any) -> dict[str, Any]:
    """A switch whose PFC errs."""
    return box(buffer, {"plugin": "erring-pfc", "fault": fault, **MARKS, **more})


def judged(settings: dict[str, Any], stated: Headroom = STATED) -> tuple[Figures, Fillings]:
    """The figures of a switch."""
    one, figures = Device(**SAID, headroom=stated), Figures()
    filled = Fillings(StandIn(settings).run(suite.plan_of(one, stated)), one, stated)
    assert len(filled.bursts) == len(STEPS), filled.rejected
    suite.test_a_full_priority_gets_xoff(filled, figures)
    with suppress(pytest.skip.Exception):
        suite.test_xoff_comes_at_its_threshold(filled, figures)
        suite.test_the_headroom_is_as_stated(filled, figures)
    suite.test_nothing_is_lost_within_it(filled, figures)
    suite.test_other_priorities_keep_their_room(filled, figures)
    suite.test_xoff_names_what_is_full_alone(filled, figures)
    suite.test_xoff_lasts_until_there_is_room(filled, figures)
    suite.test_xon_comes_once_it_has_drained(filled, figures)
    return figures, filled


def shared(buffer: str = "40KB", memory: str = "200KB", room: str = "20KB") -> dict[str, Any]:
    """A switch with shared memory, and headroom of each port beside it."""
    more = {"shared_memory": memory, "buffer_management": {"plugin": "static"}, "headroom": room}
    pause = {"plugin": "dynamic-pfc", "xon": "20KB"}
    return box(buffer, pause, hold_until_departure=None, **more)


@pytest.mark.parametrize("ports", [1, 2])
@pytest.mark.parametrize("settings", [box(), shared()], ids=["inputs", "shared"])
def test_a_switch_with_the_headroom_that_is_stated_passes(
    settings: dict[str, Any], ports: int
) -> None:
    figures, filled = judged(settings, STATED.model_copy(update={"ports": ports}))
    assert figures.missed == set(), figures.why
    assert len(figures.kept) == 8
    assert suite.threshold(filled.bursts) == 81
    assert suite.headroom(filled.bursts) == 39


PAUSES = {"plugin": "pause", **MARKS}
AT_OUTPUT = {"buffer": "60KB", "pause": {"plugin": "pfc", **MARKS}, "pause_priorities": [3]}
WRONG: dict[str, tuple[dict[str, Any], set[str], str]] = {
    "headroom 3 frames short": (
        box("58500B"),
        {SIZE, WITHIN},
        "takes 36 frames, 18 KB, behind the one that brings XOFF, and drops the next one; 20 KB of "
        "headroom stated: 1.5 KB short, so that a neighbour that sends on for longer than 18 KB",
    ),
    "half of the headroom": (box("50KB"), {SIZE, WITHIN}, "10 KB short"),
    "no headroom": (box("40500B"), {SIZE, WITHIN}, "takes 0 frames, 0 KB"),
    "more headroom": (box("70KB"), {SIZE}, "10 KB more than stated"),
    "unlimited headroom": (box("500KB"), {SIZE}, "it has more headroom than the 20 KB stated"),
    "XOFF too late": (
        box(pause={"plugin": "pfc", "high": "50KB", "low": "20KB"}),
        {AT, SIZE},
        "once 50.5 KB of priority 3 are buffered from one port, 40 KB stated: 10.5 KB too late",
    ),
    "XOFF too early": (
        box("50KB", {"plugin": "pfc", "high": "30KB", "low": "20KB"}),
        {AT, WITHIN},
        "9.5 KB too early",
    ),
    "threshold above the buffer": (
        box("38KB"),
        {NO_XOFF, WITHIN},
        "gets no XOFF for priority 3; the device sends neither PFC nor PAUSE",
    ),
    "no PFC": (
        box(pause_priorities=None, pause=PAUSES | {"high": "900KB"}),
        {NO_XOFF},
        "the device sends neither PFC nor PAUSE",
    ),
    "PAUSE in its place": (
        box(pause=PAUSES, pause_priorities=None),
        {STRANGE},
        "frames of PAUSE (802.3x), which stops every priority, to nic1",
    ),
    "another priority": (
        errs(erring.OTHER_PRIORITY),
        {NO_XOFF, STRANGE},
        "gets no XOFF for priority 3; the device sends XOFF for priority 5 to nic1 instead",
    ),
    "every priority": (
        errs(erring.ALL_PRIORITIES),
        {STRANGE},
        "16 frames of PFC for priority 0-2, 4-7 to nic1",
    ),
    "XON never": (
        errs(erring.NO_XON),
        {XON},
        "the queue of burst 1 drains and no XON follows within 200 ms",
    ),
    "XON while it is full": (
        errs(erring.EARLY_XON, delay="100ms"),
        {LAPSE},
        "ms while its queue is full, by XON",
    ),
    "no refresh": (
        errs(erring.NO_REFRESH, quanta=2_000),
        {LAPSE},
        "ms while its queue is full, by quanta that run out",
    ),
    "a slow processor": (
        errs(erring.LATE, delay="5ms"),
        {AT, SIZE},
        "too late, which its headroom lacks",
    ),
    "a threshold that drifts": (errs(erring.DRIFTS), {AT, SIZE}, "too late"),
    "XOFF once": (errs(erring.ONCE), {NO_XOFF}, "gets no XOFF for priority 3"),
    "accounts by output": (
        {**AT_OUTPUT, "buffer": "80KB"},
        {AT, STRANGE},
        "frames of PFC for priority 3 to nic2",
    ),
    "a memory without a reserve": (
        box("60KB", hold_until_departure=None, shared_memory="64KB"),
        {WITHIN, BESIDE},
        "frames of priority 5 from nic1 are lost, which nothing holds, while priority 3 is full",
    ),
}
"""A switch, the figures that miss it, and a part of the sentence about one of them."""


@pytest.mark.parametrize("name", WRONG)
def test_a_switch_with_another_one_misses(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    erring.install(monkeypatch)
    settings, expected, sentence = WRONG[name]
    figures, _ = judged(settings)
    assert expected <= figures.missed, figures.why
    assert any(sentence in figures.why[one] for one in expected), figures.why


def test_a_right_switch_of_the_same_plugin_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    erring.install(monkeypatch)
    assert judged(errs(erring.RIGHT))[0].missed == set()


def test_a_headroom_that_both_ports_share_misses_where_each_is_to_have_its_own() -> None:
    both = STATED.model_copy(update={"ports": 2})
    settings = box("60KB", hold_until_departure=None, shared_memory="100KB")
    figures, _ = judged(settings, both)
    assert WITHIN in figures.missed, figures.why
    assert (
        "although its own port is within its headroom: it shares that of nic1"
        in figures.why[WITHIN]
    )


@pytest.mark.parametrize(
    ("buffer", "missed"),
    [
        ("59KB", {SIZE, WITHIN}),
        ("59500B", set()),
        ("60KB", set()),
        ("60999B", set()),
        ("61500B", {SIZE}),
    ],
)
def test_it_is_good_to_a_frame(buffer: str, missed: set[str]) -> None:
    assert judged(box(buffer))[0].missed == missed


@pytest.mark.parametrize(("high", "size"), [(40_000, 20_300), (40_499, 20_001), (39_999, 20_499)])
def test_a_headroom_of_parts_of_frames_passes(high: int, size: int) -> None:
    """Neither the threshold nor the end of the buffer is a whole number of frames."""
    stated = Headroom(xoff_threshold=high, size=size)
    pause = {"plugin": "pfc", "high": f"{high}B", "low": "20KB"}
    figures, _ = judged(box(f"{high + size}B", pause), stated)
    assert figures.missed == set(), figures.why


def test_a_switch_with_cells_is_judged_by_cells() -> None:
    """Frames of 504 octets with FCS in cells of 208 take 624: the buffer holds fewer of them."""
    cells = STATED.model_copy(update={"cell": 208})
    taken = {"high": f"{500 * 40_000 // 624}B", "low": "10KB"}
    figures, _ = judged(box(f"{500 * 60_000 // 624}B", {"plugin": "pfc", **taken}), cells)
    assert figures.missed == set(), figures.why
    figures, _ = judged(box(), cells)
    assert {AT, SIZE} <= figures.missed, figures.why
