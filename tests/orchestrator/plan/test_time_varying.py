"""What links and queues are at any time of a run."""

from __future__ import annotations

from typing import Any

from orchestrator.plan import Plan, Port, ResolvedPlan
from orchestrator.plan.time_varying import OverTime, shortest_trips
from orchestrator.registry import Registry
from tests.orchestrator.worlds import line_of_three

US = 10**6
STEPS = [
    {"at": 3 * 10**9, "set": "links.up.delay_back", "to": 70 * US},
    {"at": 4 * 10**9, "set": "links.up.delay", "to": 2 * US},
    {"at": 5 * 10**9, "set": "links.up.rate", "to": 4 * 10**9},
    {"at": 1 * 10**9, "set": "nodes.switch.service_rate", "to": 5 * 10**8},
    {"at": 2 * 10**9, "set": "nodes.switch.ports.sink.buffer", "to": 60_000},
]


def resolved(**more: Any) -> ResolvedPlan:
    table = line_of_three(duration=10 * 10**9, **more)
    table["links"]["up"]["delay"] = 5 * US
    return Plan(**table).check(Registry.load())


def port(of: ResolvedPlan, entity: str) -> Port:
    return next(port for port in of.plan.ports() if port.entity == entity)


def test_without_a_timeline_all_is_as_the_plan_has_it():
    plain = resolved()
    times = OverTime(plain)
    ways = [way for way in plain.plan.directions() if way.link == "up"]
    assert [times.delays(way) for way in ways] == [[5 * US], [5 * US]]
    assert [times.rates(way) for way in ways] == [[10**9], [10**9]]
    switch = plain.plan.nodes["switch"]
    at = port(plain, "switch.sink")
    served = switch.service_of("sink", plain.plan.links[at.link].rate)
    assert times.served(at) == [(served, switch.buffer)]
    assert times.inputs(at) == times.inputs(port(plain, "sink.switch")) == []
    assert shortest_trips(plain)["up"] == 10 * US


def test_the_timeline_adds_what_it_sets_to_whom_it_sets_it():
    later = resolved(timeline=STEPS)
    times = OverTime(later)
    there, back = (way for way in later.plan.directions() if way.link == "up")
    assert (times.delays(there), times.delays(back)) == ([5 * US, 2 * US], [5 * US, 70 * US])
    assert times.rates(there) == times.rates(back) == [10**9, 4 * 10**9]
    down = [way for way in later.plan.directions() if way.link != "up"]
    assert {len(times.delays(way)) for way in down} == {len(times.rates(way)) for way in down}
    assert {len(times.delays(way)) for way in down} == {1}
    served = times.served(port(later, "switch.sink"))
    assert len(served) == 4
    assert (5 * 10**8, 60_000) in served
    assert 60_000 not in {octets for _, octets in times.served(port(later, "switch.nic"))}
    assert shortest_trips(later)["up"] == 7 * US


def test_the_input_of_a_switch_may_change_too():
    registry = Registry.load()
    plan = Plan.load(registry.plans()["ibm-fig2a"], registry)
    step = {"at": "1ms", "set": "nodes.rack.inputs.buffer", "to": "99KB"}
    later = plan.with_data(plan.to_table() | {"timeline": [step]}).check(registry)
    at = port(later, "rack.h1")
    assert OverTime(later).inputs(at) == [plan.nodes["rack"].inputs.buffer, 99_000]
