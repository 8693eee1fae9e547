"""There are enough frame descriptors, whatever a plan does."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from orchestrator.assembly.descriptor_bound import descriptors
from orchestrator.engine.node.link_delivery import LEAST_INTERVAL_PS
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.orchestrator.random_plans import plans
from tests.orchestrator.worlds import MS, US, Table, assembled, line_of_three, run_in_steps


def missing(plan: Table) -> int:
    """How many frames found no descriptor."""
    assembly = assembled(plan)
    assert [*run_in_steps(assembly, 1)] == [plan["duration"]]
    return int(assembly.world.clock[0].no_descriptor)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(plan=plans())
def test_random_plans_never_run_out(plan: Table) -> None:
    assert missing(plan) == 0


def full(**changes: object) -> Table:
    """Everything full at once: host queues, the switch's queue, a delay line 5 ms long."""
    plan = line_of_three(duration=40 * MS, **changes)
    plan["nodes"]["nic"]["host_queue"] = 64_000
    plan["nodes"]["switch"] |= {"buffer": 500_000, "service_rate": 10**7}
    plan["links"]["up"]["delay"] = 5 * MS
    plan["traffic"]["gen"] |= {"flows": 4, "frame": 100}
    return plan


def test_full_queues_and_lines() -> None:
    assert missing(full()) == 0


def sharing(shared: int) -> Table:
    """Four sources with short frames at one port, over a memory that all ports share."""
    plan = full()
    inputs = {"buffer": 400_000, "shared_memory": shared}
    plan["nodes"]["switch"] |= {"buffer": 400_000, "inputs": inputs}
    plan["traffic"]["gen"]["frame"] = 70
    return plan


@pytest.mark.parametrize("shared", [20_000, 100_000, 250_000])
def test_a_memory_that_ports_share_holds_no_more_frames_than_fit_it(shared: int) -> None:
    plan = sharing(shared)
    assert missing(plan) == 0
    resolved = Plan(**plan).check(Registry.load())
    own = Plan(**sharing(300_000)).check(Registry.load())
    assert descriptors(own) - descriptors(resolved) == 300_000 // 70 - shared // 70


def test_a_memory_that_ports_share_is_no_bound_for_trimmed_frames() -> None:
    plan = sharing(20_000)
    plan["traffic"]["gen"]["transport"] = {"plugin": "selective"}
    plan["traffic"]["gen"] = {
        **{key: plan["traffic"]["gen"][key] for key in ("from", "to", "transport")},
        "plugin": "bulk",
        "frame": 1500,
    }
    bare = descriptors(Plan(**plan).check(Registry.load()))
    plan["nodes"]["switch"]["congestion_point"] = {"plugin": "trim", "threshold": 5_000}
    queues = 2 * (800_000 // 70) - 20_000 // 70  # two ports, each with its input
    assert descriptors(Plan(**plan).check(Registry.load())) == bare + queues


def test_frames_of_very_different_lengths() -> None:
    plan = full()
    plan["traffic"]["small"] = plan["traffic"]["gen"] | {"frame": 70, "flows": 1}
    plan["traffic"]["large"] = plan["traffic"]["gen"] | {"frame": 9000, "flows": 9}
    assert missing(plan) == 0


def test_jitter_holds_more_frames_than_the_delay() -> None:
    plan = full()
    jitter = {"plugin": "jittered-delay", "jitter": 40 * MS}
    plan["links"]["up"] |= {"delay": 0, "delay_line": jitter, "buffer": 100_000_000}
    assert missing(plan) == 0


def test_a_jitter_takes_as_much_room_as_it_delays() -> None:
    """And not all that its link may hold, of which swift's 66 links had 31 GB on real frames."""
    plan = full()
    plan["links"]["up"] |= {"buffer": 100_000_000}
    plain = descriptors(Plan(**plan).check(Registry.load()))
    plan["links"]["up"]["delay_line"] = {"plugin": "jittered-delay", "jitter": US}
    assert plain <= descriptors(Plan(**plan).check(Registry.load())) <= plain + 100


@pytest.mark.parametrize(
    ("key", "to"),
    [
        ("links.up.delay", 20 * MS),
        ("links.up.rate", 10**10),
        ("nodes.switch.buffer", 20_000_000),
    ],
)
def test_a_plan_that_grows_on_the_way(key: str, to: int) -> None:
    plan = full(timeline=[{"at": MS, "set": key, "to": to}])
    plan["links"]["up"]["buffer"] = 100_000_000
    plan["traffic"]["gen"]["rate"] = 10**10
    assert missing(plan) == 0


def test_more_pauses_than_a_slow_neighbours_link_carries() -> None:
    plan = line_of_three(duration=20 * MS)
    pause = {"plugin": "pause", "low": 64, "high": 65, "quanta": 2}
    plan["nodes"] |= {"slow": {"kind": "sink"}}
    plan["nodes"]["switch"]["pause"] = pause
    plan["links"]["slow"] = {"ends": ["switch", "slow"], "rate": 10**6, "delay": US}
    plan["traffic"]["gen"]["frame"] = 70
    assert missing(plan) == 0


def test_more_feedback_than_the_way_back_carries() -> None:
    """Every frame is sampled; the messages are longer than the frames."""
    plan = line_of_three(duration=40 * MS)
    point = {"plugin": "qcn-cp", "sample_base": 64, "set_point": 64, "jitter": False}
    plan["nodes"]["nic"]["host_queue"] = 1000
    plan["nodes"]["switch"] |= {"service_rate": 10**8, "congestion_point": point}
    plan["traffic"]["gen"] |= {"frame": 70, "flows": 2}
    assert missing(plan) == 0


def test_only_lines_to_a_sink_keep_frames_that_were_due() -> None:
    """In simulated time; ibm-rack640, whose ends are NICs, would have 117 MB of room for them."""
    plan = full()
    for link in plan["links"].values():
        link |= {"rate": 100 * 10**9, "delay": 0, "buffer": 100_000_000}
    resolved = Plan(**plan).check(Registry.load())
    of_a_line = 100 * LEAST_INTERVAL_PS // 8 // 1000 // plan["traffic"]["gen"].get("frame", 1500)
    lines = len(list(resolved.plan.ports())) - 1  # one leads to the sink
    spared = descriptors(resolved) - descriptors(resolved, late=False)
    assert 0.9 * lines * of_a_line < spared <= lines * of_a_line
    assert missing(plan) == 0
