"""Switches with inputs whose transfers, arrivals and departures inside need no events: nobody who
looks can tell the difference."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from orchestrator.assembly import Assembly, assemble
from orchestrator.assembly.live_commands import commands_for, insert
from orchestrator.engine.node.descriptor_pool import unused_descriptors
from orchestrator.engine.records import DISABLE_LAZINESS, LAZINESS_DISABLED, LAZY_BEHIND_INPUTS
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.frame_audit import audit
from tests.orchestrator.engine.node.test_lazy_egress import COUNTED, both, late, prompt, same, saved
from tests.orchestrator.worlds import MS, US, Table, assembled, run_until

LINK = 10**9
SAMPLING = {"plugin": "qcn-cp", "set_point": 6_000, "sample_base": 9_000}
PAUSE = {"plugin": "pause", "high": 12_000, "low": 5_000, "quanta": 300}


def rack(hosts: int = 3, inputs: Table | None = None, **switch: Any) -> Table:
    """Hosts into one switch with inputs: all send to the first of two sinks, and back to one."""
    names = [f"h{n}" for n in range(hosts)]
    limited = {"plugin": "qcn-rp", "time_reset": MS, "byte_reset": 15_000}
    nic = {"kind": "nic", "host_queue": 6000, "reaction_point": limited, "reaction_points": 2}
    nic["limiter"] = {"depth": 6000}
    nodes: Table = {name: dict(nic) for name in names}
    nodes |= {"d0": {"kind": "sink"}, "d1": dict(nic)}
    nodes["rack"] = {"kind": "switch", "buffer": 9_000, "inputs": inputs or {}} | switch
    gen = {"plugin": "cbr", "rate": LINK // 2}
    traffic = {f"t{n}": gen | {"from": name, "to": "d0"} for n, name in enumerate(names)}
    traffic |= {f"u{n}": gen | {"from": name, "to": "d1"} for n, name in enumerate(names)}
    traffic["back"] = gen | {"from": "d1", "to": "h0", "rate": LINK // 3}
    return {
        "name": "rack",
        "duration": 3 * MS,
        "sample_interval": 100 * US,
        "nodes": nodes,
        "links": {n: {"ends": [n, "rack"], "rate": LINK} for n in [*names, "d0", "d1"]},
        "traffic": traffic,
    }


def calm(assembly: Assembly) -> int:
    """How many inputs of a world are calm."""
    return int(assembly.world.queues["calm"].sum())


def test_no_event_for_what_is_inside_while_there_is_room() -> None:
    table = rack(4, {"speedup": "8/5", "crossbar_latency": US}, buffer=60_000)
    for entry in table["traffic"].values():
        entry["rate"] = LINK // 12
    pair = both(table)
    assert sorted(late(pair[0])) == [f"rack.{n}" for n in ("d0", "d1", "h0", "h1", "h2", "h3")]
    frames = pair[0].world.flows["frames_received"].sum()
    assert frames > 150
    assert calm(pair[0]) == 6
    # the end of the transfer, that it is there and, where the port is busy, that it leaves
    assert saved(pair) > 2 * frames


@pytest.mark.parametrize("crossbar_latency", [0, US, 12 * US])
@pytest.mark.parametrize("buffer", [1_500, 4_500, 30_000])
@pytest.mark.parametrize("speedup", ["1", "2"])
def test_grants_are_refused_and_given_again(
    speedup: str, buffer: int, crossbar_latency: int
) -> None:
    """Everything takes the time of a frame: ends, arrivals and starts fall together each time."""
    inputs = {"speedup": speedup, "crossbar_latency": crossbar_latency, "buffer": 20_000}
    table = rack(3, inputs, buffer=buffer)
    for entry in table["traffic"].values():
        entry["rate"] = LINK // 2
    for name in ("h0", "h1", "h2", "d1"):
        table["nodes"][name] = {"kind": "nic"}
    pair = both(table, steps=25)
    assert late(pair[0])
    assert pair[0].world.queues["frames_dropped"].sum() > 20
    assert pair[0].world.flows["frames_received"].sum() > 300


@pytest.mark.parametrize("sampling", ["arrival", "departure", "occupancy-random", "occupancy-max"])
def test_an_input_that_pauses_feels_each_end_of_a_transfer(sampling: str) -> None:
    point = SAMPLING | {"sampling": sampling, "keep_alive": sampling.startswith("occ")}
    inputs = {"congestion_point": point, "pause": PAUSE, "buffer": 30_000, "speedup": "8/5"}
    pair = both(rack(3, inputs, buffer=6_000), steps=25)
    assert calm(pair[0]) == (0 if sampling == "departure" else 5)
    assert pair[0].world.queues["pause_sent"].sum() > 10
    assert pair[0].world.queues["feedback_sent"].sum() > 5
    assert saved(pair) > 100


def test_what_the_timeline_does_finds_the_switch_as_it_is() -> None:
    inputs = {"crossbar_latency": 3 * US, "pause": PAUSE, "buffer": 40_000}
    table = rack(3, inputs, buffer=6_000)
    values = [("nodes.rack.buffer", 30_000), ("nodes.rack.buffer", 3_000)]
    values += [("nodes.rack.inputs.buffer", 15_000), ("nodes.rack.buffer", 60_000)]
    values += [("nodes.rack.ports.d0.service_rate", 3 * 10**8), ("nodes.rack.buffer", 1_000)]
    values += [("nodes.rack.inputs.buffer", 3_000), ("nodes.rack.buffer", 9_000)]
    values += [("nodes.rack.inputs.pause.low", 2_000)]
    table["nodes"]["rack"]["ports"] = {"d0": {"service_rate": LINK}}
    table["timeline"] = [
        {"at": 300 * US * n + n % 3 * 7 * US + n % 2, "set": key, "to": value}
        for n, (key, value) in enumerate(values, 1)
    ]
    for at, verb, of in ((700, "pause", "rack.d0"), (950, "resume", "rack.d0")):
        table["timeline"].append({"at": at * US, verb: of})
    for at, verb in ((1300, "cut"), (1500, "mend"), (1700, "stop"), (1800, "start")):
        table["timeline"].append({"at": at * US, verb: "h1" if verb in ("cut", "mend") else "t0"})
    pair = both(table, steps=29)
    assert "rack.d0" in late(pair[0])
    assert pair[0].world.queues["frames_dropped"].sum() > 3
    assert saved(pair) > 300


def drawn(draw: random.Random) -> Table:
    """A plan drawn at random."""
    inputs: Table = {
        "speedup": draw.choice(["1", "8/5", "2", "3"]),
        "crossbar_latency": draw.choice([0, 12 * US, US, 50 * US, 1_234_567]),
        "buffer": draw.choice([6_000, 20_000, 60_000]),
        "hold_until_departure": draw.random() < 0.1,
    }
    if draw.random() < 0.6:
        inputs["pause"] = {"plugin": draw.choice(["pause", "pfc"]), "quanta": 200}
        inputs["pause"] |= draw.choice([{"high": 9_000, "low": 3_000}, {"high": 3_000, "low": 64}])
    if draw.random() < 0.6:
        sampling = draw.choice(["arrival", "departure", "occupancy-random", "occupancy-max"])
        inputs["congestion_point"] = SAMPLING | {"sampling": sampling}
        if "pause" in inputs and sampling.startswith("occ"):
            inputs["congestion_point"]["keep_alive"] = draw.random() < 0.7
    table = rack(draw.randint(1, 5), inputs, buffer=draw.choice([1_500, 3_000, 9_000, 60_000]))
    table |= {"seed": draw.randint(1, 99), "duration": 1500 * US}
    table["sample_interval"] = draw.choice([100 * US, 96 * US, 1_000_003, 700 * US])
    if draw.random() < 0.3:
        del table["nodes"]["d1"]["reaction_point"]
    if draw.random() < 0.2:
        table["nodes"]["rack"]["ports"] = {"d0": {"congestion_point": dict(SAMPLING)}}
    for link in table["links"].values():
        link["delay"] = draw.choice([0, 12 * US, 5 * US])
        link["rate"] = draw.choice([LINK, LINK, LINK // 2, 2 * LINK])
    slow = draw.random() < 0.5
    for entry in table["traffic"].values():
        entry["frame"] = draw.choice([1500, 1500, 750, 100])
        entry["rate"] = LINK // draw.choice([20, 10] if slow else [1, 2, 4, 10])
    if draw.random() < 0.4:
        port = {"pause": "rack.d0"}, {"resume": "rack.d0"}
        table["timeline"] = [{"at": draw.randrange(MS)} | port[0]]
        table["timeline"].append({"at": MS + draw.randrange(300 * US)} | port[1])
    for _ in range(draw.choice([0, 0, 3])):
        keys = ["nodes.rack.buffer", "nodes.rack.inputs.buffer"]
        key = draw.choice(keys[inputs["hold_until_departure"] :])
        to = draw.choice([1_500, 4_000, 30_000, 60_000])
        at = draw.choice([draw.randrange(MS), draw.randrange(80) * 12 * US])
        table.setdefault("timeline", []).append({"at": at, "set": key, "to": to})
    return table


@pytest.mark.parametrize("seed", range(4))
def test_plans_drawn_at_random(seed: int) -> None:
    draw = random.Random(seed)
    seen: Counter[str] = Counter()
    for number in range(20):
        pair = both(drawn(draw), 11, nics=number % 2 == 1, but=COUNTED)
        queues = pair[0].world.queues
        seen["late"] += bool(late(pair[0]))
        seen["saved"] += saved(pair)
        for name in ("frames_dropped", "pause_sent", "feedback_sent"):
            seen[name] += int(queues[name].sum())
    assert seen["late"] > 12
    assert seen["saved"] > 3000
    assert min(seen[name] for name in ("frames_dropped", "pause_sent", "feedback_sent")) > 30


def test_a_timer_of_an_input_finds_it_as_it_is() -> None:
    """FECN looks at the length of the buffer at the end of each interval, between two transfers."""
    point = {"plugin": "fecn-cp", "interval": "93us", "expected_flows": 2, "set_point": 3_000}
    inputs = {"buffer": 40_000, "speedup": "1", "congestion_point": point}
    table = rack(3, inputs, buffer=60_000)
    for name in ("h0", "h1", "h2", "d1"):
        table["nodes"][name] = {"kind": "nic"}
    pair = both(table, steps=23)
    assert calm(pair[0]) == 5
    assert saved(pair) > 300


def test_two_switches_and_a_group() -> None:
    """Behind one of two switches ports are late; where a frame goes to a group nothing is."""
    table = rack(2, {"buffer": 20_000, "crossbar_latency": 2 * US}, buffer=4_500)
    table["nodes"]["edge"] = {"kind": "switch", "buffer": 6_000, "inputs": {"buffer": 9_000}}
    table["links"]["d0"]["ends"] = ["d0", "edge"]
    table["links"]["d1"]["ends"] = ["d1", "edge"]
    table["links"]["between"] = {"ends": ["rack", "edge"], "rate": LINK, "delay": 3 * US}
    pair = both(table, steps=21)
    assert sorted(late(pair[0])) == ["edge.d0", "edge.d1", "rack.h0", "rack.h1"]
    assert calm(pair[0]) == 6
    assert saved(pair) > 300
    table["groups"] = {"all": ["d0", "d1"]}
    table["traffic"]["t0"]["to"] = "all"
    pair = both(table)
    assert (late(pair[0]), calm(pair[0])) == ([], 0)


@pytest.mark.parametrize("key", ["congestion_point.sampling", "pause.high"])
def test_a_change_while_it_runs_has_input_and_port_in_time(key: str) -> None:
    """A congestion point that begins to listen to what leaves its input; marks of a PAUSE."""
    to = {"congestion_point.sampling": "departure", "pause.high": 30_000}[key]
    inputs = {"congestion_point": SAMPLING, "pause": PAUSE, "buffer": 40_000, "speedup": "2"}
    at = MS + 5 * US
    table = rack(3, inputs, buffer=4_500)
    table["timeline"] = [{"at": at, "set": f"nodes.rack.inputs.{key}", "to": to}]
    changed = Plan(**table).check(Registry.load())
    plan = Plan(**rack(3, inputs, buffer=4_500)).check(Registry.load())
    one, other = assemble(plan, spare=16), prompt(table)
    run_until(one, at)
    commands = commands_for(one, set(plan.plan.nodes), changed.actions[0])
    assert sum(command.action == DISABLE_LAZINESS for command in commands) == 5
    assert insert(one.world, at, commands)
    assert calm(one) == 5
    for assembly in (one, other):
        for until in (at + 1, 2 * MS, 3 * MS + 1):
            run_until(assembly, until)
            audit(assembly.world)
    same(one, other)
    assert calm(one) == 0
    assert set(one.world.ports["late"].tolist()) == {0, LAZINESS_DISABLED}


def test_a_late_port_behind_inputs_that_hurries_wakes_for_each_frame() -> None:
    """Also for one that leaves the moment that it comes, of whose input nobody else wants more."""
    table = rack(2, {"crossbar_latency": 20 * US}, buffer=60_000)
    for entry in table["traffic"].values():
        entry["rate"] = LINK // 30
    table["links"]["d0"]["ends"] = ["rack", "d0"]
    to = [{"at": MS, "set": "links.d0.delay", "to": "30us"}]
    changed = Plan(**(table | {"timeline": to})).check(Registry.load())
    plan = Plan(**table).check(Registry.load())
    one, other = assemble(plan, spare=16), prompt(table | {"timeline": to})
    assert insert(one.world, MS, commands_for(one, set(plan.plan.nodes), changed.actions[0]))
    port = one.indices.port_rows["rack.d0"]
    for step in range(1, 301):
        for assembly in (one, other):
            run_until(assembly, step * 10 * US + 1)
            audit(assembly.world)
        queues = [assembly.world.queues for assembly in (one, other)]
        for field in ("frames_in", "frames_out", "bytes", "reserved", "bytes_max"):
            assert queues[0][field].tolist() == queues[1][field].tolist()
        kept = LAZINESS_DISABLED if step * 10 * US >= MS else LAZY_BEHIND_INPUTS
        assert one.world.ports["late"][port] == kept
    same(one, other)


def test_the_pool_is_as_full_as_it_would_be() -> None:
    """What waits to be looked at takes no more descriptors than what is there may take."""
    table = rack(4, {"buffer": 6_000, "crossbar_latency": 30 * US}, buffer=6_000)
    pair = both(table)
    assert [int(each.world.clock[0].no_descriptor) for each in pair] == [0, 0]
    assert unused_descriptors(assembled(table).world) == pair[0].world.frames.size - 1
