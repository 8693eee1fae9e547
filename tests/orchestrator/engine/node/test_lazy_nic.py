"""NICs without events of their own: nobody who looks can tell the difference."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from orchestrator.assembly import Assembly, assemble
from orchestrator.assembly.lazy_eligibility import MOST_FLOWS
from orchestrator.assembly.live_commands import Command, commands_for, insert
from orchestrator.engine.node.actors import WAKE_FLOW
from orchestrator.engine.node.event_loop import simulate
from orchestrator.engine.records import CNM, DISABLE_LAZINESS, NEVER, START_FLOW, STOP_FLOW
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.frame_audit import audit
from orchestrator.targets.parallel.parallel_run import ParallelRun
from tests.orchestrator.engine.node import test_lazy_egress
from tests.orchestrator.engine.node.bench import actor_of
from tests.orchestrator.engine.node.test_lazy_egress import (
    changed,
    fan,
    prompt,
    same,
    saved,
    with_prompt_nics,
)
from tests.orchestrator.random_plans import plans
from tests.orchestrator.worlds import MS, US, Table, assembled, line_of_three, run_until

CALM = [HealthCheck.too_slow, HealthCheck.data_too_large]


def late(assembly: Assembly) -> list[str]:
    """The ports of NICs that are late."""
    entries = assembly.world.ports["entries"]
    return [name for name, row in assembly.indices.port_rows.items() if entries[row]]


def both(table: Table, steps: int = 7) -> tuple[Assembly, Assembly]:
    """A plan run with all that can be late, and without, looked at now and then."""
    return test_lazy_egress.both(table, steps, nics=True)


def throttled(sources: int = 3, **changes: Any) -> Table:
    """Sources that are told to slow down soon, each by limiters that refill in phases of theirs."""
    table = fan(sources, **changes)
    for name in [name for name in table["nodes"] if name.startswith("nic")]:
        table["nodes"][name]["reaction_point"] |= {"time_reset": 300 * US}
    return table


def test_a_frame_of_a_throttled_source_takes_one_event() -> None:
    """The line wakes when the frame that its tokens let go arrives; the frame leaves its queue by
    no event either."""
    pair = both(throttled(duration=20 * MS))
    assert late(pair[0]) == ["nic1.switch", "nic2.switch", "nic3.switch"]
    clock, frames = pair[0].world.clock[0], int(pair[0].world.flows["frames_sent"].sum())
    assert pair[0].world.limiters["feedback_received"].sum() > 30
    assert frames > 900
    samples, messages = 50, 3 * int(pair[0].world.queues["feedback_sent"].sum())
    timers = 3 * 20 * MS // (200 * US)
    assert clock.events < frames + samples + messages + timers
    assert clock.unseen > frames
    assert saved(pair) > 900


def test_two_flows_of_a_port_take_turns_as_they_did() -> None:
    """Of one length and of several, at the link's rate and below it."""
    for lengths in ((1500, 1500), (1500, 70), (300, 1500, 700)):
        table = throttled(2)
        for name in ("nic1", "nic2"):
            table["nodes"][name] |= {"reaction_points": 2}
            del table["traffic"][f"gen-{name}"]
            table["traffic"] |= {
                f"{name}-{n}": {"plugin": "cbr", "from": name, "to": "sink", "frame": frame}
                | {"rate": (10**9, 37 * 10**7)[n % 2]}
                for n, frame in enumerate(lengths)
            }
        pair = both(table, steps=31)
        assert len(late(pair[0])) == 2
        assert pair[0].world.ports["entries"].max() == 1 + len(lengths)
        assert saved(pair) > 200


def test_frames_go_aside_from_a_shared_queue_and_back() -> None:
    """Limiters are bound and let go; what finds no room is refused meanwhile."""
    table = throttled(2, duration=12 * MS)
    for name in ("nic1", "nic2"):
        table["nodes"][name] |= {"host_queues": "shared", "reaction_points": 1}
        table["traffic"][f"gen-{name}"] |= {"flows": 3, "rate": 3 * 10**8}
    table["nodes"]["switch"]["service_rate"] = 8 * 10**8
    pair = both(table, steps=31)
    assert len(late(pair[0])) == 2
    assert pair[0].world.flows["frames_refused"].sum() > 10
    assert pair[0].world.nodes["feedback_unassigned"].sum() > 0


