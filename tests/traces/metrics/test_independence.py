"""No metric depends on how often samples are taken, on what is captured or on the tables' order."""

from __future__ import annotations

from math import isclose
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st

from orchestrator.assembly import assemble, record
from orchestrator.engine.node.event_loop import simulate
from orchestrator.errors import TailbackError
from orchestrator.fuzz.invariant_check import MOST_EVENTS, InvalidPlan, check_plan
from orchestrator.fuzz.plan_strategies import PlanDrawer, schemes_of
from orchestrator.plan import Plan
from orchestrator.plan.metric_registry import COUNTER, DEFINITIONS, HISTOGRAM, MESSAGES, RUN
from orchestrator.registry import Registry
from tests.orchestrator.random_plans import plans
from tests.orchestrator.worlds import ALIGNED, US, Table, run_until
from traces.metrics.compute_metrics import compute

OVER_TIME = {"sent_bps.sd", "recovery_s"} | {
    name
    for name in DEFINITIONS["entry"]
    if name.startswith(("fairness.window", "fairness.settling"))
}
"""Their definition is one of a curve that is looked at once in a sampling interval."""
EXACT = {
    name
    for kind in DEFINITIONS.values()
    for name, definition in kind.items()
    if definition.basis in (COUNTER, HISTOGRAM, MESSAGES, RUN)
} - OVER_TIME
"""Metrics that are no statistics of samples."""
PHASES = {"early": {"from": 0, "to": 333 * US}, "late": {"from": 333 * US, "to": 871 * US}}
INTERVALS = (10, 37, 250, 900)

Found = dict[tuple[str, str, str], Any]


def metrics(table: Table, only: set[str] | None = None) -> Found:
    """The metrics of a simulated run by phase, entity and name: all, or those of some names."""
    assembly = assemble(Plan(**table).check(Registry.load()))
    plan = assembly.resolved.plan
    run_until(assembly, plan.duration + 1)
    found = record("simulated", [(assembly, list(plan.nodes))], cpu_s=0.0, wall_s=0.0)
    by_phase, _ = compute(found, {name: (one.from_, one.to) for name, one in plan.phases.items()})
    return {
        (phase, entity, name): value
        for phase, entities in by_phase.items()
        for entity, values in entities.items()
        for name, value in values.items()
        if only is None or name in only
    }


def differing(found: Found, other: Found) -> dict[tuple[str, str, str], tuple[Any, Any]]:
    """Where two runs differ by more than a sum's rounding."""
    assert found.keys() == other.keys()
    return {
        key: (value, other[key])
        for key, value in found.items()
        if value != other[key]
        and (None in (value, other[key]) or not isclose(value, other[key], rel_tol=1e-12))
    }


def captured(table: Table) -> Table:
    """The same plan, all its ports captured but those of parallel links."""
    ends = [tuple(sorted(link["ends"])) for link in table["links"].values()]
    single = [f"{a}.{b}" for one in ends if ends.count(one) == 1 for a, b in (one, one[::-1])]
    return table | {"capture": {"ports": single, "frames": 10_000}}


TABLES = ("nodes", "links", "traffic", "groups", "phases")


def turned(table: Table) -> Table:
    """The same plan, its tables in the opposite order."""
    return table | {key: dict(reversed(table[key].items())) for key in TABLES if key in table}


def shuffled(table: Table, draw: Random) -> Table:
    """The same plan, its tables and those of the ports of its nodes in any order."""

    def in_any_order(entries: Table) -> Table:
        return {name: entries[name] for name in draw.sample(list(entries), len(entries))}

    made = table | {key: in_any_order(table[key]) for key in TABLES if key in table}
    for name, node in made["nodes"].items():
        if "ports" in node:
            made["nodes"][name] = node | {"ports": in_any_order(node["ports"])}
    return made


def held_sink(**changes: Any) -> Table:
    """A sink's only port is held again and again by a neighbour whose other queue is full."""
    hosts = ("h1", "h2")
    pause = {"plugin": "pfc", "high": 20_000, "low": 8_000, "quanta": 40}
    return (
        {
            "name": "held-sink",
            "duration": 2000 * US,
            "sample_interval": 100 * US,
            "nodes": {host: {"kind": "nic"} for host in hosts}
            | {"y": {"kind": "sink"}, "s": {"kind": "switch", "ports": {"z": {"pause": pause}}}}
            | {"z": {"kind": "sink"}},
            "links": {f"l{h}": {"ends": [h, "s"], "rate": 10**9} for h in hosts}
            | {"d": {"ends": ["s", "z"], "rate": 10**9}}
            | {"e": {"ends": ["s", "y"], "rate": 10**9, "delay": 3 * US}},
            "traffic": {
                f"c{h}": {"plugin": "cbr", "from": h, "to": "z", "rate": 600_000_000} for h in hosts
            },
        }
        | ALIGNED
        | changes
    )


HELD = {"pause.time_s": 722.12e-6, "pause.longest_s": 131.52e-6}
"""Of the sink's port in `held_sink`: eleven holds, renewed every half of 40 quanta at 1 Gb/s."""


