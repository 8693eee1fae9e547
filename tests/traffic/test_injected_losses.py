"""Faults at named packets of a flow: what go-back-N and selective repeat do, on both targets."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import MS, US, Table

FRAMES = 100
SIZE = FRAMES * (1500 - 54)
WINDOW = 8
"""Segments under way, which a round trip holds: each loss finds so many on the way."""
NUMBERS = ("frames.retransmitted", "naks.received", "timeouts", "frames.reordered")


def plan(*steps: Table, transport: str = "go-back-n", rate: int = 10**9, **params: int) -> Plan:
    """One message of about 100 full frames from host to host, over a switch."""
    carrier: dict[str, Any] = {"plugin": transport, **params}
    return Plan(
        name="injected",
        duration=300 * MS,
        sample_interval=MS,
        nodes={"h1": {"kind": "nic"}, "h2": {"kind": "nic"}, "s": {"kind": "switch"}},
        links={h: {"ends": [h, "s"], "rate": rate, "delay": 20 * US} for h in ("h1", "h2")},
        traffic={
            "f": {"plugin": "messages", "from": "h1", "to": "h2", "size": SIZE, "count": 1}
            | {"frame": 1500, "transport": carrier}
        },
        timeline=[{"at": 0, **step} for step in steps],
    )


def outcome(plan: Plan, target: str = "simulated") -> tuple[dict[str, int], dict[str, int]]:
    """Numbers of the flow, and what was injected in all; the message is whole."""
    done = run(plan, target=target, out=None)
    metrics = done.result["metrics"]["run"]
    assert metrics["f"]["messages.completed"] == 1
    assert not [note for note in done.result["notes"] if "timeline" in note]
    assert not [one for one in done.result["fidelity"]["reasons"] if "accounted" in one]
    injected: dict[str, int] = {}
    for values in metrics.values():
        for name, value in values.items():
            if name.startswith("injected.") and value:
                injected[name] = injected.get(name, 0) + value
    return {name: metrics["f"].get(name, 0) for name in NUMBERS}, injected


GOES_BACK = pytest.mark.parametrize("transport", ["go-back-n", "rc"])


@GOES_BACK
@pytest.mark.parametrize("packet", [2, 17, 60])
def test_go_back_n_sends_all_again_from_the_lost_packet_on(packet: int, transport: str) -> None:
    lost = {"drop": "f", "packet": packet}
    found, injected = outcome(plan(lost, transport=transport, window=WINDOW))
    assert injected == {"injected.dropped": 1}
    assert found["naks.received"] == 1
    assert found["timeouts"] == 0
    assert found["frames.retransmitted"] == WINDOW


@pytest.mark.parametrize("packet", [2, 17, 60])
def test_selective_repeat_sends_the_lost_packet_alone(packet: int) -> None:
    found, injected = outcome(plan({"drop": "f", "packet": packet}, transport="selective"))
    assert injected == {"injected.dropped": 1}
    assert found["frames.retransmitted"] == 1


@GOES_BACK
def test_a_corrupted_packet_is_a_lost_one(transport: str) -> None:
    how = {"transport": transport, "window": WINDOW}
    dropped, _ = outcome(plan({"drop": "f", "packet": 30}, **how))
    corrupted, injected = outcome(plan({"corrupt": "f", "packet": 30}, **how))
    assert corrupted == dropped
    assert injected == {"injected.corrupted": 1}


@GOES_BACK
def test_go_back_n_takes_a_reordered_packet_for_a_lost_one(transport: str) -> None:
    """Packets that overtake it are thrown away; when it has come, they are a gap of their own."""
    late = {"delay": "f", "packet": 30, "by": 30 * US}
    found, injected = outcome(plan(late, transport=transport, window=WINDOW))
    assert injected == {"injected.delayed": 1}
    assert found["naks.received"] == 2
    assert found["frames.retransmitted"] > 0


@pytest.mark.parametrize("transport", ["go-back-n", "selective", "rc"])
def test_a_lost_acknowledgement_is_made_up_for_by_the_next_one(transport: str) -> None:
    lost = {"drop": "f", "of": "ack", "packet": 30}
    found, injected = outcome(plan(lost, transport=transport))
    assert injected == {"injected.dropped": 1}
    assert found["frames.retransmitted"] == 0


@GOES_BACK
def test_a_lost_negative_acknowledgement_costs_a_timeout(transport: str) -> None:
    """That which answers the gap: the thirtieth packet is lost, and so is the thirtieth answer."""
    steps = ({"drop": "f", "packet": 30}, {"drop": "f", "of": "ack", "packet": 30})
    found, injected = outcome(plan(*steps, transport=transport, window=WINDOW))
    assert injected == {"injected.dropped": 2}
    assert found["timeouts"] == 1
    assert found["naks.received"] == 0


STEPS: list[tuple[Table, ...]] = [
    ({"drop": "f", "packet": 30},),
    ({"corrupt": "f", "packet": 30}, {"drop": "f", "packet": 70, "port": "s.h2"}),
    ({"drop": "f", "packet": 30, "packets": 3}, {"mark": "f", "packet": 5}),
    ({"duplicate": "f", "packet": 40}, {"drop": "f", "packet": 20}),
    ({"delay": "f", "packet": 25, "by": 30 * MS},),
]


@pytest.mark.software
@GOES_BACK
@pytest.mark.parametrize("steps", STEPS)
def test_the_same_faults_cost_the_same_on_real_frames(
    namespaces: None,
    steps: tuple[Table, ...],
    transport: str,
) -> None:
    slow = plan(
        *steps, transport=transport, rate=20_000_000, window=4, timeout=100 * MS
    )  # a stall is shorter
    assert outcome(slow, "software") == outcome(slow)