def with_ports(ways: int = 3, points: int = 2, **changes: Any) -> Table:
    """One NIC with a flow on each of its ports and fewer limiters than flows."""
    table = throttled(1, **changes)
    table["nodes"]["nic1"]["reaction_points"] = points
    table["traffic"] = {
        f"gen{n}": {"plugin": "cbr", "from": "nic1", "to": "sink", "rate": 10**9, "via": f"up{n}"}
        for n in range(ways)
    }
    up = table["links"].pop("up-nic1")
    table["links"] |= {f"up{n}": dict(up) for n in range(ways)}
    return table


def test_a_limiter_goes_from_one_port_to_another() -> None:
    """Which one is free decides who gets it: all ports of the NIC are looked at first."""
    for points in (1, 2):
        table = with_ports(points=points, duration=40 * MS, sample_interval=5 * MS)
        table["nodes"]["nic1"]["reaction_point"] |= {"ai_rate": 10**9, "hai_rate": 10**9}
        for n in range(
            3
        ):  # long after a limiter was let go its line still has nothing to hand over
            table["links"][f"up{n}"]["delay"] = 700 * US
        table["nodes"]["switch"]["service_rate"] = 19 * 10**8
        table["links"]["down"]["rate"] = 2 * 10**9
        for n in range(3):
            table["traffic"][f"gen{n}"]["rate"] = 64 * 10**7
        pair = both(table, steps=3)
        assert len(late(pair[0])) == 3
        assert pair[0].world.nodes["feedback_unassigned"].sum() > 0
        assert pair[0].world.limiters["feedback_received"].min() > 3


@pytest.mark.parametrize("reaction", [0, 1, 12 * US, 100 * US])
def test_a_message_finds_its_limiter_as_it_is(reaction: int) -> None:
    """Long after the last frame that somebody felt, and at the very instant of a frame."""
    table = throttled(4)
    for name in ("nic1", "nic2", "nic3", "nic4"):
        table["nodes"][name]["reaction_time"] = reaction
    pair = both(table, steps=31)
    assert pair[0].world.limiters["feedback_received"].sum() > 30
    assert saved(pair) > 200


def test_a_message_acts_behind_what_its_nic_does_at_that_instant() -> None:
    """Frames of an unlimited source begin every 12 us, and the reaction is over when one does."""
    table = throttled(2)
    octets = int(assembled(table).world.types[CNM].octets)
    way = 40 * US + octets * 8_000  # to the switch and back, at 1 Gb/s
    for name in ("nic1", "nic2"):
        table["nodes"][name]["reaction_time"] = -way % (12 * US)
    pair = both(table, steps=31)
    assert pair[0].world.limiters["feedback_received"].sum() > 10


def test_a_rate_that_rises_lets_a_frame_go_sooner() -> None:
    """Frames wait for tokens longer than the reaction point does for its timer."""
    table = throttled(4, duration=30 * MS)
    table["nodes"]["switch"] |= {"service_rate": 5 * 10**7, "buffer": 60_000}
    table["nodes"]["switch"]["congestion_point"]["counts"] = "arriving"
    for name in ("nic1", "nic2", "nic3", "nic4"):
        table["nodes"][name]["reaction_point"] |= {"time_reset": 150 * US, "ai_rate": 10**6}
    pair = both(table, steps=31)
    limiters = pair[0].world.limiters
    assert limiters["active"].sum() > 1
    assert limiters["rate"].min() < 4 * 10**7, "a frame in 300 us"


