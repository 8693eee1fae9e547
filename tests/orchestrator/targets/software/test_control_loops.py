"""Which loops a plan has: the queue, who controls it, how soon an answer is there."""

from __future__ import annotations

import pytest

from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.stall_impact import ControlLoop
from orchestrator.targets.software.control_loops import ControlledQueues, loops_of
from orchestrator.targets.software.timing_demand import demand_of
from tests.orchestrator.targets.software import short_plans

US = 10**6
QUICK = """
name = "quick"
duration = "10ms"

[nodes."h{1..2}"]
kind = "nic"
reaction_point = { plugin = "qcn-rp" }

[nodes.s]
kind = "switch"
congestion_point = { plugin = "qcn-cp" }

[nodes.d]
kind = "sink"

[links.up1]
ends = ["h1", "s"]
rate = "1Gb/s"

[links.up2]
ends = ["h2", "s"]
rate = "1Gb/s"

[links.down]
ends = ["s", "d"]
rate = "1Gb/s"

[traffic.bulk]
plugin = "cbr"
from = ["h1", "h2"]
to = "d"
rate = "0.9Gb/s"
"""


def loops(text: str, *settings: str) -> dict[str, ControlLoop]:
    plan = Plan.load(text)
    plan = plan.with_settings(list(settings)) if settings else plan
    found = loops_of(plan.check(Registry.load()))
    assert len({(loop.queue, loop.held) for loop in found}) == len(found)
    return {loop.queue: loop for loop in found}


def shipped(name: str) -> dict[str, ControlLoop]:
    return loops(str(Registry.load().plans()[name]))


def test_a_message_goes_back_from_the_queue_and_no_further():
    found = loops(short_plans.QCN, "links.down.delay=7us")
    assert list(found) == ["switch.sink"]
    one = found["switch.sink"]
    assert one.nodes == {"nic", "switch"}
    assert one.round_trip_ps == 100 * US
    assert one.drain_ps == 33_000 * 8 * 10**12 // 950_000_000
    assert one.reaction_ps == one.round_trip_ps + one.drain_ps
    assert (one.sources, one.held) == (("nic",), True)


def test_the_way_back_may_take_longer():
    (one,) = loops(short_plans.QCN, "links.up.delay_back=70us").values()
    assert one.round_trip_ps == 120 * US


def with_steps(text: str, *steps: tuple[str, str]) -> dict[str, ControlLoop]:
    """The loops of a plan whose timeline sets these keys, one after the other."""
    plan = Plan.load(text)
    timeline = [
        {"at": f"{number}ms", "set": key, "to": value} for number, (key, value) in enumerate(steps)
    ]
    plan = plan.with_data(plan.to_table() | {"timeline": timeline})
    return {loop.queue: loop for loop in loops_of(plan.check(Registry.load()))}


@pytest.mark.parametrize(
    ("steps", "round_trip_us"),
    [
        ([], 100),
        ([("links.up.delay", "20us")], 70),
        ([("links.up.delay", "20us"), ("links.up.delay", "90us")], 70),
        ([("links.up.delay", "90us")], 100),
        ([("links.up.delay", "20us"), ("links.up.delay_back", "30us")], 50),
        ([("links.down.delay", "0us")], 100),
    ],
)
def test_the_least_delay_of_a_run_decides(steps, round_trip_us):
    one = with_steps(short_plans.QCN, *steps)["switch.sink"]
    assert one.round_trip_ps == round_trip_us * US


@pytest.mark.parametrize(
    ("steps", "bits_per_s"),
    [
        ([("nodes.switch.service_rate", "0.2Gb/s")], 950_000_000),
        (
            [("nodes.switch.service_rate", "1Gb/s"), ("nodes.switch.service_rate", "0.5Gb/s")],
            10**9,
        ),
    ],
)
def test_the_highest_rate_of_a_run_drains_a_queue_soonest(steps, bits_per_s):
    one = with_steps(short_plans.QCN, *steps)["switch.sink"]
    assert one.drain_ps == 33_000 * 8 * 10**12 // bits_per_s


def test_the_room_above_a_pause_fills_soonest_at_the_highest_rate_into_the_least_room():
    plain = with_steps(short_plans.PAUSED)["switch.sink"].drain_ps
    assert plain == 400 * US
    faster = with_steps(short_plans.PAUSED, ("links.up.rate", "2Gb/s"))["switch.sink"]
    assert faster.drain_ps == 200 * US
    slower = with_steps(short_plans.PAUSED, ("links.up.rate", "0.5Gb/s"))["switch.sink"]
    assert slower.drain_ps == 400 * US
    narrow = with_steps(short_plans.PAUSED, ("nodes.switch.buffer", "110KB"))["switch.sink"]
    assert narrow.drain_ps == 80 * US


