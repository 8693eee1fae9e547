"""PFC and PAUSE headroom over drawn rates, cables, frames and marks, against formulas of its own.

With the headroom that the program computes nothing is lost; behind a stuck output what still comes
is known to the octet, and one octet less loses.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.plan.pfc_headroom import buffer_headrooms
from orchestrator.registry import Registry
from tests.orchestrator.worlds import Table, recorded

MS = 10**9
CNM_OCTETS, OUTPUT = 110, 20_000


def drawn(seed: int) -> dict[str, Any]:
    """Rates, cable, frames and marks of one link."""
    draw = random.Random(seed)
    rate = draw.choice([10**9, 10**10, 25 * 10**9, 10**11]) + 8 * draw.randrange(10**6)
    frame = draw.choice([71, 257, 1001, 1518, 9000])
    high = draw.randrange(3 * frame, 8 * frame + 20_000)
    return {
        "rate": rate,
        "down": rate * draw.randrange(5, 60) // 100,
        "metres": draw.choice([0, 1, 37, 300, 1000, 5000]),
        "frame": frame,
        "peer": draw.choice([0, 70, 1514]),
        "overhead": draw.choice([0, 20, 24, 38]),
        "high": high,
        "low": draw.randrange(high // 2 + 1),
        "plugin": draw.choice(["pfc", "pause"]),
    }


def plan_of(one: dict[str, Any], capacity: int) -> Table:
    """A NIC that is faster than the link behind the switch, whose input pauses it."""
    delay = one["metres"] * 5_000
    crossing = 40 * (one["high"] + capacity + OUTPUT) * 8 * 10**12 // one["rate"]
    far: Table = {"kind": "nic", "reaction_points": 0} if one["peer"] else {"kind": "sink"}
    mark = {"plugin": one["plugin"], "high": one["high"], "low": one["low"]}
    up = {"ends": ["a", "s"], "rate": one["rate"], "delay": delay, "overhead": one["overhead"]}
    forward = {"plugin": "cbr", "from": "a", "to": "d", "rate": one["rate"], "frame": one["frame"]}
    traffic = {"forward": forward}
    if one["peer"]:
        back = {"rate": min(one["rate"], one["down"]), "frame": one["peer"]}
        traffic["back"] = {"plugin": "cbr", "from": "d", "to": "a"} | back
    return {
        "name": "edge",
        "duration": max(crossing, 12 * delay, MS),
        "sample_interval": MS,
        "clock_ppm": 0,
        "nodes": {
            "a": {"kind": "nic", "reaction_points": 0},
            "s": {
                "kind": "switch",
                "buffer": OUTPUT,
                "inputs": {"buffer": capacity, "pause": mark},
            },
            "d": far,
        },
        "links": {"up": up, "down": {"ends": ["s", "d"], "rate": one["down"]}},
        "traffic": traffic,
    }


def dropped(one: dict[str, Any], capacity: int) -> int:
    """Data frames that the switch drops with such a buffer."""
    found = recorded(plan_of(one, capacity))
    return sum(
        int(found.values[-1, place])
        for place, column in enumerate(found.columns)
        if column.quantity == "frames_dropped" and column.entity.startswith("s.")
    )


def formula(one: dict[str, Any]) -> int:
    """IEEE 802.1Qbb annex, apart from the program's own: what passes while the PAUSE is on its way
    and back, and two frames of the neighbour."""
    own = max(one["peer"], CNM_OCTETS) + one["overhead"] + 60 + one["overhead"]
    away = 2 * one["metres"] * 5_000
    longest = max(one["frame"], CNM_OCTETS)
    return own + math.ceil(Fraction(away * one["rate"], 8 * 10**12)) + 2 * longest


def needs(one: dict[str, Any]) -> int:
    """The headroom by the program."""
    resolved = Plan(**plan_of(one, 10**8)).check(Registry.load())
    (room,) = (each for each in buffer_headrooms(resolved) if each.entity.startswith("s.a"))
    return room.needed


def most_held(one: dict[str, Any]) -> int:
    """Octets that the input holds at most while its output is stuck, worked out apart.

    The neighbour sends back to back. The frame that lifts the input to the mark left it `away / 2`
    before; it begins another one at once, and each that it begins until the PAUSE is there comes.
    """
    frame = one["frame"]
    crossing = -(-one["high"] // frame) * frame
    on_wire, pause = (
        -(-8 * 10**12 * (octets + one["overhead"]) // one["rate"]) for octets in (frame, 60)
    )  # whole ps, as frames are sent
    return crossing - frame * (-(2 * one["metres"] * 5_000 + pause) // on_wire)


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(s, marks=pytest.mark.slow) for s in range(8, 60))]
)
def test_nothing_is_lost_at_the_headroom(seed: int) -> None:
    one = drawn(seed)
    assert (needed := needs(one)) == formula(one)
    assert dropped(one, one["high"] + needed) == 0


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(s, marks=pytest.mark.slow) for s in range(8, 60))]
)
def test_with_a_stuck_output_one_octet_below_what_comes_is_too_little(seed: int) -> None:
    one = drawn(seed) | {"down": 1_000, "peer": 0}
    most = most_held(one)
    assert most <= one["high"] + needs(one), "the headroom covers it"
    assert dropped(one, most) == 0
    assert dropped(one, most - 1) > 0
