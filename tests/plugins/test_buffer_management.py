"""Buffer management of shared memory: shares, accounting, headroom, refusals, other targets."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.algorithm import Algorithm
from orchestrator.assembly import Assembly
from orchestrator.capability import Capability
from orchestrator.engine.node.shared_memory import exceeds_limit
from orchestrator.engine.records import NONE
from orchestrator.errors import BadInput
from orchestrator.fuzz.cross_target import CoreComparison, EagerComparison, unequal
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.pfc_headroom import buffer_headrooms, lossless_buffers
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.run.world_invariants import Limits, broken_in_world
from plugins.dynamic_pfc import DYNAMIC_PFC, DynamicPfc
from plugins.dynamic_threshold import DynamicThreshold
from plugins.static_buffer import StaticBuffer
from tailback.plugin import NOTHING, SEND
from tests.orchestrator.engine.node.bench import Bench
from tests.orchestrator.worlds import MS, US, Empty, Table, assembled, at, recorded, run_until
from tests.plugins.scheme_driver import Driver

QUICK = settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow], deadline=None)
RATE = 10**8
ALPHAS = [Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), *map(Fraction, (1, 2, 4, 8))]
FRAME = 100


def checked(table: Table) -> ResolvedPlan:
    return Plan(**table).check(Registry.load())


def threshold(alphas: dict[int, Fraction]) -> Table:
    options = {f"alpha_{priority}": str(alpha) for priority, alpha in alphas.items()}
    return {"plugin": "dynamic-threshold"} | options


def outputs(management: Table | None, priorities: list[int], memory: int = 200_000) -> Table:
    """A host that sends to as many sinks as there are priorities, twice what each of them takes."""
    table: Table = {
        "name": "outputs",
        "duration": 60 * MS,
        "sample_interval": MS,
        "priorities": "separate",
        "nodes": {"h": {"kind": "nic"}, "s": {"kind": "switch", "buffer": memory}},
        "links": {"up": {"ends": ["h", "s"], "rate": 10 * RATE}},
        "traffic": {},
    }
    table["nodes"]["s"]["inputs"] = {"buffer": memory, "shared_memory": memory}
    if management is not None:
        table["nodes"]["s"]["buffer_management"] = management
    for number, priority in enumerate(priorities):
        table["nodes"][f"d{number}"] = {"kind": "sink"}
        table["links"][f"l{number}"] = {"ends": ["s", f"d{number}"], "rate": RATE}
        entry = {"plugin": "cbr", "from": "h", "to": f"d{number}", "rate": 2 * RATE}
        table["traffic"][f"t{number}"] = entry | {"frame": FRAME, "priority": priority}
    return table


@QUICK
@given(
    alphas=st.dictionaries(st.integers(0, 7), st.sampled_from(ALPHAS), min_size=1, max_size=3),
    memory=st.sampled_from([60_000, 200_000, 333_333]),
)
def test_a_queue_holds_alpha_times_what_is_free(alphas: dict[int, Fraction], memory: int) -> None:
    """B / (1 + the sum of all alpha) stay free, also where priorities have different ones."""
    priorities = sorted(alphas)
    done = recorded(outputs(threshold(alphas), priorities, memory))
    free = float(memory / (1 + sum(alphas.values())))
    for number, priority in enumerate(priorities):
        name, alpha = f"s.d{number}/p{priority}", float(alphas[priority])
        held = done.column(name, "queue_bytes")[-10:].mean()
        assert held == pytest.approx(alpha * free, abs=(3 + alpha) * FRAME)
        assert at(done, name, "frames_dropped", 60 * MS) > 0


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("ports", [1, 2, 4])
def test_congested_ports_share_the_memory_by_the_formula(alpha: Fraction, ports: int) -> None:
    table = outputs(threshold({0: alpha}), [0] * ports)
    done = recorded(table)
    share = float(alpha * 200_000 / (1 + alpha * ports))
    for port in range(ports):
        held = done.column(f"s.d{port}/p0", "queue_bytes")[-10:].mean()
        assert held == pytest.approx(share, abs=(3 + float(alpha)) * FRAME)


def test_a_port_has_its_own_management() -> None:
    table = outputs(threshold({0: Fraction(1)}), [0, 0])
    table["nodes"]["s"]["ports"] = {"d1": {"buffer_management": threshold({0: Fraction(1, 4)})}}
    done = recorded(table)
    held = [done.column(f"s.d{port}/p0", "queue_bytes")[-10:].mean() for port in range(2)]
    free = 200_000 / (1 + 1.25)
    assert held == [pytest.approx(free, abs=400), pytest.approx(free / 4, abs=400)]


def test_the_plans_buffer_remains_the_most() -> None:
    table = outputs(threshold({0: Fraction(8)}), [0])
    table["nodes"]["s"]["buffer"] = 30_000
    assert at(recorded(table), "s.d0/p0", "queue_max_bytes", 60 * MS) == 30_000


@pytest.mark.parametrize("moved", [Fraction(1, 8), Fraction(1, 2)])
@pytest.mark.parametrize(("own", "mark"), [(Fraction(8), 2_000), (Fraction(0), 0)])
def test_a_lane_that_frames_go_on_in_has_its_limit(
    moved: Fraction, own: Fraction, mark: int
) -> None:
    """Of frames that a congestion point moves though their own lane has room, or as it has none."""
    table = outputs(threshold({3: own, 1: moved}), [3]) | {"more_priorities": [1]}
    point = {"plugin": "priority-demotion", "threshold": mark, "priority": 1}
    table["nodes"]["s"]["congestion_point"] = point
    done = recorded(table)
    most = at(done, "s.d0/p1", "queue_max_bytes", 60 * MS)
    assert 5_000 < most <= 200_000 * moved
    assert at(done, "s.d0/p3", "frames_moved", 60 * MS) > 100


def inputs(alpha: Fraction, senders: int, pause: Table | None = None, **changes: Any) -> Table:
    """Hosts that each overload one port by themselves; their inputs are paused by headroom."""
    table: Table = {
        "name": "inputs",
        "duration": 40 * MS,
        "sample_interval": MS,
        "nodes": {"s": {"kind": "switch"}, "d": {"kind": "sink"}},
        "links": {"down": {"ends": ["s", "d"], "rate": RATE}},
        "traffic": {},
    }
    table["nodes"]["s"]["inputs"] = {
        "buffer": 200_000,
        "shared_memory": 200_000,
        "buffer_management": threshold(dict.fromkeys(range(8), alpha)),
        "headroom": 5_000,
        "pause": {"plugin": "dynamic-pfc"} | (pause or {}),
    } | changes
    for number in range(senders):
        table["nodes"][f"h{number}"] = {"kind": "nic"}
        table["links"][f"l{number}"] = {"ends": [f"h{number}", "s"], "rate": RATE, "delay": US}
        entry = {"plugin": "cbr", "from": f"h{number}", "to": "d", "rate": RATE}
        table["traffic"][f"t{number}"] = entry | {"frame": FRAME}
    return table


@QUICK
@given(alpha=st.sampled_from(ALPHAS), senders=st.integers(2, 4))
def test_pfc_begins_where_the_free_memory_puts_it(alpha: Fraction, senders: int) -> None:
    """An input is paused at alpha / (1 + alpha n) of the memory, and loses nothing."""
    table = inputs(alpha, senders, {"xon_offset": 200})
    assembly = assembled(table)
    run_until(assembly, 40 * MS)
    world, share = assembly.world, float(alpha * 200_000 / (1 + alpha * senders))
    slack = float(8 + alpha) * FRAME
    for number in range(senders):
        queue = world.queues[assembly.indices.queues[f"s.h{number}/in"]]
        assert queue.pause_sent > 1
        assert queue.bytes == pytest.approx(share, abs=slack)
        assert queue.limit == pytest.approx(share, abs=slack)
    assert int(world.queues["frames_dropped"].sum()) == 0


@pytest.mark.parametrize("xon", [0, 60_000])
def test_it_resumes_below_its_limit_or_at_xon(xon: int) -> None:
    """Without an offset a neighbour would resume with the first frame that leaves; with one larger
    than the memory it resumes at `xon`."""
    table = inputs(Fraction(1), 2, {"xon": xon, "xon_offset": 200_000}, hold_until_departure=True)
    table["duration"], table["sample_interval"] = 60 * MS, 50 * US
    done = recorded(table)
    held = done.column("s.h0/in", "queue_bytes")[400:]
    assert held.min() == pytest.approx(xon, abs=3 * FRAME)
    assert held.max() > 66_000


def test_a_held_input_resumes_as_others_free_memory() -> None:
    """Its limit is that of the moment, though no frame of its own has come since it was paused."""
    table = inputs(Fraction(1), 2, {"xon_offset": 60_000}) | {"duration": 80 * MS}
    table["nodes"]["e"] = {"kind": "sink"}
    table["links"]["slow"] = {"ends": ["s", "e"], "rate": RATE // 10}
    table["traffic"]["t0"]["to"] = "e"
    table["links"]["down"]["rate"] = RATE // 2
    table["traffic"]["t1"]["stop"] = 20 * MS
    done = recorded(table)
    assert at(done, "s.h1/in", "queue_bytes", 80 * MS) == 0
    assert at(done, "s.h0/in", "pause_sent", 80 * MS) > 2
    assert done.column("s.h0/in", "queue_bytes")[20:].min() > 45_000


def test_an_input_resumes_once_its_headroom_is_free() -> None:
    """Else the next pause would find less of it than is needed."""
    driver = Driver(DYNAMIC_PFC, DynamicPfc(xon=2_000, xon_offset=3_000), limit=9_000)
    driver.set(headroom=100, bytes=9_100, pause_rate=RATE)
    assert driver.come("enqueue") == SEND
    for headroom, octets, limit, answer in (
        (100, 1_500, 9_000, NOTHING),
        (0, 6_001, 9_000, NOTHING),
        (0, 2_001, 4_000, NOTHING),
        (0, 2_000, 4_000, SEND),
    ):
        driver.set(headroom=headroom, bytes=octets, limit=limit)
        assert driver.come("dequeue") == answer, (headroom, octets)
    assert driver.come("dequeue") == NOTHING, "it is no longer paused"


def test_an_input_holds_its_buffer_and_headroom_at_the_most() -> None:
    table = inputs(Fraction(8), 2, buffer=20_000)
    done = recorded(table)
    for name in ("s.h0/in", "s.h1/in"):
        assert 20_000 < at(done, name, "queue_max_bytes", 40 * MS) <= 25_000


@pytest.mark.parametrize(("limit", "beyond"), [(900, False), (899, True)])
def test_headroom_does_not_count_towards_the_limit(limit: int, beyond: bool) -> None:
    """Of 1000 octets 600 lie in headroom: 500 more make 900 in shared memory."""
    bench = Bench()
    w = bench.world
    w.queues[0].capacity, w.queues[0].bytes, w.queues[0].headroom = limit, 1_000, 600
    assert exceeds_limit(w, 0, bench.frame(length=500), 0) == beyond


def sums(assembly: Assembly) -> None:
    """What a switch counts as shared and as headroom is what the buffers of its inputs hold."""
    world = assembly.world
    rows = [row for row in range(len(world.queues)) if world.queues[row].input != NONE]
    held = sum(int(world.queues[row].bytes) for row in rows)
    headroom = sum(int(world.queues[row].headroom) for row in rows)
    assert headroom == int(world.inputs["headroom_bytes"].sum())
    assert held - headroom == int(world.nodes["shared_bytes"].sum())
    assert (world.inputs["headroom_bytes"] <= world.inputs["headroom_capacity"]).all()
    for node in world.nodes:
        assert 0 <= node.shared_bytes <= node.shared_capacity


@st.composite
def mixed(draw: st.DrawFn, duration: int = 20 * MS) -> Table:
    """Lossless and lossy priorities of several hosts into one port, with more headroom than they
    need or, at lossy plans, less."""
    alphas = st.sampled_from(ALPHAS)
    senders = draw(st.integers(2, 4))
    table = inputs(draw(alphas), senders, headroom=draw(st.sampled_from([20_000, 2_000])))
    table |= {"priorities": "separate", "seed": draw(st.integers(0, 99)), "duration": duration}
    table["nodes"]["s"]["inputs"] |= {
        "shared_memory": draw(st.integers(9_000, 200_000)),
        "pause_priorities": draw(st.sampled_from([[0], [0, 3]])),
    }
    table["nodes"]["s"]["buffer_management"] = threshold({p: draw(alphas) for p in (0, 3, 5)})
    for number, entry in enumerate(table["traffic"].values()):
        entry["priority"] = (0, 3, 5, 0)[number]
        entry["frame"] = draw(st.sampled_from([100, 700, 1500]))
        entry["stop"] = duration // 2
    table["more_priorities"] = [0, 3]
    return table


@settings(QUICK, max_examples=25)
@given(table=mixed())
def test_all_octets_are_accounted_for_and_all_are_free_at_the_end(table: Table) -> None:
    assembly = assembled(table)
    resolved = assembly.resolved
    limits, names = Limits.of(resolved), list(assembly.indices.queues)
    for step in (1, 3, 5, 9, 11, 13):
        run_until(assembly, step * MS)
        sums(assembly)
        assert broken_in_world(assembly.world, limits, names) == []
    world = assembly.world
    run_until(assembly, 60 * MS)
    for field in ("bytes", "headroom", "frames"):
        assert int(world.queues[field].sum()) == 0, field
    assert int(world.nodes["shared_bytes"].sum()) == int(world.inputs["headroom_bytes"].sum()) == 0
    lossless = lossless_buffers(resolved)
    if table["nodes"]["s"]["inputs"]["headroom"] == 20_000:
        assert {f"s.{name}/in" for name in table["nodes"] if name.startswith("h")} <= lossless
    for entity in lossless:
        for name, row in assembly.indices.queues.items():
            if name.startswith(entity) and world.queues[row].pause != NONE:
                assert world.queues[row].frames_dropped == 0


def test_a_lossy_lane_gets_no_headroom() -> None:
    table = inputs(Fraction(1, 8), 2, pause_priorities=[3])
    table |= {"priorities": "separate"}
    table["traffic"]["t1"]["priority"] = 3
    done = recorded(table)
    limit = 200_000 / 8
    assert at(done, "s.h0/in/p0", "frames_dropped", 40 * MS) > 100
    assert at(done, "s.h0/in/p0", "queue_max_bytes", 40 * MS) <= limit
    assert at(done, "s.h0/in/p0", "pause_sent", 40 * MS) == 0
    assert at(done, "s.h1/in/p3", "frames_dropped", 40 * MS) == 0
    assert at(done, "s.h1/in/p3", "pause_sent", 40 * MS) > 0


def test_no_output_limits_what_inputs_hold_back() -> None:
    """An output's own `buffer` and management count for lossy lanes alone."""
    table = inputs(Fraction(1), 2)
    table["nodes"]["s"] |= {"buffer": 2_000, "buffer_management": threshold({0: Fraction(1, 128)})}
    done = recorded(table)
    assert at(done, "s.d", "frames_dropped", 40 * MS) == 0
    assert at(done, "s.d", "queue_max_bytes", 40 * MS) > 100_000


