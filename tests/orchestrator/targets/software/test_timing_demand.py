"""What a plan demands of the machine: times of its own loops, queues and phases."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.errors import BadInput
from orchestrator.live.live_session import Session
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.run.run_fidelity import Demand
from orchestrator.targets.software.software_target import pace_of
from orchestrator.targets.software.thread_io import FREE_RUNNING_PS, LEAST_HORIZON_PS, Shared
from orchestrator.targets.software.timing_demand import achieved_rates, demand_of
from tests.orchestrator.targets.software import short_plans

US, MS = 10**6, 10**9


def test_the_horizon_in_the_machines_time_is_none_where_the_clock_is_never_held():
    assert Shared.of(2, 30 * US).horizon_ns == 30_000
    assert Shared.of(2, 30 * US, 100_000).horizon_ns == 30_000, "at a pace of 0.1"
    assert Shared.of(2, FREE_RUNNING_PS).horizon_ns == 0


BURSTS = """
name = "bursts"
duration = "50ms"
sample_interval = "1ms"

[nodes."host{1..2}"]
kind = "nic"

[nodes.switch]
kind = "switch"
buffer = "500KB"

[nodes.sink]
kind = "sink"

[links.up1]
ends = ["host1", "switch"]
rate = "1Gb/s"

[links.up2]
ends = ["host2", "switch"]
rate = "1Gb/s"

[links.down]
ends = ["switch", "sink"]
rate = "1Gb/s"

