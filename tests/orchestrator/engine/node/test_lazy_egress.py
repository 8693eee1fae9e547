"""Ports whose data leaves without events: nobody who looks can tell the difference."""

from __future__ import annotations

import random
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest

from orchestrator.assembly import Assembly, assemble
from orchestrator.assembly.live_commands import Command, commands_for, insert
from orchestrator.engine.frames.descriptor_reset import reset_descriptor
from orchestrator.engine.node.actors import line_actor
from orchestrator.engine.node.control_frames import write_quanta
from orchestrator.engine.node.descriptor_pool import take
from orchestrator.engine.node.event_loop import simulate
from orchestrator.engine.node.event_queue import wake_at
from orchestrator.engine.records import DISABLE_LAZINESS, NONE, PAUSE, PFC
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.frame_audit import audit
from orchestrator.targets.parallel.parallel_run import ParallelRun
from plugins.fecn_cp import FECN_CP
from tests.orchestrator.worlds import MS, US, Table, assembled, line_of_three, run_until

FRAME_PS = 12 * US
"""Of a full frame at 1 Gb/s."""
NOT_SAID = {"head", "tail", "turn", "next", "line_head", "line_tail", "control_tail"}
NOT_SAID |= {"control_head", "reacting_head", "reacting_tail", "order_head"}
NOT_SAID |= {"fly_head", "fly_tail", "awaited", "awaits_next", "before_tail"}
"""Fields that hold places of descriptors or of lists: which free one is taken is nobody's."""

HOW = {"late", "deaf", "calm", "ahead", "patience", "last_due", "units", "first_unit", "free_unit"}
HOW |= {"agenda", "entries", "reached", "entry", "timed_octets", "timed_rate", "timed_ps"}
"""Fields that say in which way the same comes about, and what was divided out last."""


COUNTED = {"latency", "line_bytes", "frames_received", "bytes_received", "latest"}
"""What says how many frames were counted ahead: a message in their line has those behind it wait
for the line, unless they are sent so late that it has arrived. By the next row it is the same."""


def late(assembly: Assembly) -> list[str]:
    """The ports that are late."""
    ports = assembly.world.ports
    return [name for name, row in assembly.indices.port_rows.items() if ports[row].late]


def with_prompt_nics(assembly: Assembly) -> Assembly:
    """A world at time 0 with the events of its NICs."""
    assembly.world.ports["entries"] = 0
    assembly.world.flows["entry"] = 0
    assembly.world.clock["late_nics"] = 0
    return assembly


def prompt(table: Table) -> Assembly:
    """The same plan with an event for every frame that leaves, and for all that NICs do."""
    assembly = with_prompt_nics(assembled(table))
    assembly.world.ports["late"] = 0
    assembly.world.clock["late"] = 0
    assembly.world.queues["deaf"] = 0
    assembly.world.queues["calm"] = 0
    return assembly


def same(one: Assembly, other: Assembly, but: Collection[str] = ()) -> None:
    """Both worlds have measured the same, and are in the same state but for places."""
    for name in {"row_times", "rows", "latency", "latency_marks"} - set(but):
        assert np.array_equal(getattr(one.world, name), getattr(other.world, name)), name
    for name in ("ports", "lanes", "queues", "flows", "limiters", "nodes"):
        ours, theirs = getattr(one.world, name), getattr(other.world, name)
        for field in set(ours.dtype.names) - NOT_SAID - HOW - set(but):
            assert np.array_equal(ours[field], theirs[field]), f"{name}.{field}"
    for row in range(len(one.built.pointed_at)):  # states and parameters of algorithms
        for ours, theirs in zip(
            one.built.pointed_at[row], other.built.pointed_at[row], strict=True
        ):
            assert np.array_equal(ours, theirs), f"instance {row}"
    heads = [assembly.world.ports["control_head"] for assembly in (one, other)]
    assert np.array_equal(heads[0] == NONE, heads[1] == NONE)


def both(
    table: Table, steps: int = 7, nics: bool = False, but: Collection[str] = ()
) -> tuple[Assembly, Assembly]:
    """A plan run with late ports, and `nics` that are, and without, looked at now and then; all but
    `but` is the same at every time, and that at the end."""
    one, other = assembled(table), prompt(table)
    if not nics:
        with_prompt_nics(one)
    for step in range(1, steps + 1):
        until = table["duration"] * step // steps + 1
        for assembly in (one, other):
            run_until(assembly, until)
            if step % 5 == 0 or step == steps:
                audit(assembly.world)
        same(one, other, but if step < steps else ())
    return one, other