def test_static_limits_give_pfc_a_fixed_threshold() -> None:
    table = inputs(Fraction(1), 2, buffer_management={"plugin": "static"}, buffer=20_000)
    done = recorded(table)
    for name in ("s.h0/in", "s.h1/in"):
        assert 20_000 < at(done, name, "queue_max_bytes", 40 * MS) <= 25_000
        assert at(done, name, "frames_dropped", 40 * MS) == 0


@pytest.mark.parametrize("headroom", [4_000, 0])
def test_what_the_headroom_command_asks_for_is_enough(headroom: int) -> None:
    """Each lossless lane of a port may need its own at the same time."""
    table = inputs(Fraction(1), 2, headroom=headroom or 64)
    (room, *_) = [r for r in buffer_headrooms(checked(table)) if r.entity == "s.h0/in"]
    assert room.octets == (headroom or 64)
    assert room.lossless == bool(headroom)
    table |= {"priorities": "separate", "more_priorities": [1, 2]}
    (three, *_) = [r for r in buffer_headrooms(checked(table)) if r.entity == "s.h0/in"]
    assert three.needed == 3 * room.needed
    table["nodes"]["s"]["inputs"]["pause_priorities"] = [0, 1]
    (two, *_) = [r for r in buffer_headrooms(checked(table)) if r.entity == "s.h0/in"]
    assert two.needed == 2 * room.needed


