"""On any number of cores a run gives what it gives on one, to the byte."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.assembly import record
from orchestrator.errors import RunFailed
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.targets.parallel.parallel_run import ParallelRun
from orchestrator.targets.parallel.partitioning import split
from orchestrator.targets.simulated import Simulated
from tests.orchestrator.random_plans import plans
from tests.orchestrator.worlds import Table

CALM = [HealthCheck.too_slow, HealthCheck.data_too_large]
SHIPPED = [
    ("netfpga-fig11", "20ms", 3),
    ("hpcc-incast", "1ms", 2),
    ("multicast-outputs", "1ms", 2),
    *(
        pytest.param(*row, marks=pytest.mark.slow)
        for row in (
            ("ibm-fig6-outputs-reliable", "1ms", 2),
            ("p4qcn-fig13-tcp", "100ms", 3),
            ("all-reduce", "30ms", 3),
            ("pathology-pfc-watchdog", "20ms", 2),
        )
    ),
]
"""Schemes of every kind, for how long, on how many cores."""


def whole(resolved: ResolvedPlan) -> Recording:
    """What one core measures."""
    return Simulated().run(resolved, lambda _: None)


def in_parts(resolved: ResolvedPlan, nodes: Sequence[Sequence[str]]) -> Recording:
    """What as many cores measure as there are lists of nodes."""
    several = ParallelRun(resolved, nodes)
    several.run(lambda _: None)
    shares = list(zip(several.assemblies, several.nodes, strict=True))
    return record("simulated", shares, cpu_s=0.0, wall_s=0.0)


def assert_equal(one: Recording, other: Recording) -> None:
    """Every sample, every histogram, every captured frame, every message."""
    assert one.columns == other.columns
    assert np.array_equal(one.times_ps, other.times_ps)
    rows, columns = np.nonzero(one.values != other.values)
    if len(rows):
        column = one.columns[columns[0]]
        raise AssertionError(f"{column} differs first at {one.times_ps[rows[0]]} ps")
    assert one.vanished == other.vanished == 0
    for entry, counts in one.latency.items():
        assert np.array_equal(counts, other.latency[entry]), entry
    for mine, its in zip(
        sorted(one.captures, key=str), sorted(other.captures, key=str), strict=True
    ):
        assert (mine.node, mine.port, mine.dropped) == (its.node, its.port, its.dropped)
        for name in ("times_ps", "outgoing", "lengths", "octets"):
            assert np.array_equal(getattr(mine, name), getattr(its, name)), (mine.port, name)
    assert (one.messages is None) == (other.messages is None)
    if one.messages is not None and other.messages is not None:
        for name in ("flow", "start_ps", "size", "done_ps", "ideal_ps", "round", "step"):
            mine, its = getattr(one.messages, name), getattr(other.messages, name)
            assert np.array_equal(mine, its), name


def resolved_from(table: Table) -> ResolvedPlan:
    return Plan(**table).check(Registry.load())


@settings(max_examples=12, suppress_health_check=CALM)
@given(table=plans(), cores=st.integers(2, 4))
def test_random_plans(table: Table, cores: int) -> None:
    resolved = resolved_from(table)
    assert_equal(whole(resolved), in_parts(resolved, split(resolved, cores)))


@pytest.mark.parametrize(("name", "duration", "cores"), SHIPPED)
def test_shipped_plans(name: str, duration: str, cores: int) -> None:
    text = Registry.load().plans()[name]
    given = {"duration": duration, "expect": [], "phases": {}, "timeline": []}
    table = Plan.load(text).to_table()
    plan = Plan(**(table | given | {"figure": [], "mutant": []}))
    resolved = plan.check(Registry.load())
    cut = split(resolved, cores)
    assert 1 < len(cut) <= cores
    assert_equal(whole(resolved), in_parts(resolved, cut))


RACK = """
name = "rack"
duration = "2ms"
sample_interval = "100us"

[nodes."h{1..6}"]
kind = "nic"
reaction_points = 2
reaction_point = { plugin = "qcn-rp", preset = "ibm-100g" }
limiter = { depth = "3KB", period = "1us" }
host_queues = "shared"

