"""Metrics of an agent: its leases by state, their expiry, its targets."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from orchestrator.testbed.agent.agent_metrics import LEASE_STATES, agent_readings
from orchestrator.testbed.agent.agent_service import Agent
from tests.orchestrator.metrics_export.scraping import Key, read, valued
from tests.orchestrator.testbed.agent.test_agent_service import LEASE, Served

pytest.importorskip("prometheus_client")


def scraped(agent: Agent) -> dict[Key, float]:
    return read(agent_readings(agent, time.monotonic()))


def test_leases_are_counted_by_state_with_their_holders(tmp_path: Path) -> None:
    served = Served(tmp_path / "state")
    served.agent.holds = {"gateware": "", "simulated": "no compiler"}
    try:
        found = scraped(served.agent)
        assert valued(found, "tailback_agent_leases") == [0.0] * len(LEASE_STATES)
        assert valued(found, "tailback_agent_target_available", target="gateware") == [1.0]
        assert valued(found, "tailback_agent_target_available", target="simulated") == [0.0]
        assert valued(found, "tailback_agent_info", machine="here") == [1.0]
        assert served.lease()["refused"] is None
        assert served.lease("cd" * 8, "other", ttl_ms=10_000)["refused"] is None
        found = scraped(served.agent)
        assert valued(found, "tailback_agent_leases", state="leased") == [2.0]
        assert sum(valued(found, "tailback_agent_leases")) == 2.0
        (left,) = valued(
            found, "tailback_agent_lease_expiry_seconds", lease=LEASE, controller="lab"
        )
        assert 0 < left <= 48
        (left,) = valued(found, "tailback_agent_lease_expiry_seconds", controller="other")
        assert 0 < left <= 8
        assert valued(found, "tailback_agent_lease_nics") == [0.0, 0.0]
        assert valued(found, "tailback_agent_data_paths") == [0.0]
        served.agent.leases[LEASE].failure = "planted"
        assert valued(scraped(served.agent), "tailback_agent_leases", state="failed") == [1.0]
        served.ask("release", lease=LEASE)
        assert sum(valued(scraped(served.agent), "tailback_agent_leases")) == 1.0
    finally:
        served.agent.close()