def test_a_static_mark_has_no_room_that_is_sure_below_a_moving_limit() -> None:
    pause = {"plugin": "pfc", "high": 50_000, "low": 20_000}
    table = inputs(Fraction(1), 2, headroom=None)
    table["nodes"]["s"]["inputs"]["pause"] = pause
    assert not any(room.lossless for room in buffer_headrooms(checked(table)))
    table["nodes"]["s"]["inputs"]["buffer_management"] = {"plugin": "static"}
    assert all(r.lossless for r in buffer_headrooms(checked(table)) if r.entity.startswith("s.h"))
    assert DynamicThreshold().least_limit(9) == 0
    assert StaticBuffer().least_limit(9) == 9


@settings(QUICK, max_examples=8)
@given(table=mixed())
def test_static_measures_what_no_management_does(table: Table) -> None:
    """Also where PFC pauses at marks of its own."""
    switch = table["nodes"]["s"]
    del switch["buffer_management"], switch["inputs"]["headroom"]
    del switch["inputs"]["buffer_management"]
    switch["inputs"]["pause"] = {"plugin": "pfc", "high": 9_000, "low": 4_000}
    without = recorded(table)
    switch["buffer_management"] = switch["inputs"]["buffer_management"] = {"plugin": "static"}
    finding = unequal("static", without, recorded(table))
    assert finding is None, finding


