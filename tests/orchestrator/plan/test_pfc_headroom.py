"""Headroom: the standard's sum, the emulated nodes' exact need, and that nothing less will do."""

from __future__ import annotations

from fractions import Fraction
from importlib.metadata import entry_points
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import Field

from orchestrator.algorithm import pause
from orchestrator.assembly import Assembly
from orchestrator.engine.frames.core_frame_types import PAUSE_FRAME
from orchestrator.engine.records import record
from orchestrator.plan import Plan
from orchestrator.plan.algorithm_params import Params, Size
from orchestrator.plan.pause_dependencies import network
from orchestrator.plan.pfc_headroom import (
    PAUSE_OCTETS,
    buffer_headrooms,
    cells_for,
    lossless_buffers,
    of_cable,
)
from orchestrator.registry import GROUP, Registry
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import MS, US, Table, assembled, line_of_three, run_until

RATES = [10**8, 400_000_000, 10**9]


def test_the_sum_for_ten_gigabit() -> None:
    """672 + 2 x 8192 + 50 a metre each way + 30 720 and two longest frames
    (docs/settled/algorithms.md#pfc-and-pause)."""
    parts = of_cable(10**10, 100, 1522)
    assert parts.bits == 672 + 2 * 8192 + 2 * 50 * 100 + 30_720 + 2 * (1522 + 20) * 8
    assert parts.octets == -(-parts.bits // 8)
    assert of_cable(10**11, 100, 1522).cable == 10 * parts.cable
    assert of_cable(10**11, 100, 1522).response == 394 * 512
    assert of_cable(10**10, 100, 1522, peer_frame=9216).bits - parts.bits == (9216 - 1522) * 8


@pytest.mark.parametrize(
    ("gigabits", "quanta"),
    [
        ("1/10", 1),
        (1, 2),
        (5, 60),
        (10, 60),
        (25, 80),
        (40, 118),
        (50, 147),
        (100, 394),
        (200, 453),
        (400, 905),
        (800, 905),
    ],
)
def test_the_response_is_that_of_the_rate(gigabits: int | str, quanta: int) -> None:
    """IEEE 802.3, 31B.3.7."""
    rate = int(Fraction(gigabits) * 10**9)
    parts = of_cable(rate, 300, 9216)
    assert parts.response == quanta * 512
    assert of_cable(rate, 300, 9216, response_bits=0).bits == parts.bits - quanta * 512
    if gigabits == 400:  # than with the response of 10 Gb/s
        assert parts.octets - of_cable(rate, 300, 9216, response_bits=60 * 512).octets == 54_080


def test_no_response_is_made_up_above_the_table() -> None:
    with pytest.raises(ValueError, match="above 800 Gb/s"):
        of_cable(1_600 * 10**9, 1, 1522)


@pytest.mark.parametrize("cell", [1, 48, 64, 80, 144, 208, 256, 9_000])
@pytest.mark.parametrize("longest", [64, 300, 1522, 9216])
def test_cells_are_those_of_the_worst_frames(cell: int, longest: int) -> None:
    """No sequence of frames of one length takes more; one of the worst length takes as many."""
    octets = 200_000
    needs = [-(-octets * -(-length // cell) // (length + 20)) for length in range(64, longest + 1)]
    assert cells_for(octets, longest, cell) == max(needs)


def test_a_shortest_frame_takes_a_whole_cell() -> None:
    assert cells_for(84 * 1_000, 9216, 256) == 1_000


def test_pause_frames_are_as_long_as_the_nodes_make_them() -> None:
    assert PAUSE_FRAME.octets == PAUSE_OCTETS


def given_headroom(plan: Table, less: int = 0) -> Table:
    """The plan with as much room above every high mark as is needed there, but for `less`; in
    shared memory as the headroom of every port."""
    room = {r.entity: r for r in buffer_headrooms(Plan(**plan).check(Registry.load()))}
    for name, node in plan["nodes"].items():
        if "inputs" in node:
            needed = max(r.needed for entity, r in room.items() if entity.startswith(f"{name}."))
            if "headroom" in node["inputs"]:
                node["inputs"]["headroom"] = needed - less
            else:
                octets = node["inputs"]["pause"]["high"] + needed - less
                node["inputs"]["buffer"] = max(octets, 1_500)  # the longest frame, at least
    return plan


@st.composite
def shared_inputs(draw: st.DrawFn, quanta: int) -> Table:
    """Inputs in shared memory, whose limits follow what is free or stay where they are."""
    alpha = st.sampled_from(["0", "1/128", "1/8", "1", "8"])
    dynamic = {"plugin": "dynamic-threshold", "alpha_0": draw(alpha), "alpha_3": draw(alpha)}
    pause = {"plugin": "dynamic-pfc", "quanta": quanta, "xon": draw(st.sampled_from([0, 2_000]))}
    return {
        "buffer": draw(st.integers(1_500, 20_000)),
        "shared_memory": draw(st.integers(1_500, 60_000)),
        "buffer_management": draw(st.sampled_from([dynamic, {"plugin": "static"}])),
        "headroom": 64,
        "pause": pause | {"xon_offset": draw(st.sampled_from([0, 3_000]))},
    }


@st.composite
def lossless_plans(draw: st.DrawFn) -> Table:
    """Switches in a line or a ring, hosts that send to each other; every input pauses its peer."""
    switches = [f"s{n}" for n in range(draw(st.integers(1, 3)))]
    hosts = [f"h{n}" for n in range(draw(st.integers(2, 5)))]
    longest = draw(st.sampled_from([300, 1500]))
    nodes: Table = {name: {"kind": "nic"} for name in hosts}
    for name in switches:
        low = draw(st.integers(1_000, 20_000))
        marks = {"low": low, "high": low + draw(st.integers(1, 9_000))}
        plugin = draw(st.sampled_from(["pause", "pfc"]))
        quanta = draw(st.sampled_from([300, 2_000, 65_535]))
        nodes[name] = {
            "kind": "switch",
            "buffer": draw(st.integers(1_500, 20_000)),
            "inputs": {
                "pause": {"plugin": plugin, "quanta": quanta} | marks,
                "speedup": draw(st.sampled_from(["1", "8/5"])),
                "crossbar_latency": draw(st.sampled_from([0, US])),
                "hold_until_departure": draw(st.booleans()),
            },
        }
        if draw(st.booleans()):
            nodes[name]["inputs"] = draw(shared_inputs(quanta))
        if draw(st.booleans()):
            nodes[name]["service_rate"] = draw(st.sampled_from(RATES))
    pairs = [[name, draw(st.sampled_from(switches))] for name in hosts]
    pairs += [[a, b] for a, b in pairwise(switches)]
    pairs += [[switches[-1], switches[0]]] if len(switches) == 3 and draw(st.booleans()) else []
    links = {}
    for number, ends in enumerate(pairs):
        delay = st.sampled_from([0, 1, 777_777, 20 * US])
        links[f"l{number}"] = {
            "ends": ends,
            "rate": draw(st.sampled_from(RATES)),
            "delay": draw(delay),
            "delay_back": draw(delay),
            "overhead": draw(st.sampled_from([0, 24])),
        }
    plan: Table = {
        "name": "lossless",
        "duration": draw(st.integers(2, 6)) * MS,
        "seed": draw(st.integers(0, 99)),
        "sample_interval": MS,
        "priorities": draw(st.sampled_from(["shared", "separate"])),
        "nodes": nodes,
        "links": links,
        "traffic": {},
    }
    for number in range(draw(st.integers(1, 6))):
        source, sink = draw(st.permutations(hosts))[:2]
        plan["traffic"][f"t{number}"] = {
            "plugin": "cbr",
            "from": source,
            "to": sink,
            "rate": draw(st.sampled_from(RATES)),
            "frame": draw(st.sampled_from([longest, longest, 70])),
            "priority": draw(st.sampled_from([0, 3])),
            "start": draw(st.integers(0, MS)),
        }
    return plan


def dropped(assembly: Assembly) -> int:
    """Data frames that found no room anywhere."""
    run_until(assembly, assembly.resolved.plan.duration + 1)
    world = assembly.world
    assert world.ports["frames_lost"].sum() == 0
    return int(world.queues["frames_dropped"].sum())


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(plan=lossless_plans())
def test_with_the_headroom_nothing_is_ever_lost(plan: Table) -> None:
    assembly = assembled(given_headroom(plan))
    assert dropped(assembly) == 0


def squeezed(delay: int, start: int) -> Table:
    """One host is paused, since its output takes a fifth of what it sends, while all that the other
    one sends goes past: the PAUSE has to wait for a frame. The marks are whole frames, so that the
    one that crosses the high mark lies above it with all of its length."""
    pause = {"plugin": "pfc", "low": 4_500, "high": 9_000}
    ends = {"rate": 10**9, "delay": delay}
    return {
        "name": "squeezed",
        "duration": 5 * MS,
        "sample_interval": MS,
        "nodes": {
            "a": {"kind": "nic"},
            "b": {"kind": "nic"},
            "s": {
                "kind": "switch",
                "buffer": 3_000,
                "ports": {"b": {"service_rate": 200_000_000}},
                "inputs": {"pause": pause},
            },
        },
        "links": {"la": {"ends": ["a", "s"]} | ends, "lb": {"ends": ["b", "s"]} | ends},
        "traffic": {
            "there": {"plugin": "cbr", "from": "a", "to": "b", "rate": 10**9},
            "back": {"plugin": "cbr", "from": "b", "to": "a", "rate": 10**9, "start": start},
        },
    }


@pytest.mark.parametrize("shares", [False, True], ids=["crossbar", "shared-memory"])
@pytest.mark.parametrize(("less", "lossless"), [(0, True), (1500, False)])
def test_one_frame_less_is_too_little(less: int, lossless: bool, shares: bool) -> None:
    cases = [(delay, start) for delay in (0, US, 5 * US) for start in range(0, 12 * US, 3 * US + 1)]
    plans = [squeezed(*case) for case in cases]
    for plan in plans if shares else ():
        plan["nodes"]["s"]["inputs"] = {
            "buffer": 60_000,
            "shared_memory": 60_000,
            "buffer_management": {"plugin": "dynamic-threshold", "alpha_0": "1/8"},
            "headroom": 64,
            "pause": {"plugin": "dynamic-pfc"},
        }
    lost = [dropped(assembled(given_headroom(plan, less))) for plan in plans]
    assert (np.sum(lost) == 0) == lossless


@pytest.mark.parametrize("node", ["a", "s"])
@pytest.mark.parametrize(("obeys", "lossless"), [(None, True), ([0], True), ([], False)])
def test_a_neighbour_that_does_not_obey_pfc_overruns_any_headroom(
    node: str, obeys: list[int] | None, lossless: bool
) -> None:
    """Whether it is a host or a switch; of PAUSE it obeys every frame."""
    plan = squeezed(US, 0)
    plan["priorities"] = "separate"
    if node == "s":  # a switch without inputs between the host and the buffer
        plan["nodes"]["before"] = {"kind": "switch", "buffer": 10**6}
        plan["links"]["la"]["ends"] = ["a", "before"]
        plan["links"]["lm"] = {"ends": ["before", "s"], "rate": 10**9, "delay": US}
    name = "a" if node == "a" else "before"
    if obeys is not None:
        plan["nodes"][name]["obeys_pfc"] = obeys
    resolved = Plan(**given_headroom(plan)).check(Registry.load())
    assert (f"s.{name}/in" in lossless_buffers(resolved)) == lossless
    assert (dropped(assembled(plan)) == 0) == lossless
    plan["nodes"]["s"]["inputs"]["pause"]["plugin"] = "pause"
    assert f"s.{name}/in" in lossless_buffers(Plan(**plan).check(Registry.load()))


def test_only_frames_that_can_come_somewhere_need_room_there() -> None:
    """Long frames go from a to b; what c is paused for are its own short ones."""
    plan = squeezed(0, 0)
    plan["nodes"]["s"]["buffer"] = 9_000
    plan["nodes"]["c"] = {"kind": "nic"}
    plan["links"]["lc"] = {"ends": ["c", "s"], "rate": 10**9, "delay": 0}
    del plan["traffic"]["back"]
    plan["traffic"]["there"]["frame"] = 9_000
    plan["traffic"]["short"] = {
        "plugin": "cbr",
        "from": "c",
        "to": "b",
        "rate": 10**8,
        "frame": 200,
    }
    needed = {
        room.entity: room.needed for room in buffer_headrooms(Plan(**plan).check(Registry.load()))
    }
    message = 110
    assert needed == {
        "s.a/in": message + PAUSE_OCTETS + 2 * 9_000,
        "s.b/in": 9_000 + PAUSE_OCTETS + 2 * message,
        "s.c/in": message + PAUSE_OCTETS + 2 * 200,
    }


def test_a_long_frame_needs_room_on_every_way_that_it_may_take() -> None:
    plan = squeezed(0, 0)
    del plan["traffic"]["there"]
    plan["nodes"]["s"]["buffer"] = 9_000
    plan["traffic"]["back"]["frame"] = 9_000
    plan["nodes"]["t"] = plan["nodes"]["s"] | {"spread": "frames", "ports": {}}
    for name in ("u", "v"):
        plan["nodes"][name] = plan["nodes"]["s"] | {"ports": {}}
        plan["links"] |= {
            f"t{name}": {"ends": ["t", name], "rate": 10**9},
            f"{name}s": {"ends": [name, "s"], "rate": 10**9},
        }
    plan["links"]["lb"]["ends"] = ["b", "t"]
    plan["nodes"]["s"]["ports"] = {}
    needed = {
        room.entity: room.needed for room in buffer_headrooms(Plan(**plan).check(Registry.load()))
    }
    long = {entity for entity, octets in needed.items() if octets > 18_000}
    assert long == {"t.b/in", "u.t/in", "v.t/in", "s.u/in", "s.v/in"}


class Line(Params):
    """Of a pause that calls its mark by another name than the shipped ones do."""

    line: Size = Field(9_000, ge=64, description="stop the neighbours above")

    def operating_queue(self, rate: int) -> int:
        """See Params."""
        return self.line


def test_a_third_partys_mark_is_known_whatever_it_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def enqueue(state, params, queue, frame, now, message):
        return 0

    mine = pause("mine", "for a test", Line, record("unused"), enqueue=enqueue)
    point = entry_point(monkeypatch, "mine", tailback_algorithms=lambda: [mine])
    table = line_of_three()
    table["nodes"]["switch"] |= {"buffer": 20_000, "pause": {"plugin": "mine", "line": 7_000}}
    resolved = Plan(**table).check(Registry([*entry_points(group=GROUP), point]))
    assert {room.octets for room in buffer_headrooms(resolved)} == {13_000}
    assert network(resolved).unknown == ()