[traffic.bursts]
plugin = "pareto-onoff"
from = ["host1", "host2"]
to = "sink"
rate = "400Mb/s"
peak = "1Gb/s"
burst = "300us"
"""
"""The queue is empty for a while between most samples, and often filled at both."""


def test_one_lane_counts_as_the_whole_port():
    found = []
    for priorities in ("shared", "separate"):
        plan = Plan.load(BURSTS.replace("\n[nodes", f'\npriorities = "{priorities}"\n\n[nodes', 1))
        done = run(plan, target="simulated", out=None).recording
        (rate, *_) = achieved_rates(plan.check(Registry.load()), done)
        found.append((rate.expected_octets, rate.achieved_octets))
    assert found[0] == found[1]
    assert found[0][0] > 0


def demand(text: str, *settings: str) -> Demand:
    plan = Plan.load(text)
    return demand_of(
        (plan.with_settings(list(settings)) if settings else plan).check(Registry.load())
    )


def test_a_controlled_queue_drains_from_its_set_point():
    found = demand(short_plans.QCN)
    assert found.feedback_loop_ps == 100 * US
    assert found.drain_ps == 33_000 * 8 * 10**12 // 950_000_000
    assert found.shortest_phase_ps == 200 * MS


def test_the_way_back_may_be_longer():
    assert demand(short_plans.QCN, "links.up.delay_back=70us").feedback_loop_ps == 120 * US


def test_a_port_with_a_rate_of_its_own_drains_by_it():
    faster = demand(short_plans.QCN, 'nodes.switch.ports.sink.service_rate="1Gb/s"')
    assert faster.drain_ps == 264 * US


def test_the_room_above_the_mark_of_a_pause_fills_while_it_is_on_its_way():
    """Of 150 KB, 50 lie above the mark; they fill at the rate of the link that comes in."""
    assert demand(short_plans.PAUSED).drain_ps == 400 * US


@pytest.mark.parametrize(
    ("key", "value", "loop_us", "drain_ps"),
    [
        ("links.up.delay", "20us", 70, 33_000 * 8 * 10**12 // 950_000_000),
        ("links.up.delay", "90us", 100, 33_000 * 8 * 10**12 // 950_000_000),
        ("nodes.switch.service_rate", "1Gb/s", 100, 264 * US),
        ("nodes.switch.service_rate", "0.2Gb/s", 100, 33_000 * 8 * 10**12 // 950_000_000),
    ],
)
def test_what_the_timeline_makes_shorter_is_asked_of_the_whole_run(key, value, loop_us, drain_ps):
    plan = Plan.load(short_plans.QCN)
    timeline = [{"at": "1ms", "set": key, "to": value}]
    found = demand_of(
        plan.with_data(plan.to_table() | {"timeline": timeline}).check(Registry.load())
    )
    assert (found.feedback_loop_ps, found.drain_ps) == (loop_us * US, drain_ps)


@pytest.mark.parametrize("delay", ["50us", "0s"])
def test_a_queue_that_nothing_controls_drains_from_its_buffer(delay):
    found = demand(short_plans.TIMELINE, f"links.up.delay={delay}", "nodes.switch.buffer=95KB")
    assert found.drain_ps == 800 * US
    assert found.horizon_ps >= 80 * US


@pytest.mark.parametrize(
    ("name", "settings", "drain_us"),
    [
        ("timely", [], 30),  # T_low less the empty round trip
        ("timely", ["nodes.h{1..4}.reaction_point.low=80us"], 60),
        ("timely", ["nodes.h1.reaction_point.low=40us"], 20),  # the shortest of all
        ("swift", [], 25),  # its target
        ("dctcp", [], 240),  # K, 30 KB at 1 Gb/s
        ("newreno", [], 16_000),  # 2 MB: losses hold no queue
    ],
)
def test_what_goes_by_delays_or_marks_holds_its_queue_there(name, settings, drain_us):
    registry = Registry.load()
    plan = Plan.load(registry.plans()[name], registry).with_settings(settings)
    assert demand_of(plan.check(registry)).drain_ps == pytest.approx(drain_us * US, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "settings", "margin_us", "departures"),
    [
        ("timely", [], 1.25, 4),  # two links there, two back
        ("timely", ["nodes.h2.reaction_point.delta=1Mb/s"], 0.125, 4),  # the least of all
        ("timely", ["links.up1.rate=20Gb/s"], 0.625, 4),
        ("swift", [], 1.5, 4),
        ("dctcp", [], None, 0),  # marks, not delays
    ],
)
def test_what_goes_by_delays_bears_little_of_them(name, settings, margin_us, departures):
    registry = Registry.load()
    plan = Plan.load(registry.plans()[name], registry).with_settings(settings)
    found = demand_of(plan.check(registry))
    assert found.departures == departures
    assert found.margin_ps == (margin_us and pytest.approx(margin_us * US, rel=1e-4))


def test_a_plan_without_a_switch_is_held_to_its_phases():
    text = """
    name = "line"
    duration = "10ms"
    nodes = { nic = { kind = "nic" }, sink = { kind = "sink" } }
    links.line = { ends = ["nic", "sink"], rate = "1Gb/s" }
    traffic.gen = { plugin = "cbr", from = "nic", to = "sink", rate = "0.1Gb/s" }
    """
    assert demand(text).drain_ps == 10 * MS
    assert demand(text).feedback_loop_ps == 0


def test_the_clock_may_always_move_a_little():
    assert Shared.of(2, 0).horizon_ps == LEAST_HORIZON_PS > 0
    assert Shared.of(2, 40 * US).horizon_ps == 40 * US


@pytest.mark.parametrize(
    ("speed", "asked", "horizon"),
    [
        (4_000_000, 40 * US, 40 * US),  # no further, where the run is faster than real time
        (20_000, 40 * US, 800_000),  # a fiftieth of the run's time, the same of the machine's
        (20_000, 0, LEAST_HORIZON_PS // 50),
        (1000, 40 * US, 40_000),
        (1000, 0, 1000),
        (10, 0, 10),
    ],
)
def test_a_slower_clock_goes_ahead_by_as_little_of_the_machines_time(speed, asked, horizon):
    assert Shared.of(2, asked, speed).horizon_ps == horizon


def test_what_a_queue_sent_while_it_was_never_empty_is_what_it_should_have_sent():
    """The simulator sends to the bit what it should: any error would be one of the reckoning."""
    done = run(Plan.load(BURSTS), target="simulated", out=None)
    recording = done.recording
    filled = recording.column("switch.sink", "queue_frames") > 0
    emptied = np.diff(recording.column("switch.sink", "times_emptied")) > 0
    assert np.count_nonzero(filled[:-1] & filled[1:] & emptied) > 3, "a sample may be misled"
    [rate] = achieved_rates(Plan.load(BURSTS).check(Registry.load()), recording)
    assert rate.entity == "switch.sink"
    assert rate.stretches > 1
    assert rate.error == 0


def session(pace: float | None, text: str = short_plans.QCN) -> Session:
    return Session(Plan.load(text).check(Registry.load()), "software", pace)


def test_without_a_pace_the_clock_is_the_machine_s():
    assert pace_of(session(None).resolved, None) == 1.0
    assert pace_of(session(None).resolved, session(None)) == 1.0


def test_a_pace_is_taken_in_steps_of_a_millionth():
    asked = session(1 / 3)
    assert pace_of(asked.resolved, asked) == pytest.approx(0.333333, rel=1e-9)


@pytest.mark.parametrize("pace", [0.000001, 1000.0])
def test_a_pace_beyond_the_clock_s_steps_is_refused(pace):
    asked = session(pace)
    with pytest.raises(BadInput, match=r"pace: .* 1e-05 to 100"):
        pace_of(asked.resolved, asked)


def test_programs_are_not_slowed():
    asked = session(0.5, str(Registry.load().plans()["iperf-udp"]))
    with pytest.raises(BadInput, match="comes from programs"):
        pace_of(asked.resolved, asked)


def test_programs_on_one_link_react_by_way_of_their_hosts_queue():
    text = """
name = "talk"
duration = "6s"

[nodes."h{1..2}"]
kind = "nic"

[links.cable]
ends = ["h1", "h2"]
rate = "1Gb/s"
delay = "50us"

[traffic.gen]
plugin = "PLUGIN"
from = "h1"
to = "h2"
"""
    programs = demand(text.replace("PLUGIN", "sockets") + "bidirectional = true\n")
    assert programs.reaction_ps == 100 * US + 64_000 * 8 * 10**12 // 10**9
    silent = demand(text.replace("PLUGIN", "cbr") + 'rate = "1Gb/s"\n')
    assert silent.drain_ps == silent.shortest_phase_ps == 6000 * MS