def test_a_nic_takes_its_time_to_act_on_a_message():
    one = loops(short_plans.QCN, "nodes.nic.reaction_time=40us")["switch.sink"]
    assert (one.round_trip_ps, one.acts_ps) == (100 * US, 40 * US)
    assert one.reaction_ps == 140 * US + one.drain_ps


def test_marks_are_no_messages_and_wait_for_no_nic():
    slow = {"h1": "nodes.h1.reaction_time=40us", "h2": "nodes.h2.reaction_time=40us"}
    plan = Plan.load(str(Registry.load().plans()["dctcp"])).with_settings(list(slow.values()))
    (one,) = [loop for loop in loops_of(plan.check(Registry.load())) if loop.queue == "s.d"]
    assert (one.round_trip_ps, one.acts_ps) == (100 * US, 0)


def test_of_several_sources_the_one_whose_answer_is_there_first_counts():
    """A near one that takes its time, and a far one that acts at once."""
    far = ("links.up1.delay=1us", "links.up2.delay=9us")
    one = loops(QUICK, *far, "nodes.h1.reaction_time=20us")["s.d"]
    assert (one.round_trip_ps, one.acts_ps) == (18 * US, 0)
    other = loops(QUICK, *far, "nodes.h1.reaction_time=15us")["s.d"]
    assert (other.round_trip_ps, other.acts_ps) == (2 * US, 15 * US)


def test_a_mark_is_answered_from_the_end_of_the_way():
    """Of dctcp: two links of 25 us each, there and back."""
    found = shipped("dctcp")
    assert found["s.d"].round_trip_ps == 100 * US
    assert found["s.d"].nodes == {"h1", "h2", "s", "d"}
    assert sorted(found["s.d"].sources) == ["h1", "h2"]


def test_without_a_congestion_point_sources_that_go_by_delays_hold_the_queue():
    found = shipped("swift")
    assert found["s.d"].drain_ps == 25 * US
    assert "d" in found["s.d"].nodes


def test_a_pause_holds_the_neighbours_alone():
    found = shipped("fecn-pause")
    assert found["s.h1"].nodes <= {"s", "h1", "h2", "d"}
    assert found["s.h1"].round_trip_ps == US // 10
    inputs = shipped("ibm-fig2a")
    assert inputs["rack.h1/in"].nodes == {"rack", "h1"}
    assert inputs["rack.h1/in"].sources == ("h1",)


def test_an_input_with_a_congestion_point_is_a_queue_of_its_own():
    found = shipped("pathology-saturation-tree-qcn")
    assert "s2.s1/in" in found
    assert len(found["s2.s1/in"].sources) > 1


def test_of_several_sources_the_nearest_counts():
    far = loops(QUICK, "links.up1.delay=1us", "links.up2.delay=9us")
    assert far["s.d"].round_trip_ps == 2 * US
    near = loops(QUICK, "links.up1.delay=9us", "links.up2.delay=1us")
    assert near["s.d"].round_trip_ps == 2 * US
    assert near["s.d"].nodes == {"h1", "h2", "s"}


def test_programs_and_devices_of_others_live_by_no_clock_of_ours():
    programs = loops_of(Plan.load(str(Registry.load().plans()["iperf-qcn"])).check(Registry.load()))
    assert {loop.queue for loop in programs if not loop.held} == {"a1.s", "a2.s", "b.s"}
    assert {loop.queue for loop in programs if loop.held} == {"s.b"}
    assert not any(loop.held for loop in shipped("external-iperf").values())


def test_a_loop_through_a_device_of_others_is_not_held():
    plan = Plan.load(Registry.load().plans()["external-switch"])
    way = [port for port in plan.ports() if port.entity == "nic1.sw"]
    ways = ControlledQueues(plan.check(Registry.load()))
    assert not ways.loop("nic1.sw", way, 0, "nic1").held
    assert ways.loop("nic1.sw", [], 0, "nic1").held


def test_a_plan_in_which_nobody_answers_has_none():
    assert shipped("netfpga-delays") == {}


def test_the_clock_runs_ahead_by_less_than_any_loop_takes():
    """So that no stall in which it is held back is felt: how it is held follows from the plan as a
    whole, and these loops from its single queues."""
    registry, count = Registry.load(), 0
    for name, plan in registry.plans().items():
        resolved = Plan.load(plan).check(registry)
        horizon = demand_of(resolved).horizon_ps
        late = {loop.queue: loop.reaction_ps for loop in loops_of(resolved)}
        count += len(late)
        assert {queue: time for queue, time in late.items() if time <= horizon} == {}, name
    assert count > 1000