def saved(pair: tuple[Assembly, Assembly]) -> int:
    """Events that the first of two does without."""
    one, other = pair
    return int(other.world.clock[0].events - one.world.clock[0].events)


def fan(sources: int = 3, **changes: Any) -> Table:
    """Sources with a link each into one slower port, with QCN."""
    names = [f"nic{n}" for n in range(1, sources + 1)]
    limited = {"plugin": "qcn-rp", "time_reset": MS, "byte_reset": 15_000}
    nic = {"kind": "nic", "host_queue": 6000, "reaction_point": limited, "reaction_points": 1}
    point = {"plugin": "qcn-cp", "sample_base": 3_000, "set_point": 6_000}
    switch = {"kind": "switch", "service_rate": 6 * 10**8, "buffer": 30_000}
    table = line_of_three(duration=6 * MS, sample_interval=500 * US)
    table["nodes"] = {name: dict(nic) for name in names}
    table["nodes"] |= {"switch": switch | {"congestion_point": point}, "sink": {"kind": "sink"}}
    up = {"rate": 10**9, "delay": 20 * US}
    table["links"] = {f"up-{name}": up | {"ends": [name, "switch"]} for name in names}
    table["links"]["down"] = {"ends": ["switch", "sink"], "rate": 10**9}
    gen = {"plugin": "cbr", "to": "sink", "rate": 10**9}
    table["traffic"] = {f"gen-{name}": gen | {"from": name} for name in names}
    return table | changes


def test_a_port_that_is_overloaded_needs_no_event_for_a_frame() -> None:
    pair = both(fan())
    assert late(pair[0]) == ["switch.nic1", "switch.nic2", "switch.nic3", "switch.sink"]
    # not one for each of some 190 frames: one that finds the port free leaves when it comes
    assert saved(pair) > 60
    assert pair[0].world.queues["feedback_sent"].sum() > 20


def test_frames_that_come_at_one_time_and_when_one_leaves() -> None:
    """Links are as fast as the port, and all sources begin at once: ends of transfers and arrivals
    fall together again and again."""
    for share in (1, 2, 3):
        table = fan(2 * share)
        table["nodes"]["switch"] |= {"service_rate": 10**9, "buffer": 4500}
        del table["nodes"]["switch"]["congestion_point"]
        for nic in table["nodes"].values():
            nic.pop("reaction_point", None), nic.pop("reaction_points", None)
        for entry in table["traffic"].values():
            entry["rate"] = 10**9 // share
        pair = both(table, steps=31)
        assert pair[0].world.queues["frames_dropped"].sum() > 20


def test_messages_go_out_by_a_port_whose_data_is_late() -> None:
    """Both ends send and are told to slow down: CNMs leave in between the data, and before it."""
    table = fan(2)
    table["nodes"]["sink"] = dict(table["nodes"]["nic1"])
    back = {"plugin": "cbr", "from": "sink", "rate": 5 * 10**8}
    table["traffic"] |= {f"back-{n}": back | {"to": f"nic{n}"} for n in (1, 2)}
    table["nodes"]["switch"]["service_rate"] = 3 * 10**8
    pair = both(table, steps=13)
    assert set(late(pair[0])) == {"switch.nic1", "switch.nic2", "switch.sink"}
    assert pair[0].world.limiters["feedback_received"].min() > 3
    assert saved(pair) > 100


def test_what_the_timeline_does_finds_the_queue_as_it_is() -> None:
    """Values that change within a frame and at the very end of one; a port that is held."""
    table = fan(2)
    steps = [("nodes.switch.service_rate", 2 * 10**8), ("nodes.switch.buffer", 9_000)]
    steps += [("nodes.switch.service_rate", 9 * 10**8), ("nodes.switch.buffer", 60_000)]
    table["timeline"] = [
        {"at": at, "set": key, "to": value}
        for at, (key, value) in zip((MS, MS + 20 * US, 2 * MS + 7, 3 * MS), steps, strict=True)
    ]
    table["timeline"] += [
        {"at": 4 * MS, "pause": "switch.sink"},
        {"at": 4 * MS + 100 * US, "resume": "switch.sink"},
    ]
    pair = both(table, steps=17)
    assert late(pair[0])
    assert saved(pair) > 40


