"""Clocks of NICs, phases of sources, what finds room at a full queue: equal flows get equal shares.

Jain's indices are those of 20 seeds, each by itself, of n equal flows into one drop-tail port.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.assembly import Assembly, assemble
from orchestrator.engine.lfsr import drawn_below, mixed
from orchestrator.engine.node.event_loop import simulate
from orchestrator.engine.node.transmitter import by_clock, wire_time
from orchestrator.engine.records import NEVER, NONE
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.orchestrator.worlds import ALIGNED, MOST_EVENTS, MS, US, Table, assembled, run_until

G = 10**9
SEEDS = range(1, 21)
FAIR = 0.9
SELECTIVE, GO_BACK_N = {"plugin": "selective"}, {"plugin": "go-back-n"}
INCAST = {"plugin": "incast", "size": 1_000_000, "interval": 1000 * MS}
FAST: Table = {"rate": 10 * G, "delay": US, "duration": 20 * MS}
SLOW: Table = {"rate": G, "delay": 50 * US, "duration": 1000 * MS}
MARKS = {"plugin": "red", "low": 97_499, "high": 97_500, "max_probability": 1}
KINDS: dict[str, Table] = {
    "bulk": FAST | {"traffic": {"plugin": "bulk"}},
    "cbr-at-0.6": FAST | {"traffic": {"plugin": "cbr", "rate": 6 * G}},
    "cbr-at-1": FAST | {"traffic": {"plugin": "cbr", "rate": 10 * G}},
    "bernoulli": FAST | {"traffic": {"plugin": "bernoulli", "rate": 8 * G, "peak": 10 * G}},
    "go-back-n": FAST | {"traffic": {"plugin": "bulk", "transport": GO_BACK_N}},
    "selective": FAST | {"traffic": {"plugin": "bulk", "transport": SELECTIVE}},
    "incast-selective": FAST | {"traffic": INCAST | {"transport": SELECTIVE}},
    "incast-go-back-n": FAST | {"traffic": INCAST | {"transport": GO_BACK_N}},
    "tcp": SLOW
    | {"duration": 5000 * MS, "traffic": {"plugin": "bulk", "transport": {"plugin": "tcp"}}},
    "newreno": SLOW
    | {"traffic": {"plugin": "bulk", "transport": SELECTIVE}, "nic": {"plugin": "newreno"}},
    "cubic": SLOW
    | {"traffic": {"plugin": "bulk", "transport": SELECTIVE}, "nic": {"plugin": "cubic"}},
    "dctcp": FAST
    | {"duration": 50 * MS, "buffer": 1_000_000, "marks": MARKS, "nic": {"plugin": "dctcp"}}
    | {"traffic": {"plugin": "bulk", "transport": GO_BACK_N}},
}
LIMITER = {"depth": 30_000, "period": US}


def fan_in(count: int, kind: Table, **more: Any) -> Table:
    """So many NICs with a flow each, a switch of 150 KB, a sink, all links alike."""
    nic: Table = {"kind": "nic"}
    if "nic" in kind:
        nic |= {"reaction_point": kind["nic"], "limiter": LIMITER}
    switch: Table = {"kind": "switch", "buffer": kind.get("buffer", 150_000)}
    if "marks" in kind:
        switch["congestion_point"] = kind["marks"]
    names = [f"h{number}" for number in range(count)]
    link = {"rate": kind["rate"], "delay": kind["delay"]}
    return {
        "name": "fan-in",
        "duration": kind["duration"],
        "sample_interval": kind["duration"],
        "nodes": dict.fromkeys(names, nic) | {"s": switch, "d": {"kind": "sink"}},
        "links": {f"to-{name}": {"ends": [name, "s"], **link} for name in names}
        | {"down": {"ends": ["s", "d"], "rate": kind["rate"], "delay": US}},
        "traffic": {"q": {"from": names, "to": "d", "frame": 1500} | kind["traffic"]},
    } | more


def received(table: Table) -> list[int]:
    """Octets that each flow delivered."""
    assembly = assembled(table)
    run_until(assembly, table["duration"] + 1)
    return [int(octets) for octets in assembly.world.flows["bytes_received"]]


def jain(values: list[int]) -> float:
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


@pytest.mark.parametrize("count", [2, 3, 4, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_flows_get_equal_shares(kind: str, count: int) -> None:
    found = [jain(received(fan_in(count, KINDS[kind], seed=seed))) for seed in SEEDS]
    assert min(found) >= FAIR, found


@pytest.mark.parametrize("kind", ["bulk", "newreno", "cubic", "tcp"])
def test_aligned_sources_on_equal_clocks_lock_each_other_out(kind: str) -> None:
    """What the three mechanisms are there for; without them it has to be there."""
    short = KINDS[kind] | {"duration": min(KINDS[kind]["duration"], 1000 * MS)}
    assert jain(received(fan_in(2, short, **ALIGNED))) < 0.6


OPEN = {"buffer": 150_000, "shared_memory": 150_000}
NARROW = {"buffer": 40_000, "shared_memory": 150_000}
THRESHOLD = {"plugin": "dynamic-threshold"}
MEMORIES: dict[str, Table] = {
    "static": {"inputs": OPEN},
    "narrow-inputs": {"inputs": NARROW},
    "threshold-of-outputs": {"inputs": OPEN, "buffer_management": THRESHOLD},
    "threshold-of-inputs": {"inputs": OPEN | {"buffer_management": THRESHOLD}},
}


def in_shared_memory(count: int, kind: str, memory: str, **more: Any) -> Table:
    """`fan_in` with a switch whose ports share its memory."""
    table = fan_in(count, KINDS[kind], **more)
    table["nodes"]["s"] |= MEMORIES[memory]
    return table


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize(("kind", "count"), [("bulk", 5), ("cbr-at-1", 6), ("newreno", 2)])
def test_equal_flows_get_equal_shares_of_a_shared_memory(
    kind: str, count: int, memory: str
) -> None:
    found = [jain(received(in_shared_memory(count, kind, memory, seed=seed))) for seed in SEEDS]
    assert min(found) >= FAIR, found


def test_shared_memory_counts_every_frame_once_and_locks_out_where_it_is_aligned() -> None:
    for memory in MEMORIES:
        world = assembled(in_shared_memory(5, "bulk", memory)).world
        simulate(world, 20 * MS, MOST_EVENTS)
        buffered = world.queues["bytes"]
        is_input = world.queues["input"] != NONE
        assert world.nodes["shared_bytes"].sum() == buffered[is_input].sum()
        assert buffered[is_input].sum() == buffered[~is_input].sum() > 0
        kept = world.queues["frames_in"] - world.queues["frames_dropped"]
        assert (kept - world.queues["frames_out"] == world.queues["frames"]).all()
    aligned = in_shared_memory(2, "bulk", "static", **ALIGNED)
    assert jain(received(aligned)) < 0.6


@pytest.mark.parametrize("delay", [900_000, 1_300_000, 1_700_000])
def test_nor_does_a_nearer_one_get_all(delay: int) -> None:
    table = fan_in(2, KINDS["bulk"])
    table["links"]["to-h1"]["delay"] = delay
    for seed in SEEDS:
        assert jain(received(table | {"seed": seed})) > 0.99


def clocks(assembly: Assembly) -> dict[str, int]:
    """Port of a NIC -> how slow its clock is, in 2^-30."""
    rows = assembly.indices.port_rows.items()
    return {name: int(assembly.world.ports[row].drift) for name, row in rows}


def test_a_clock_is_drawn_by_the_name_of_its_nic_and_within_what_the_plan_says() -> None:
    most, seen = (100 << 30) // 10**6, []
    for seed in range(1, 201):
        found = clocks(assembled(fan_in(2, KINDS["bulk"], seed=seed)))
        more = clocks(assembled(fan_in(3, KINDS["bulk"], seed=seed)))
        assert {name: more[name] for name in found} == found
        assert found["s.d"] == found["s.h0"] == found["d.s"] == 0
        seen.append((found["h0.s"], found["h1.s"]))
    values = np.array(seen)
    assert values.min() >= 0
    assert values.max() <= most
    assert np.abs(values.mean(axis=0) / most - 0.5).max() < 0.1  # 0.02 is one standard deviation
    assert abs(np.corrcoef(values.T)[0, 1]) < 0.25  # 0.07


def test_a_nic_sends_and_its_source_counts_by_its_clock() -> None:
    """A source of 1 Gb/s on 1 Gb/s for 1 s: as much less as its clock is slow."""
    kind = SLOW | {"traffic": {"plugin": "cbr", "rate": G}, "duration": 200 * MS}
    table = fan_in(1, kind, clock_ppm=1000, phase="aligned")
    assembly = assembled(table)
    run_until(assembly, table["duration"] + 1)
    drift = clocks(assembly)["h0.s"]
    assert drift > 0
    sent = int(assembly.world.flows[0].frames_sent)
    assert sent == 1 + table["duration"] // by_clock(int(wire_time(1500, G)), drift)


def test_a_slow_clock_takes_so_much_longer() -> None:
    assert by_clock(10**9, 0) == 10**9
    ppm = (1 << 30) // 10**6
    assert by_clock(10**9, 100 * ppm) == 10**9 + 10**9 * 100 * ppm // (1 << 30)
    assert abs(by_clock(3600 * 10**12, 100 * ppm) / 3600e12 - 1.0001) < 1e-7
    assert by_clock(NEVER, 1000 * ppm) == NEVER
    assert by_clock(NEVER - 10**15, 1000 * ppm) == NEVER - 10**15


def test_sources_begin_within_a_frame_or_an_interval_each_at_its_own_phase() -> None:
    kind = FAST | {"traffic": {"plugin": "cbr", "rate": G}}
    phases = assembled(fan_in(8, kind)).world.flows["phase"]
    assert phases.min() >= 0
    assert phases.max() < 1500 * 8 * 1000
    assert len(set(phases.tolist())) == 8
    starts = assembled(fan_in(8, KINDS["bulk"])).world.messages["start"]
    assert starts.min() >= 0
    assert starts.max() < 1500 * 8 * 100
    assert len(set(starts.tolist())) == 8
    assert not assembled(fan_in(8, kind, **ALIGNED)).world.flows["phase"].any()
    assert not assembled(fan_in(8, KINDS["bulk"], **ALIGNED)).world.messages["start"].any()


def test_what_is_drawn_has_nothing_to_do_with_what_other_names_draw() -> None:
    """CRC-32 alone would: two names differ by the same in every seed."""
    apart = {drawn_below(s, "a/x", 1 << 32) ^ drawn_below(s, "b/x", 1 << 32) for s in range(100)}
    assert len(apart) == 100
    draws = np.array([mixed(7, flow, number) for flow in range(20) for number in range(200)])
    for among in (2, 3, 8):
        counts = np.bincount(draws % among, minlength=among)
        expected = len(draws) / among
        assert ((counts - expected) ** 2 / expected).sum() < 30  # chi^2, 7 degrees: 29.9 is 0.0001


def test_the_queue_of_a_device_and_of_gateware_draws_nothing() -> None:
    table = fan_in(2, KINDS["cbr-at-1"])
    keys = assembled(table).world.queues["order_key"]
    assert keys.any()
    plan = Plan(**(table | {"target": "gateware"})).check(Registry.load())
    assert not assemble(plan).world.queues["order_key"].any()
