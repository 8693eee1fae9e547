"""No metric depends on how often samples are taken, on what is captured or on the tables' order."""

from __future__ import annotations

from math import isclose
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.assembly import assemble, record
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


def turned(table: Table) -> Table:
    """The same plan, its nodes and links in the opposite order."""
    turned = {key: dict(reversed(table[key].items())) for key in ("nodes", "links")}
    return table | turned


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