@settings(QUICK, max_examples=3)
@given(table=mixed(), short=mixed(MS))
def test_it_measures_the_same_without_deferral_and_on_two_cores(table: Table, short: Table) -> None:
    """A short run on two cores: they wait for each other every 1 us."""
    assert EagerComparison()(checked(table), recorded(table)) is None
    assert CoreComparison()(checked(short), recorded(short)) is None


def refusal(table: Table) -> str:
    with pytest.raises(BadInput) as refused:
        checked(table)
    return str(refused.value)


def test_what_cannot_be_is_refused_with_its_remedy() -> None:
    table = outputs(threshold({0: Fraction(1)}), [0])
    del table["nodes"]["s"]["inputs"]["shared_memory"]
    assert "nodes.s.buffer_management: 'dynamic-threshold' divides shared memory; " in refusal(
        table
    )
    table["nodes"]["s"]["ports"] = {"d0": {"buffer_management": {"plugin": "static"}}}
    assert "nodes.s.ports.d0.buffer_management: 'static' divides shared memory" in refusal(table)
    alpha = outputs(threshold({0: Fraction(129)}), [0])
    assert "nodes.s.buffer_management.alpha_0: '129' is not accepted" in refusal(alpha)
    assert "static" in refusal(outputs({"plugin": "statics"}, [0]))
    without = inputs(Fraction(1), 2, headroom=None)
    assert "'dynamic-pfc' is sent when frames lie in headroom; " in refusal(without)
    limitless = inputs(Fraction(1), 2, buffer_management=None)
    assert "nodes.s.inputs.buffer_management is expected" in refusal(limitless)
    pfc = {"plugin": "pfc"}
    static = inputs(Fraction(1), 2)
    static["nodes"]["s"]["inputs"]["pause"] = pfc
    assert 'no pause stops what lies in it; pause = { plugin = "dynamic-pfc" }' in refusal(static)
    output = inputs(Fraction(1), 2)
    output["nodes"]["s"]["pause"] = {"plugin": "dynamic-pfc"}
    assert "it belongs at nodes.s.inputs" in refusal(output)