def test_plans_drawn_at_random() -> None:
    draw = random.Random(5)
    total = 0
    for _ in range(10):
        table = fan(draw.randint(1, 4), seed=draw.randint(1, 99), duration=2 * MS)
        table["sample_interval"] = draw.choice([100 * US, 96 * US, 1_000_003, 700 * US])
        table["nodes"]["switch"] |= {
            "service_rate": draw.choice([2, 4, 5, 8, 10]) * 10**8,
            "buffer": draw.choice([4500, 20_000, 60_000]),
        }
        if draw.random() < 0.3:
            table["nodes"]["switch"]["congestion_point"]["counts"] = "arriving"
        for link in table["links"].values():
            link["delay"] = draw.choice([0, 12 * US, 50 * US])
        for entry in table["traffic"].values():
            entry["frame"] = draw.choice([1500, 750, 100])
            entry["rate"] = draw.choice([1, 2, 5, 10]) * 10**8
        total += saved(both(table, steps=9))
    assert total > 400


def test_a_timer_of_the_queue_finds_it_as_it_is() -> None:
    """FECN advertises a rate by the queue's length at the end of each interval: it ends between two
    starts of transfer, long after the last frame came, and the rate is at none of its bounds."""
    table = fan(3, duration=4 * MS, sample_interval=500 * US)
    point = {"plugin": "fecn-cp", "interval": "93us", "expected_flows": 2, "set_point": 9000}
    table["nodes"]["switch"]["congestion_point"] = point
    for name in ("nic1", "nic2", "nic3"):
        table["nodes"][name] = {"kind": "nic"}
        table["traffic"][f"gen-{name}"]["rate"] = 205 * 10**6
    pair = both(table)
    assert "switch.sink" in late(pair[0])
    row = pair[0].indices.queues["switch.sink"]
    state = f"state{pair[0].world.queues[row].congestion_point}"
    for name in FECN_CP.state.names or ():
        told = [int(x.world.memory[x.built.offset(state, 0, name)]) for x in pair]
        assert told[0] == told[1], name
    assert 10**7 < told[0] < 6 * 10**8
    assert saved(pair) > 100


def test_a_message_of_a_later_port_finds_what_began_at_its_very_instant() -> None:
    """Of two ports that send in step the late one goes first: a frame of it begins, and the message
    that the other one's frame leads to waits until it has ended."""
    back = {"plugin": "cbr", "from": "sink", "to": "nic", "rate": 10**9}
    table = changed(nodes={"sink": TO_NIC}, traffic={"back": back}, duration=3 * MS)
    table["nodes"]["nic"]["reaction_point"] = {"plugin": "qcn-rp"}
    table["nodes"]["switch"] |= {"service_rate": 5 * 10**8, "buffer": 30_000}
    table["nodes"]["switch"]["ports"] = {"sink": {"congestion_point": ON_DEPARTURE}}
    pair = both(table, steps=31)
    assert late(pair[0]) == ["switch.nic"]
    assert pair[0].world.queues["feedback_sent"].sum() > 5
    assert saved(pair) > 100


@pytest.mark.parametrize(("kind", "quanta"), [(PAUSE, 0), (PAUSE, 50), (PFC, 200)])
def test_a_pause_finds_the_port_as_it_is(kind: int, quanta: int) -> None:
    """Nothing that a late port leads to sends any; what a port is told it obeys all the same."""
    table = fan(3)
    for name in ("nic1", "nic2", "nic3"):
        table["nodes"][name] = {"kind": "nic"}
    one, other = assembled(table), prompt(table)
    for assembly in (one, other):
        run_until(assembly, MS)
        w = assembly.world
        row, index = assembly.indices.port_rows["sink.switch"], take(w)
        reset_descriptor(w.frames[index], kind, 60, 0, NONE, NONE, NONE)
        write_quanta(w.frames[index], kind, 0xFF, quanta)
        w.frames[index].due = MS + 300 * US
        w.ports[row].line_head = w.ports[row].line_tail = index
        w.ports[row].line_bytes = 60
        wake_at(w, line_actor(w, row), MS + 300 * US)
        run_until(assembly, 2 * MS)
    assert other.world.ports["pause_received"].sum() == 1
    same(one, other)


