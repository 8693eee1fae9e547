"""A million RoCEv2 packets over a link that loses one in a thousand, by number, on both targets.

The window of each queue pair is two packets: what is under way when a packet is lost depends on no
time, so both targets send the same packets in the same order, at any pace.
"""

from __future__ import annotations

import random

import pytest

from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import MS, US

PAIRS, WINDOW, MESSAGE = 16, 2, 10
"""Queue pairs, packets that each has under way, and packets of a message."""
NAMES = ("frames.sent", "frames.retransmitted", "naks.received", "timeouts", "rc.failed")
MILLION = 1_000_000


def outcome(packets: int, target: str, pace: float | None = None) -> dict[str, list[int]]:
    """Counts of each queue pair; every message is whole, and each fault hit its packet."""
    draws = random.Random(1).sample(range(packets), packets // 1000)
    messages = packets // PAIRS // MESSAGE
    plan = Plan(
        name="million",
        duration=200 * MS + 12 * US * packets,
        sample_interval=100 * MS,
        nodes={"h1": {"kind": "nic"}, "h2": {"kind": "nic"}},
        links={"l": {"ends": ["h1", "h2"], "rate": 10**9, "delay": 20 * US}},
        traffic={
            "f": {"plugin": "messages", "from": "h1", "to": "h2", "flows": PAIRS, "frame": 1500}
            | {"size": 1024 * MESSAGE, "interval": US, "count": messages}
            | {"transport": {"plugin": "rc", "window": WINDOW, "timeout": 100 * MS}}
        },
        timeline=[
            {"at": 0, "drop": f"f.{draw % PAIRS}", "packet": draw // PAIRS + 1} for draw in draws
        ],
    )
    done = run(plan, target=target, out=None, pace=pace)
    metrics = done.result["metrics"]["run"]
    assert metrics["f"]["messages.completed"] == messages * PAIRS
    assert metrics["h1>h2"]["injected.dropped"] == len(draws)
    assert not done.result["notes"]
    flows = [metrics[f"f.{pair}"] for pair in range(PAIRS)]
    return {name: [int(flow[name]) for flow in flows] for name in NAMES}


@pytest.mark.parametrize("packets", [16_000, MILLION])
def test_each_loss_costs_the_window(packets: int) -> None:
    """A loss is found by one NAK or, where what was sent again is lost, by one timeout."""
    found = {name: sum(counts) for name, counts in outcome(packets, "simulated").items()}
    assert found["frames.sent"] - found["frames.retransmitted"] == packets
    assert found["naks.received"] + found["timeouts"] == packets // 1000
    assert found["frames.retransmitted"] == WINDOW * packets // 1000
    assert found["rc.failed"] == 0


@pytest.mark.software
@pytest.mark.parametrize(
    "packets",
    [16_000, pytest.param(MILLION, marks=[pytest.mark.trials, pytest.mark.timeout(3600)])],
)
def test_real_frames_are_sent_again_as_often(namespaces: None, packets: int) -> None:
    """Queue pair by queue pair. The whole million takes a quarter of an hour on two busy cores:
    `make test-trials PYTEST_ARGS=tests/traffic/test_million_packets.py`."""
    assert outcome(packets, "software", pace=0.1) == outcome(packets, "simulated")