@pytest.mark.parametrize("plugin", ["pause", "pfc"])
def test_a_pause_finds_the_nic_as_it_is(plugin: str) -> None:
    """Frames of two lengths wait for its end, are ready or not, and limiters go on meanwhile."""
    for quanta in (3, 60, 2000):
        table = throttled(3)
        point = {"plugin": plugin, "high": 9_000, "low": 6_000, "quanta": quanta}
        table["nodes"]["switch"] |= {"inputs": {"buffer": 60_000, "pause": point}}
        table["nodes"]["switch"]["service_rate"] = 3 * 10**8
        table["traffic"]["gen-nic2"]["frame"] = 200
        table["traffic"]["gen-nic3"] |= {"flows": 2, "frame": 900}
        table["timeline"] = [
            {"at": at * 97 * US, "set": "nodes.switch.service_rate", "to": (3 + at % 2) * 10**8}
            for at in range(1, 60)
        ]
        pair = both(table, steps=31)
        assert len(late(pair[0])) == 3
        assert pair[0].world.ports["pause_received"].sum() > 10
        assert saved(pair) > 100


def test_probes_leave_between_the_frames_and_before_them() -> None:
    """FECN's reaction points ask by probes, which are shorter than any frame that is expected."""
    table = fan(3, duration=8 * MS)
    table["nodes"]["switch"]["congestion_point"] = {"plugin": "fecn-cp", "interval": "93us"}
    table["nodes"]["sink"]["notification_point"] = {"plugin": "fecn-reflector"}
    point = {"plugin": "fecn-rp", "interval": "200us"}
    storm = {"plugin": "stuck-pause", "start": 2 * MS, "stop": 5 * MS, "quanta": 1200}
    table["nodes"]["switch"]["pause"] = storm
    for number, name in enumerate(("nic1", "nic2", "nic3")):
        table["nodes"][name] = {"kind": "nic", "reaction_point": point, "reaction_points": 1}
        table["traffic"][f"gen-{name}"] |= {"rate": (10**9, 10**6, 3 * 10**8)[number]}
    pair = both(table, steps=31)
    assert len(late(pair[0])) == 3
    assert pair[0].world.limiters["probes_sent"].min() > 5
    assert pair[0].world.ports["pause_received"].sum() > 5


STEPS: list[Table] = [
    {"set": "links.up-nic1.delay", "to": US},
    {"set": "links.up-nic2.delay", "to": 90 * US},
    {"set": "links.up-nic1.rate", "to": 3 * 10**9},
    {"set": "links.up-nic2.rate", "to": 10**8},
    {"set": "traffic.gen-nic1.rate", "to": 3 * 10**7},
    {"set": "nodes.nic1.reaction_point.ai_rate", "to": 10**8},
    {"stop": "gen-nic1"},
    {"start": "gen-nic1"},
    {"cut": "up-nic2"},
    {"mend": "up-nic2"},
    {"pause": "nic1.switch"},
    {"resume": "nic1.switch"},
]
"""What a timeline may do to a NIC."""


def test_what_the_timeline_does_to_a_nic() -> None:
    """Each step at the end of a frame, at a refill and anywhere."""
    for at in (MS, MS + 12 * US, 2 * MS + 7):
        table = throttled(timeline=[{"at": at + n * 211 * US} | one for n, one in enumerate(STEPS)])
        for n in range(1, 9):  # between any two things that it does by itself
            verb = "stop" if n % 2 else "start"
            table["timeline"].append({"at": at + n * 97_003_001, verb: "gen-nic3"})
        pair = both(table, steps=31)
        assert len(late(pair[0])) == 3
        assert saved(pair) > 300


def test_a_change_while_it_runs_leaves_a_nic_late() -> None:
    """A delay that is shorter from now on, and a rate: the line wakes sooner than it was told."""
    for key, to in (("links.up-nic1.delay", "0us"), ("links.up-nic1.rate", "4Gb/s")):
        at = MS + 5 * US
        plan = Plan(**throttled()).check(Registry.load())
        later = Plan(**throttled(timeline=[{"at": at, "set": key, "to": to}])).check(
            Registry.load()
        )
        one = assemble(plan, spare=16)
        run_until(one, at)
        commands = commands_for(one, set(plan.plan.nodes), later.actions[0])
        assert commands[-1].action == DISABLE_LAZINESS
        assert insert(one.world, at, commands)
        run_until(one, plan.plan.duration + 1)
        audit(one.world)
        assert "nic1.switch" in late(one)
        other = prompt(throttled(timeline=[{"at": at, "set": key, "to": to}]))
        run_until(other, plan.plan.duration + 1)
        same(one, other)