def unlimited(**changes: Any) -> Table:
    """Two sources that nothing slows down: the queue is long at every moment."""
    table = fan(2, duration=3 * MS, **changes)
    for name in ("nic1", "nic2"):
        table["nodes"][name] = {"kind": "nic"}
    return table


@pytest.mark.parametrize("key", ["links.down.delay", "nodes.switch.congestion_point.sampling"])
def test_a_change_while_it_runs_has_the_port_in_time(key: str) -> None:
    """A new delay, and a congestion point that begins to listen to what leaves."""
    to = {"links.down.delay": "30us", "nodes.switch.congestion_point.sampling": "departure"}[key]
    at = MS + 5 * US
    table = unlimited(timeline=[{"at": at, "set": key, "to": to}])
    plan = Plan(**unlimited()).check(Registry.load())
    changed = Plan(**table).check(Registry.load())
    one = assemble(plan, spare=16)
    run_until(one, at)
    commands = commands_for(one, set(plan.plan.nodes), changed.actions[0])
    assert commands[-1].action == DISABLE_LAZINESS
    assert insert(one.world, at, commands)
    assert "switch.sink" in late(one)
    queue = one.world.queues[one.indices.queues["switch.sink"]]
    before = int(queue.feedback_sent)
    assert queue.frames > 5
    run_until(one, plan.plan.duration + 1)
    audit(one.world)
    assert "switch.sink" not in late(one)
    assert queue.feedback_sent > before + 20
    # a plan that says so from the beginning never is late there
    other = prompt(table)
    run_until(other, plan.plan.duration + 1)
    same(one, other)


def test_a_port_that_hurries_has_sent_what_it_could_before() -> None:
    """Nobody looked since the last frame came; a full one takes 20 us to leave."""
    one = assemble(Plan(**unlimited()).check(Registry.load()), spare=1)
    other = prompt(unlimited())
    assert insert(
        one.world, MS, [Command(DISABLE_LAZINESS, one.indices.port_rows["switch.sink"], 0)]
    )
    for until in (MS + 1, 3 * MS + 1):
        for assembly in (one, other):
            run_until(assembly, until)
        same(one, other)
        assert late(one) == ["switch.nic1", "switch.nic2"]


def test_the_buffer_of_an_input_hears_of_a_change_while_it_runs() -> None:
    """Its congestion point is told of all that leaves from the beginning: nobody tells it later."""
    key, at = "nodes.switch.inputs.congestion_point.sampling", MS + 5 * US
    inputs = {"buffer": 60_000, "congestion_point": POINT}
    tables = unlimited(), unlimited(timeline=[{"at": at, "set": key, "to": "departure"}])
    for table in tables:
        del table["nodes"]["switch"]["congestion_point"]
        table["nodes"]["switch"]["inputs"] = inputs
    plan, changed = (Plan(**table).check(Registry.load()) for table in tables)
    one, other = assemble(plan, spare=16), prompt(tables[1])
    run_until(one, at)
    before = int(one.world.queues["feedback_sent"].sum())
    assert insert(one.world, at, commands_for(one, set(plan.plan.nodes), changed.actions[0]))
    for assembly in (one, other):
        run_until(assembly, plan.plan.duration + 1)
    same(one, other)
    assert one.world.queues["feedback_sent"].sum() > before + 20


def test_who_stops_after_so_many_events_finds_no_frame_that_left_later() -> None:
    one, other = assembled(fan(duration=MS)), prompt(fan(duration=MS))
    while simulate(one.world, MS + 1, 7) == 7:
        assert one.world.ports["frames_out"][one.indices.port_rows["switch.sink"]] <= (
            one.world.clock[0].now // FRAME_PS + 1
        )
    run_until(other, MS + 1)
    same(one, other)


TO_NIC = {"kind": "nic"}
POINT = {"plugin": "qcn-cp", "sample_base": 3_000, "set_point": 6_000}


def changed(switch: Table | None = None, **more: Any) -> Table:
    """The plan of one source, with a switch that is different, other links or traffic."""
    table = line_of_three()
    table["nodes"]["switch"] |= switch or {}
    for name, rows in more.items():
        table[name] = table.get(name, {}) | rows if isinstance(rows, dict) else rows
    return table


