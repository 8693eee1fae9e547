"""Exporter of an agent: leases in force, data paths, targets of which it can run a whole plan."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator

from orchestrator import __version__
from orchestrator.metrics_export import process_families as process
from orchestrator.metrics_export.run_readings import Reading
from orchestrator.targets.software.worker_stages import COLLECTED, ENDED, READY, RUNNING
from orchestrator.testbed.agent.agent_service import Agent

LEASE_STATES = ("leasing", "leased", "deploying", READY, RUNNING, ENDED, COLLECTED, "failed")
"""States of a lease (`ActiveLease.state`)."""


def agent_readings(agent: Agent, now_s: float) -> Iterator[Reading]:
    """Readings of an agent at an instant of the monotonic clock (s)."""
    yield process.AGENT_INFO, (agent.name, __version__), 1.0
    states = Counter(held.state for held in agent.leases.values())
    for state in dict.fromkeys((*LEASE_STATES, *states)):
        yield process.AGENT_LEASES, (state,), float(states[state])
    for lease, held in agent.leases.items():
        labels = (lease, held.asked.controller)
        yield process.AGENT_LEASE_EXPIRY, labels, held.until_s - now_s
        yield process.AGENT_LEASE_NICS, labels, float(len(held.asked.nics))
    hosting = sum(held.hosting is not None for held in agent.leases.values())
    yield process.AGENT_DATAPATHS, (), float(hosting)
    for target, lack in agent.holds.items():
        yield process.AGENT_TARGET, (target,), float(not lack)


@contextlib.contextmanager
def serve_agent_metrics(
    agent: Agent, address: str | None, say: Callable[[str], None]
) -> Iterator[None]:
    """Endpoint of an agent as long as the block lasts; called within its event loop."""
    if address is None:
        yield
        return
    from orchestrator.metrics_export.http_endpoint import on_loop, served

    loop = asyncio.get_running_loop()

    def source() -> list[Reading]:
        return on_loop(loop, lambda: list(agent_readings(agent, time.monotonic())))

    with served(address, source, say):
        yield
