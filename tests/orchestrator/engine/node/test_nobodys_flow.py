"""A message that names no flow is nobody's: not that of the flow in the table's last row."""

from __future__ import annotations

import pytest

from orchestrator.engine.node.credit_receiver import send_credit
from orchestrator.engine.records import (
    ACK,
    CREDIT,
    NEVER,
    NONE,
    REQUEST,
    SINK,
    TRANSPORT,
)
from tests.orchestrator.engine.node.bench import POOL, SOURCE, Bench

NOW = 10**6


def source() -> Bench:
    """A node whose only flow, so the last of the table, has a transport."""
    bench = Bench()
    w = bench.world
    for port in w.ports:
        port.free_at = 10**12
    w.nodes[0].kind = SINK
    w.flows[0].node = 0
    w.flows[0].mode = TRANSPORT
    w.flows[0].transport = NONE
    return bench


def test_a_credit_for_no_flow_is_ignored() -> None:
    bench = source()
    bench.arrives(NOW, kind=CREDIT, flow=NONE, length=106)
    assert (bench.world.nodes[0].feedback_ignored, bench.unused) == (1, POOL)


def test_an_acknowledgement_of_no_flow_leaves_every_flow_alone() -> None:
    bench = source()
    before = bench.world.flows[0].copy()
    bench.arrives(NOW, kind=ACK, flow=NONE, length=70)
    assert bench.world.flows[0] == before
    assert bench.unused == POOL


@pytest.mark.parametrize(("flow", "came", "ignored"), [(0, 1, 0), (NONE, 0, 1)])
def test_a_request_for_no_flow_is_not_told_to_the_receiver(
    flow: int, came: int, ignored: int
) -> None:
    bench = source()
    w = bench.world
    w.nodes[0].receiver = bench.rows["receive"]
    w.nodes[0].receiver_timer = NEVER
    bench.arrives(NOW, kind=REQUEST, flow=flow, length=106)
    assert (bench.told("receive", "came"), w.nodes[0].feedback_ignored) == (came, ignored)
    assert bench.unused == POOL


@pytest.mark.parametrize(("flow", "sent"), [(0, 1), (NONE, 0), (1, 0)])
def test_a_credit_is_sent_to_a_flow_that_there_is(flow: int, sent: int) -> None:
    bench = source()
    w = bench.world
    w.flows[0].source = SOURCE
    bench.say(kind=CREDIT, flow=flow, sequence=3000)
    send_credit(w, 0, NOW)
    assert (w.nodes[0].credits_sent, w.nodes[0].unroutable) == (sent, 1 - sent)
    assert bench.unused == POOL - sent