@pytest.mark.parametrize("interval", [1, 10, 37, 100, 500, 2000])
@pytest.mark.parametrize("change", [dict, captured, turned])
def test_the_time_that_a_sink_is_held(interval: int, change: Any) -> None:
    found = metrics(change(held_sink(sample_interval=interval * US)), {*HELD})
    assert {name: found["run", "y>s", name] for name in HELD} == pytest.approx(HELD, rel=1e-12)


@st.composite
def shared_memories(draw: st.DrawFn) -> Table:
    """A drawn plan, the ports of its switches with inputs share their memory."""
    table = draw(plans())
    for node in table["nodes"].values():
        inputs = node.get("inputs", {})
        if inputs and inputs.get("pause", {}).get("plugin") != "credit-flow-control":
            inputs["shared_memory"] = draw(st.integers(1_500, 60_000))
    return table


DRAWN = st.one_of(plans(), shared_memories())


@settings(max_examples=60, deadline=None)
@given(table=DRAWN, interval=st.sampled_from(INTERVALS))
def test_no_count_depends_on_how_often_samples_are_taken(table: Table, interval: int) -> None:
    table["phases"] = PHASES
    other = table | {"sample_interval": interval * US}
    assert not differing(metrics(other, EXACT), metrics(table, EXACT))


@settings(max_examples=40, deadline=None)
@given(table=DRAWN)
def test_no_metric_depends_on_what_is_captured(table: Table) -> None:
    assert not differing(metrics(captured(table)), metrics(table))


HUNTED = PlanDrawer(
    Registry.load().algorithms, schemes=schemes_of(Registry.load().plans().values())
).plans
"""Plans with all that is installed; not all of them are valid."""


def with_phases(table: Table) -> Table:
    """The same plan with two phases that fit into it."""
    first, second = table["duration"] // 3, table["duration"] * 7 // 8
    return table | {"phases": {"b": {"from": first, "to": second}, "a": {"from": 0, "to": first}}}


def hunted_metrics(table: Table, only: set[str] | None = None) -> Found:
    """`metrics` of a plan that is valid and small; another one is given up."""
    try:
        assembly = assemble(check_plan(table))
        assume(int(simulate(assembly.world, table["duration"] + 1, MOST_EVENTS)) < MOST_EVENTS)
        return metrics(table, only)
    except (InvalidPlan, TailbackError):
        assume(False)
        raise


def check_independence(table: Table, draw: Random) -> None:
    """Run a plan with its tables in three orders, captured, sampled otherwise and without phases:
    every metric is the same."""
    table = with_phases(table)
    found = hunted_metrics(table)
    for other in (turned(table), *(shuffled(table, draw) for _ in range(2)), captured(table)):
        assert not differing(metrics(other), found)
    other = shuffled(table, draw) | {"sample_interval": draw.choice(INTERVALS) * US}
    exact = {key: value for key, value in found.items() if key[2] in EXACT}
    assert not differing(metrics(other, EXACT), exact)
    whole = {key: value for key, value in found.items() if key[0] == "run"}
    assert not differing(metrics(table | {"phases": {}}), whole)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(table=st.one_of(DRAWN, HUNTED), number=st.integers(0, 99))
def test_no_metric_depends_on_the_order_of_tables(table: Table, number: int) -> None:
    check_independence(table, Random(number))


@pytest.mark.parametrize("name", ["ack-priority", "cnp-class"])
def test_metrics_of_shipped_plans_with_their_tables_turned(name: str) -> None:
    """Flows that take turns at a NIC, and draws for a place in a full queue."""
    registry = Registry.load()
    table = Plan.load(registry.plans()[name], registry).to_table()
    assert not differing(metrics(turned(table)), metrics(table))


@pytest.mark.parametrize("interval", [1, 70, 900])
def test_frames_that_overtake_on_the_way_to_a_sink(interval: int) -> None:
    """Frames of a flow that come by a slow link and a fast one are counted as they come."""
    table = {
        "name": "two-ways",
        "duration": 1000 * US,
        "sample_interval": interval * US,
        "nodes": {
            "h": {"kind": "nic"},
            "s": {"kind": "switch", "spread": "frames"},
            "d": {"kind": "sink"},
        },
        "links": {
            "up": {"ends": ["h", "s"], "rate": 10**8},
            "slow": {"ends": ["s", "d"], "rate": 10**8, "delay": 40 * US},
            "fast": {"ends": ["s", "d"], "rate": 10**9},
        },
        "traffic": {"t": {"plugin": "cbr", "from": "h", "to": "d", "frame": 100, "rate": 10**8}},
    } | ALIGNED
    captures = {"capture": {"ports": ["d.slow", "d.fast"], "frames": 1000}}
    found = metrics(table, {"frames.reordered"})
    assert found == metrics(table | captures, {"frames.reordered"})
    assert found["run", "t", "frames.reordered"] > 20


@pytest.mark.trials
@pytest.mark.parametrize("first", range(8))
def test_no_metric_of_many_drawn_plans_depends_on_the_order_of_tables(first: int) -> None:
    tried = []

    @seed(first)
    @settings(
        max_examples=100,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(table=st.one_of(DRAWN, HUNTED), number=st.integers(0, 99))
    def check(table: Table, number: int) -> None:
        check_independence(table, Random(number))
        tried.append(number)

    check()
    assert len(tried) >= 100