[nodes.rack]
kind = "switch"
buffer = "9KB"

[nodes.rack.inputs]
buffer = "30KB"
crossbar_latency = "1us"
congestion_point = { plugin = "qcn-cp", set_point = "6KB", sample_base = "9KB" }
pause = { plugin = "pause", high = "12KB", low = "5KB" }

[links."l{1..6}"]
ends = ["h{}", "rack"]
rate = "10Gb/s"
delay = "500ns"

[traffic.ring]
plugin = "cbr"
from = "h{1..6}"
to = ["h2", "h3", "h4", "h5", "h6", "h1"]
rate = "4Gb/s"

[traffic.hot]
plugin = "cbr"
from = "h{2..6}"
to = "h1"
rate = "3Gb/s"
start = "500us"
"""


@pytest.mark.parametrize("hosts", ["1", "456", "123456"])
def test_what_is_late_in_a_part_of_a_run(hosts: str) -> None:
    """Hosts beside their switch need no events of their own, nor what leaves for them; others and
    what leaves for those do. Inputs are calm whoever sends to them."""
    resolved = Plan.load(RACK).check(Registry.load())
    apart = [f"h{number}" for number in hosts]
    near = [name for name in resolved.plan.nodes if name not in apart]
    several = ParallelRun(resolved, [near, apart])
    here, there = several.assemblies
    ports = here.indices.port_rows
    late = {name for name, row in ports.items() if here.world.ports[row].late}
    nics = {name for name, row in ports.items() if here.world.ports[row].entries}
    beside = [name for name in near if name != "rack"]
    assert late == {f"rack.{name}" for name in beside}
    assert nics == {f"{name}.rack" for name in beside}
    assert here.world.queues["calm"].sum() == 6
    assert not there.world.ports["late"].any()
    assert not there.world.ports["entries"].any()
    assert not there.world.queues["calm"].any()
    one, other = whole(resolved), in_parts(resolved, [near, apart])
    assert other.values[-1].sum() > 0
    assert_equal(one, other)


CAPTURED = """
name = "captured"
duration = "1ms"
sample_interval = "100us"
capture.ports = ["one.two", "two.one"]

[nodes]
one = { kind = "nic" }
two = { kind = "nic" }

[links.link]
ends = ["one", "two"]
rate = "1Gb/s"
delay = "10us"

[traffic.there]
plugin = "cbr"
from = "one"
to = "two"
rate = "700Mb/s"

[traffic.back]
plugin = "cbr"
from = "two"
to = "one"
rate = "1Gb/s"
frame = "300B"
"""


def test_both_ends_of_a_cut_link_capture_what_they_send_and_get() -> None:
    resolved = Plan.load(CAPTURED).check(Registry.load())
    one, other = whole(resolved), in_parts(resolved, [["one"], ["two"]])
    assert all(len(capture.times_ps) > 150 for capture in other.captures)
    assert all(0 < capture.outgoing.sum() < len(capture.outgoing) for capture in other.captures)
    assert_equal(one, other)


def test_a_part_that_fails_ends_the_run_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    several = ParallelRun(Plan.load(CAPTURED).check(Registry.load()), [["one"], ["two"]])
    advance = several.advance

    def fails(number: int, windows: int) -> int:
        if number == 1:
            raise MemoryError
        return advance(number, windows)

    monkeypatch.setattr(several, "advance", fails)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    with pytest.raises(RunFailed, match="did not come to the end"):
        several.run(lambda _: None)


def test_an_interrupted_run_leaves_no_thread_behind() -> None:
    several = ParallelRun(Plan.load(CAPTURED).check(Registry.load()), [["one"], ["two"]])

    def interrupt(now: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        several.run(interrupt)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("part-")]


def test_boxes_that_are_too_small_are_no_silent_loss() -> None:
    several = ParallelRun(Plan.load(CAPTURED).check(Registry.load()), [["one"], ["two"]])
    tiny = several.boxes.frames[:, :, :, :1].copy().view(np.recarray)
    several.boxes = several.boxes._replace(frames=tiny)
    with pytest.raises(RunFailed, match="had no room"):
        several.run(lambda _: None)
