"""Schedulers on real frames: shares of a port or a NIC within a percent, as on the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from orchestrator.run.verdict import INVALID

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]

PLANS = Path(__file__).parents[4] / "plugins" / "plans"
SLOWER = {"1Gb/s": "20Mb/s", "800Mb/s": "16Mb/s", "600Mb/s": "12Mb/s", "200Mb/s": "4Mb/s"}
"""Rates of the plans, and a fiftieth of them."""


def slowed(name: str) -> Plan:
    """A shipped plan at a fiftieth of its rates, for four seconds, all sources on."""
    text = (PLANS / f"{name}.toml").read_text("utf-8").partition("[phases")[0]
    for before, after in SLOWER.items():
        text = text.replace(f'"{before}"', f'"{after}"')
    lines = [line for line in text.splitlines() if not line.startswith(("duration", "stop"))]
    text = 'duration = "4s"\n' + "\n".join(lines).replace('"1ms"', '"20ms"')
    return Plan.load(text + '\n[phases.busy]\nfrom = "1s"\nto = "4s"\n')


@pytest.mark.parametrize(
    ("name", "shares"),
    [
        ("deficit-round-robin", {"one": 1 / 6, "two": 2 / 6, "three": 3 / 6}),
        ("strict-priority", {"high": 0.8, "low": 0.2}),
        ("ets", {"first": 0.2, "thirty": 0.24, "twenty": 0.16, "fifty": 0.4}),
    ],
)
def test_real_frames_share_a_port_within_a_percent(
    name: str, shares: dict[str, float], tmp_path: Path
) -> None:
    result = run(slowed(name), target="software", out=tmp_path, report=False).result
    if result["fidelity"]["verdict"] == INVALID:
        pytest.skip("the machine distorted the run")
    rates = {one: result["metrics"]["busy"][one]["throughput_bps"] for one in shares}
    for entry, share in shares.items():
        assert rates[entry] / sum(rates.values()) == pytest.approx(share, rel=0.01), entry


def test_flows_of_a_nic_share_it_within_a_percent_on_real_frames(tmp_path: Path) -> None:
    """Octets of the flows of each host, in the proportion of their formulas."""
    groups = [
        {"light": 1 / 4, "heavy": 3 / 4},
        {"high": 0.6, "low": 0.4},
        {"first": 0.2, "pair.0": 0.12, "pair.1": 0.12, "seventy": 0.56},
    ]
    result = run(slowed("flow-scheduler"), target="software", out=tmp_path, report=False).result
    if result["fidelity"]["verdict"] == INVALID:
        pytest.skip("the machine distorted the run")
    for shares in groups:
        rates = {flow: result["metrics"]["busy"][flow]["throughput_bps"] for flow in shares}
        for flow, share in shares.items():
            assert rates[flow] / sum(rates.values()) == pytest.approx(share, rel=0.01), flow