BOTH = ["switch.nic", "switch.sink"]
TCP = {"gen": {"plugin": "bulk", "from": "nic", "to": "sink", "transport": {"plugin": "tcp"}}}
MESSAGES = {"plugin": "messages", "from": "nic", "to": "sink", "size": 4000, "interval": MS}
ON_DEPARTURE = POINT | {"sampling": "departure"}
BY_UNITS = POINT | {"sampling": "occupancy-random"}
WATCHDOG = {"plugin": "pfc-watchdog", "detection_time": "100us", "polling_interval": "30us"}
RETAINED = {"hold_until_departure": True}
SHARED = {"inputs": {"shared_memory": 100_000}}
IN_ORDER = {"reassembly": {"buffer": 20_000}}
PRIORITY = {"plugin": "cbr", "from": "nic", "to": "sink", "rate": 10**8, "priority": 3}
MEMBERS = {"nodes": {"second": {"kind": "sink"}}, "groups": {"all": ["sink", "second"]}}
MEMBERS["links"] = {"second": {"ends": ["switch", "second"], "rate": 10**9}}
APART = {"nodes": {"other": TO_NIC, "near": {"kind": "sink"}}}
APART["links"] = {"own": {"ends": ["other", "near"], "rate": 10**9}}
APART["traffic"] = {"own": {"plugin": "cbr", "from": "other", "to": "near", "rate": 10**8}}
GROUP = {"plugin": "cbr", "from": "nic", "to": "all", "rate": 10**8}
CHANGED = {"at": MS, "set": "nodes.switch.congestion_point.set_point", "to": 9000}


@pytest.mark.parametrize(
    ("table", "ports"),
    [
        (changed(), BOTH),
        (changed(nodes={"sink": TO_NIC}), BOTH),
        (changed({"congestion_point": POINT}), BOTH),
        (changed({"congestion_point": ON_DEPARTURE}), []),
        (changed({"congestion_point": POINT}, timeline=[CHANGED]), []),
        (changed({"congestion_point": {"plugin": "red"}}), BOTH),
        (changed({"congestion_point": {"plugin": "codel"}}), []),
        (changed({"pause": {"plugin": "pause", "high": 9000, "low": 3000}}), []),
        (changed({"inputs": {"buffer": 20_000}}), BOTH),
        (changed({"inputs": RETAINED}), []),
        (changed({"inputs": {"congestion_point": ON_DEPARTURE}}), BOTH),
        (changed({"inputs": {"pause": {"plugin": "pause"}}}), BOTH),
        (changed({"inputs": {}, "congestion_point": POINT}), []),
        (changed({"inputs": {}, "notification_point": {"plugin": "notification-point"}}), []),
        (changed(links={"more": {"ends": ["switch", "sink"], "rate": 10**9}}), ["switch.nic"]),
        (changed(capture={"ports": ["switch.sink"]}), ["switch.nic"]),
        (changed({"congestion_point": BY_UNITS}), []),
        (changed({"watchdog": WATCHDOG}), []),
        (changed(SHARED), []),
        (changed(IN_ORDER), []),
        (changed(priorities="separate", traffic={"other": PRIORITY}), []),
        (changed(**MEMBERS, traffic={"gen": GROUP}), []),
        (changed(**APART), BOTH),
        (changed(traffic=TCP), []),
        (changed(traffic={"some": MESSAGES}), []),
    ],
)
def test_which_ports_are_late(table: Table, ports: list[str]) -> None:
    assert late(assembled(table)) == ports


def test_a_port_into_another_part_of_a_run_is_in_time() -> None:
    table = changed(links={"down": {"ends": ["switch", "sink"], "rate": 10**9, "delay": US}})
    resolved = Plan(**table).check(Registry.load())
    several = ParallelRun(resolved, [["nic", "switch"], ["sink"]])
    assert [late(assembly) for assembly in several.assemblies] == [["switch.nic"], []]
    # and so are the records of a model or a card, whose registers are put there by others
    for nodes in (["switch"], ["nic", "switch"], list(resolved.plan.nodes)):
        assert not late(assemble(resolved, nodes))
    assert late(assemble(resolved))
