"""What a plan demands of the machine: times of its own loops, queues and phases."""

from __future__ import annotations

import pytest

from orchestrator.fidelity import Demand
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.targets.software.demand import demand_of
from orchestrator.targets.software.rig import LEAST_HORIZON_PS, Shared
from tests.orchestrator.targets.software import short_plans

US, MS = 10**6, 10**9


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


@pytest.mark.parametrize("delay", ["50us", "0s"])
def test_a_queue_that_nothing_controls_drains_from_its_buffer(delay):
    found = demand(short_plans.TIMELINE, f"links.up.delay={delay}", "nodes.switch.buffer=95KB")
    assert found.drain_ps == 800 * US
    assert found.horizon_ps >= 80 * US


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