def test_gateware_refuses_it_by_name() -> None:
    target = Registry.load().target("gateware")
    assert Capability.BUFFER_MANAGEMENT not in target.capabilities
    for algorithm in Registry.load().algorithms:
        if algorithm.kind == "buffer_management":
            assert "buffer-management" in algorithm.lacks(target.capabilities)


def test_it_needs_its_kernel() -> None:
    with pytest.raises(ValueError, match="a buffer_management needs a kernel 'limit'"):
        Algorithm("none", "buffer_management", "", Empty, Empty().dtype(), {})


@pytest.mark.software
def test_real_frames_share_the_memory(namespaces: None) -> None:
    """The median of the samples: while a loaded machine is late with the host's frames, queues
    drain for some milliseconds, and the mean is below the limit."""
    table = outputs(threshold({0: Fraction(1)}), [0, 0])
    table |= {"duration": 400 * MS, "sample_interval": 10 * MS}
    for link in table["links"].values():
        link["rate"] = 20 * 10**6
    table["links"]["up"]["rate"] = 10**8
    for entry in table["traffic"].values():
        entry |= {"rate": 40 * 10**6, "frame": 500}
    done = run(Plan(**table), target="software", out=None).recording
    for port in range(2):
        held = np.median(done.column(f"s.d{port}/p0", "queue_bytes")[10:])
        assert held == pytest.approx(200_000 / 3, abs=4 * 500)


@pytest.mark.software
def test_real_frames_are_paused_by_headroom(namespaces: None) -> None:
    table = inputs(Fraction(1, 4), 2, headroom=100_000)
    table |= {"duration": 400 * MS, "sample_interval": 10 * MS}
    for link in table["links"].values():
        link["rate"] = 20 * 10**6
    for entry in table["traffic"].values():
        entry |= {"rate": 20 * 10**6, "frame": 500}
    done = run(Plan(**table), target="software", out=None).recording
    for name in ("s.h0/in", "s.h1/in"):
        assert at(done, name, "pause_sent", 400 * MS) > 0
        assert at(done, name, "queue_max_bytes", 400 * MS) > 200_000 / 6
        assert at(done, name, "frames_dropped", 400 * MS) == 0