def test_a_flow_that_is_stopped_and_started_again_at_one_instant() -> None:
    """As somebody who steers a run may have it."""
    resolved = Plan(**throttled()).check(Registry.load())
    one = assemble(resolved, spare=16)
    other = with_prompt_nics(assemble(resolved, spare=16))
    for assembly in (one, other):
        run_until(assembly, 2 * MS)
        for action in (STOP_FLOW, START_FLOW):
            assert insert(assembly.world, 2 * MS, [Command(action, 0, 0)])
        run_until(assembly, 6 * MS + 1)
    assert late(one)
    assert not late(other)
    same(one, other)


def test_a_flow_that_was_stopped_has_no_event() -> None:
    one = prompt(line_of_three())
    run_until(one, US)
    wakes = one.world.tree[len(one.world.tree) // 2 :, 0]
    actor = actor_of(one.world, WAKE_FLOW, 0)
    assert wakes[actor] != NEVER
    assert insert(one.world, US, [Command(STOP_FLOW, 0, 0)])
    run_until(one, US + 1)
    assert wakes[actor] == NEVER


def test_who_stops_after_so_many_events_goes_on_the_same() -> None:
    """What NICs do by themselves counts: a caller comes back after so many."""
    one, other = assembled(throttled(duration=2 * MS)), prompt(throttled(duration=2 * MS))
    clock, done = one.world.clock[0], 0
    while simulate(one.world, 2 * MS + 1, 7) == 7:
        done += 7
        assert clock.events < done  # what NICs did is among those that were counted
    assert done > 100
    run_until(other, 2 * MS + 1)
    same(one, other)


def drawn(draw: random.Random) -> Table:
    """Any sources, limiters, links and queues; instants fall together now and then."""
    table = throttled(draw.randint(1, 4), seed=draw.randint(1, 99), duration=2 * MS)
    names = [name for name in table["nodes"] if name.startswith("nic")]
    table["sample_interval"] = draw.choice([100 * US, 96 * US, 1_000_003, 700 * US])
    table["nodes"]["switch"] |= {
        "service_rate": draw.choice([2, 4, 5, 8, 10]) * 10**8,
        "buffer": draw.choice([4500, 20_000, 60_000]),
    }
    if draw.random() < 0.4:
        pause = {"plugin": "pause", "high": 4_500, "low": 3_000, "quanta": draw.choice([5, 300])}
        table["nodes"]["switch"]["inputs"] = {"buffer": 20_000, "pause": pause}
    elif draw.random() < 0.5:
        table["nodes"]["sink"] = dict(table["nodes"]["nic1"])
        table["traffic"]["back"] = {"plugin": "cbr", "from": "sink", "to": "nic1", "rate": 10**9}
    for name in names:
        table["nodes"][name] |= {
            "host_queue": draw.choice([1500, 6000, 64_000]),
            "reaction_time": draw.choice([0, 0, 12 * US, 31 * US]),
            "reaction_points": draw.choice([1, 2]),
            "limiter": {"depth": 3000, "period": draw.choice([12 * US, 16 * US])},
        }
        if draw.random() < 0.4:
            table["nodes"][name]["host_queues"] = "shared"
    for link in table["links"].values():
        link["delay"] = draw.choice([0, 12 * US, 50 * US])
        link["buffer"] = draw.choice([3000, 10**6])
    for entry in table["traffic"].values():
        entry["frame"] = draw.choice([1500, 750, 100])
        entry["rate"] = draw.choice([1, 2, 5, 10]) * 10**8
        entry["flows"] = draw.choice([1, 1, 2, 3])
        entry["start"] = draw.choice([0, 0, 60 * US])
    for at in range(draw.choice([0, 3])):
        verb = {"stop": "gen-nic1"} if at % 2 == 0 else {"start": "gen-nic1"}
        table.setdefault("timeline", []).append({"at": (300 + 204 * at) * US} | verb)
    return table


@pytest.mark.parametrize("seed", range(6))
def test_plans_drawn_at_random(seed: int) -> None:
    draw = random.Random(seed)
    total = 0
    for _ in range(8):
        pair = both(drawn(draw), steps=9)
        assert late(pair[0])
        total += saved(pair)
    assert total > 400


@settings(max_examples=40, suppress_health_check=CALM)
@given(plan=plans())
def test_plans_of_any_kind(plan: Table) -> None:
    both(plan, steps=3)


MANY = {"plugin": "cbr", "from": "nic", "to": "sink", "rate": 10**8}
UP = ["nic.switch"]


@pytest.mark.parametrize(
    ("table", "ports"),
    [
        (changed(), UP),
        (changed(nodes={"sink": {"kind": "nic"}}), UP),
        (changed(traffic={"gen": MANY | {"flows": MOST_FLOWS}}), UP),
        (changed(traffic={"gen": MANY | {"flows": MOST_FLOWS + 1}}), []),
        (changed(capture={"ports": ["nic.switch"]}), UP),
        (changed({"inputs": {"buffer": 20_000}}), UP),
        (
            changed(
                traffic={
                    "some": {"plugin": "messages", "size": 4000, "interval": MS}
                    | {"from": "nic", "to": "sink"}
                }
            ),
            [],
        ),
        (changed(priorities="separate", traffic={"other": MANY | {"priority": 3}}), []),
        (
            changed(
                nodes={"nic": {"kind": "nic", "notification_point": {"plugin": "fecn-reflector"}}}
            ),
            [],
        ),
    ],
)
def test_which_nics_are_late(table: Table, ports: list[str]) -> None:
    assert late(assembled(table)) == ports


def test_a_link_that_is_more_than_a_delay_has_none() -> None:
    jitter = {"plugin": "jittered-delay", "jitter": 9 * US}
    up = {"ends": ["nic", "switch"], "rate": 10**9, "delay": 40 * US, "delay_line": jitter}
    assert late(assembled(changed(links={"up": up}))) == []
    table = line_of_three()
    table["nodes"].pop("switch")
    table["links"] = {"up": {"ends": ["nic", "sink"], "rate": 10**9}}
    assert late(assembled(table)) == []


def test_several_ports_of_a_shared_queue_are_in_time() -> None:
    table = with_ports()
    assert len(late(assembled(table))) == 3
    table["nodes"]["nic1"]["host_queues"] = "shared"
    assert late(assembled(table)) == []


def test_a_nic_whose_switch_is_in_another_part_of_a_run_is_in_time() -> None:
    table = changed(links={"down": {"ends": ["switch", "sink"], "rate": 10**9, "delay": US}})
    table["links"]["up"]["delay"] = US
    resolved = Plan(**table).check(Registry.load())
    both_here = ParallelRun(resolved, [["nic", "switch"], ["sink"]])
    assert [late(assembly) for assembly in both_here.assemblies] == [["nic.switch"], []]
    apart = ParallelRun(resolved, [["nic"], ["switch", "sink"]])
    assert not any(late(assembly) for assembly in apart.assemblies)
    for nodes in (["nic"], list(resolved.plan.nodes)):
        assert not late(assemble(resolved, nodes))


def test_nothing_of_a_late_nic_is_in_the_tournament() -> None:
    one = assembled(throttled())
    w = one.world
    run_until(one, MS)
    names = [(int(what), int(index)) for what, index in w.actors]
    leaves = w.tree[len(w.tree) // 2 :][: len(names), 0]
    rows = {one.indices.port_rows[name] for name in late(one)}
    own = [("port", 4), ("flow", 5)]
    for (what, index), time in zip(names, leaves, strict=True):
        if (what == own[0][1] and index in rows) or what == own[1][1]:
            assert time == NEVER
    assert np.all(w.agenda["wake"][w.agenda["flow"] >= 0] < NEVER)
