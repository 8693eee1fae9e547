"""What a kernel may do wrong without stopping time, reaching port -1 or keeping a limiter."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import pytest

from orchestrator.algorithm import Algorithm, Kernel
from orchestrator.assembly import Assembly, assemble
from orchestrator.engine.records import NEVER, NONE, record
from orchestrator.hookspecs import hookimpl
from orchestrator.plan import Plan
from orchestrator.registry import GROUP, Registry
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import MS, US, Empty, Table, line_of_three, run_until

SOURCE = {"plugin": "cbr", "from": "nic", "to": "sink", "rate": 10**9}
STATE = record("calls")


def limit(state, params, limiter, frame, now, message):
    """A flow begins: half of its link's rate, for ever, without a timer."""
    limiter.active = 1
    limiter.rate = limiter.link_rate // 2
    return 0


def limit_in_the_past(state, params, limiter, frame, now, message):
    """A flow begins: the timer is due before it is set."""
    limiter.active = 1
    limiter.timer = max(now - 5 * 10**9, 0)
    return 0


def again(state, params, limiter, frame, now, message):
    """A timer of a limiter that is set to the time at which it expired."""
    state.calls += 1
    limiter.timer = now
    return 0


def queue_again(state, params, queue, frame, now, message):
    """A timer of a congestion point that is set into the past."""
    state.calls += 1
    queue.congestion_point_timer = max(now - 1, 0)
    return 0


def pause_again(state, params, queue, frame, now, message):
    """The same of a pause."""
    state.calls += 1
    queue.pause_timer = 0
    return 0


def idle_send(state, params, flow, frame, now, message):
    """A transport that wants nothing sent, to be asked at once, and acknowledges before data."""
    state.calls += 1
    flow.next_frame = now
    flow.ack_timer = now
    return 0


def always(state, params, flow, frame, now, message):
    """An acknowledgement is to be sent, and another one at once."""
    flow.ack_timer = now
    return 1


def world(
    monkeypatch: pytest.MonkeyPatch, kind: str, table: Table, **kernels: Kernel
) -> tuple[Assembly, list[int]]:
    """A world with one algorithm called `mine`, and where its instances count their calls."""
    mine = Algorithm("mine", kind, "for a test", Empty, STATE, kernels)
    hook = hookimpl(lambda: [mine])
    point = entry_point(monkeypatch, "mine", tailback_algorithms=hook)
    registry = Registry([*entry_points(group=GROUP), point])
    assembly = assemble(Plan(**table).check(registry))
    offsets = assembly.built.offsets.items()
    places = sorted({place for (_, _, field), place in offsets if field == "calls"})
    return assembly, places


def limited(**nic: Any) -> Table:
    """A line of three whose NIC has one limiter of algorithm `mine`; the flow lasts 1 ms."""
    table = line_of_three()
    table["nodes"]["nic"] |= {"reaction_points": 1, "reaction_point": {"plugin": "mine"}} | nic
    table["traffic"] = {"gen": SOURCE | {"stop": MS}}
    return table


def test_a_limiter_without_a_timer_is_let_go_when_its_flow_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assembly, _ = world(monkeypatch, "reaction_point", limited(), start=limit)
    run_until(assembly, MS)
    limiter, flow = assembly.world.limiters[0], assembly.world.flows[0]
    assert (limiter.flow, limiter.active, limiter.timer) == (0, 1, NEVER)
    assert flow.head != NONE, "frames still wait behind the limiter"
    run_until(assembly, MS + US)
    assert (flow.on, limiter.flow) == (0, 0), "not before they are sent"
    run_until(assembly, 2 * MS)
    assert flow.head == NONE
    assert (limiter.flow, limiter.active, flow.limiter) == (NONE, 0, NONE)


def test_a_limiter_of_a_flow_that_ends_with_an_empty_queue_is_let_go_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = limited()
    table["traffic"]["gen"]["rate"] = 10**7
    assembly, _ = world(monkeypatch, "reaction_point", table, start=limit)
    run_until(assembly, MS + 1)
    assert assembly.world.limiters[0].flow == NONE


def test_a_timer_in_the_past_does_not_stop_a_reaction_points_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernels = {"start": limit_in_the_past, "timer": again}
    assembly, calls = world(monkeypatch, "reaction_point", limited(), **kernels)
    run_until(assembly, 100 * US)
    assert assembly.world.memory[calls].sum() == 100_000, "once in a nanosecond"


@pytest.mark.parametrize(
    ("kind", "field", "kernel"),
    [
        ("congestion_point", "congestion_point_timer", queue_again),
        ("pause", "pause_timer", pause_again),
    ],
)
def test_a_timer_in_the_past_does_not_stop_a_queues_time(
    monkeypatch: pytest.MonkeyPatch, kind: str, field: str, kernel: Kernel
) -> None:
    table = line_of_three()
    table["nodes"]["switch"] |= {kind: {"plugin": "mine"}}
    event = "arrival" if kind == "congestion_point" else "enqueue"
    assembly, calls = world(monkeypatch, kind, table, **{event: kernel, "timer": kernel})
    run_until(assembly, 100 * US)
    began = assembly.world.memory[calls].sum()
    run_until(assembly, 110 * US)
    assert 10_000 <= assembly.world.memory[calls].sum() - began <= 10_010


def test_a_transport_that_wants_nothing_at_once_and_acknowledges_too_early_harms_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = line_of_three()
    source = {"plugin": "bulk", "from": "nic", "to": "sink", "transport": {"plugin": "mine"}}
    table["traffic"] = {"gen": source}
    kernels = {"send": idle_send, "arrived": always}
    assembly, calls = world(monkeypatch, "transport", table, **kernels)
    before = assembly.world.ports.copy()
    run_until(assembly, 10 * US)
    assert assembly.world.memory[calls].sum() > 1_000
    assert assembly.world.nodes[0].unroutable > 1_000, "each is counted"
    assert (assembly.world.ports == before).all(), "no port has got one"
