"""Reliability apart from control: go-back-N, what a reaction point hears of it, its window."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import numpy as np
import pytest

from orchestrator.algorithm import Kernel, reaction_point
from orchestrator.assembly import Assembly, assemble
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.records import ACK, NONE, record
from orchestrator.errors import BadInput
from orchestrator.hookspecs import hookimpl
from orchestrator.plan import Plan
from orchestrator.registry import GROUP, Registry
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import (
    ALIGNED,
    MS,
    US,
    Empty,
    Table,
    line_of_three,
    run_in_steps,
    run_until,
)

STATE = record("acks", "octets", "marks", "losses", "by_ack", "least_rtt", "most_flight", "went")
FRAME = 1500
ROUND = 4 * 10 * US + 2 * 12 * US + 2 * 560_000
"""Without a queue: four delays, a full frame on two links, an acknowledgement of 70 octets."""


def begin(state, params, limiter, frame, now, message):
    """Nothing is limited."""
    limiter.active = 1
    limiter.rate = limiter.link_rate
    return 0


def four_frames(state, params, limiter, frame, now, message):
    """Four may be under way, and a bit."""
    limiter.active = 1
    limiter.rate = limiter.link_rate
    limiter.window = 4 * 1500 + 1499
    return 0


def a_tenth(state, params, limiter, frame, now, message):
    """A tenth of a frame per round trip."""
    limiter.active = 1
    limiter.rate = limiter.link_rate
    limiter.window = 150
    return 0


def acked(state, params, limiter, frame, now, message):
    """Add up what it is told."""
    state.acks += 1
    state.octets += limiter.acked
    state.marks += limiter.marked
    state.most_flight = max(state.most_flight, limiter.flight + limiter.acked)
    if state.least_rtt == 0 or limiter.rtt < state.least_rtt:
        state.least_rtt = limiter.rtt
    if limiter.acked_total != state.octets:
        state.went = 1
    return 0


def lost(state, params, limiter, frame, now, message):
    """Count."""
    state.losses += 1
    state.by_ack += 1 if frame.kind == ACK else 0
    return 0


def nearly_shut(state, params, limiter, frame, now, message):
    """One frame, for 20 us."""
    limiter.active = 1
    limiter.rate = limiter.link_rate
    limiter.window = 1500
    limiter.timer = now + 20_000_000
    return 0


def opened(state, params, limiter, frame, now, message):
    """Ten."""
    limiter.window = 15_000
    return 0


def line(**transport: Any) -> Table:
    """One message of 100 segments from NIC to sink; 1 Gb/s, 10 us on each link; equal clocks."""
    table = line_of_three(duration=20 * MS, **ALIGNED)
    for link in table["links"].values():
        link["delay"] = 10 * US
    table["nodes"]["nic"]["reaction_point"] = {"plugin": "mine"}
    table["traffic"] = {
        "t": {"plugin": "messages", "from": "nic", "to": "sink", "size": 143_000}
        | {"transport": {"plugin": "go-back-n"} | transport}
    }
    return table


def world(monkeypatch: pytest.MonkeyPatch, table: Table, **kernels: Kernel) -> Assembly:
    """Assembled with the reaction point `mine`."""
    mine = reaction_point("mine", "for a test", Empty, STATE, **kernels)
    point = entry_point(monkeypatch, "mine", tailback_algorithms=hookimpl(lambda: [mine]))
    registry = Registry([*entry_points(group=GROUP), point])
    return assemble(Plan(**table).check(registry))


def heard(assembly: Assembly) -> dict[str, int]:
    """The state of the reaction point."""
    names = STATE.names or ()
    return {
        field: int(assembly.world.memory[place])
        for (_, _, field), place in assembly.built.offsets.items()
        if field in names
    }


def test_every_segment_is_acknowledged_and_the_reaction_point_hears_of_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assembly = world(monkeypatch, line(), start=begin, acked=acked, lost=lost)
    run_until(assembly, 20 * MS)
    found, flow = heard(assembly), assembly.world.flows[0]
    assert (found["acks"], found["octets"], found["marks"], found["losses"]) == (100, 150_000, 0, 0)
    assert found["went"] == 0
    assert (flow.frames_sent, flow.frames_resent, flow.flight) == (100, 0, 0)
    assert found["least_rtt"] == ROUND
    assert assembly.world.messages["done"][0] < 2 * MS


def test_marked_octets_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    table = line()
    table["nodes"]["switch"]["congestion_point"] = {
        "plugin": "red",
        "low": 0,
        "high": 3_000,
        "max_probability": 1,
    }
    table["links"]["down"]["rate"] = 500_000_000
    assembly = world(monkeypatch, table, start=begin, acked=acked)
    assembly.world.flows[0].mark = 2
    run_until(assembly, 20 * MS)
    found = heard(assembly)
    marked = int(assembly.world.queues["frames_marked"].sum())
    assert 50 < marked < 100
    assert found["marks"] == marked * FRAME
    assert found["octets"] == 100 * FRAME


@pytest.mark.parametrize("buffer", [4_500, 6_000])
def test_what_a_full_queue_drops_is_sent_again_until_all_is_there(
    monkeypatch: pytest.MonkeyPatch, buffer: int
) -> None:
    table = line(timeout=500 * US, window=8)  # without any bound it collapses: all is sent again
    table["nodes"]["switch"]["buffer"] = buffer
    table["links"]["down"]["rate"] = 300_000_000
    assembly = world(monkeypatch, table, start=begin, acked=acked, lost=lost)
    run_until(assembly, 20 * MS)
    found, world_, flow = heard(assembly), assembly.world, assembly.world.flows[0]
    assert world_.queues["frames_dropped"].sum() > 0
    assert world_.messages["done"][0] < 20 * MS
    assert flow.frames_resent == flow.frames_sent - 100 > 0
    assert found["octets"] == 150_000
    assert found["losses"] >= found["by_ack"] > 0
    assert flow.flight == 0


def test_a_lost_end_is_found_by_the_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    table = line(timeout=2 * MS)
    table["traffic"]["t"]["size"] = 1430
    table["timeline"] = [{"at": 0, "cut": "up"}, {"at": 3 * MS, "mend": "up"}]
    assembly = world(monkeypatch, table, start=begin, acked=acked, lost=lost)
    run_until(assembly, 20 * MS)
    found = heard(assembly)
    assert (found["losses"], found["by_ack"], found["acks"]) == (2, 0, 1)
    sent_at = 4 * MS  # the second timeout, give or take the limiter's first refill
    assert sent_at < assembly.world.messages["done"][0] < sent_at + 100 * US


def test_a_link_that_loses_both_ways_loses_nothing_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = line(timeout=MS)
    table["links"]["up"] |= {"delay_line": {"plugin": "lossy-delay", "loss_rate": "0.1"}}
    table["duration"] = 100 * MS
    assembly = world(monkeypatch, table, start=begin, acked=acked, lost=lost)
    run_until(assembly, 100 * MS)
    found = heard(assembly)
    lost_by = dict(zip(assembly.indices.ports, assembly.world.ports["frames_lost"], strict=True))
    assert lost_by["nic.switch"] > 3
    assert lost_by["switch.nic"] > 3
    assert assembly.world.messages["done"][0] < 100 * MS
    assert found["octets"] == 150_000
    assert found["acks"] < assembly.world.flows[0].frames_received


def test_no_more_than_the_window_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    assembly = world(monkeypatch, line(), start=four_frames, acked=acked)
    most = 0
    for _ in run_in_steps(assembly, 2_000):
        most = max(most, int(assembly.world.flows[0].flight))
    found = heard(assembly)
    assert most == found["most_flight"] == 4 * FRAME
    assert found["octets"] == 150_000
    last = int(assembly.world.messages["done"][0])
    assert last == pytest.approx(25 * ROUND, rel=0.03), "four frames per round trip"


def test_a_window_below_a_frame_is_paced(monkeypatch: pytest.MonkeyPatch) -> None:
    assembly = world(monkeypatch, line(), start=a_tenth, acked=acked)
    run_until(assembly, 20 * MS)
    found = heard(assembly)
    assert found["most_flight"] == FRAME
    assert found["acks"] == pytest.approx(20 * MS / (10 * ROUND), abs=1)


def test_a_window_that_a_timer_opens_is_used_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assembly = world(monkeypatch, line(), start=nearly_shut, acked=acked, timer=opened)
    run_until(assembly, 20 * US)
    assert assembly.world.flows[0].flight == FRAME
    run_until(assembly, 22 * US)
    assert assembly.world.flows[0].flight > FRAME


def test_a_flow_of_another_transport_or_of_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for transport in ({"plugin": "tcp"}, None):
        table = line()
        table["traffic"]["t"]["transport"] = transport
        with pytest.raises(BadInput, match=r"traffic\.t\.transport: .*'mine' at nic works with"):
            world(monkeypatch, table, start=begin, acked=acked)


def test_an_acknowledgement_for_a_flow_without_a_transport_harms_nobody() -> None:
    from orchestrator.engine.node.link_delivery import receive
    from orchestrator.engine.node_api import take
    from tests.orchestrator.worlds import assembled

    assembly = assembled(line_of_three())
    w = assembly.world
    index = int(take(w))
    w.frames[index] = empty_descriptors(1)[0]
    w.frames[index].kind, w.frames[index].flow = ACK, 0
    w.frames[index].destination = 0
    free = int(w.clock[0].free)
    receive(w, 0, index, 0)
    assert w.clock[0].free == free + 1
    assert w.flows[0].transport == 0
    assert np.all(w.frames["next"][index] == NONE)
