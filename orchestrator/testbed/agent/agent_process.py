"""Agent process: socket, lease timer, shutdown."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path

from orchestrator.testbed import curve_keys
from orchestrator.testbed.agent import privileges
from orchestrator.testbed.agent.agent_metrics import serve_agent_metrics
from orchestrator.testbed.agent.agent_service import Agent
from orchestrator.testbed.agent.target_offers import query_runnable_targets
from orchestrator.testbed.wire import connection_gate
from orchestrator.testbed.wire.log_limit import LogLimit
from orchestrator.testbed.wire.rpc_server import RequestDispatcher, RpcServer

LOOK_S = 0.1
"""Between two looks at the leases."""
PORT = 7010


async def serve(
    name: str,
    listen: str,
    folder: Path,
    state: Path,
    say: Callable[[str], None],
    listening: int | None = None,
    metrics: str | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM. `listening` is a socket that listens already,
    which counts more than `listen`; `metrics` is the address of the endpoint for Prometheus.
    Raises BadInput or Refused."""
    pair = curve_keys.own(folder)
    curve_keys.listed(folder)  # reports early an error that would refuse every peer
    connection_gate.raise_descriptor_limit()
    kept = privileges.drop()
    agent = Agent(name, state, kept, say)
    try:
        agent.holds = await query_runnable_targets(say)
        desk = RequestDispatcher(agent.handlers())
        sparing = LogLimit(say)
        desk.broken = lambda kind, error: sparing(f"{kind} failed: {type(error).__name__}: {error}")
        server = RpcServer(listen, pair, folder, desk, say, listening)
    except BaseException:
        agent.close()
        raise
    agent.delay = server.delay
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ending.set)
    server.start()
    for target, lack in agent.holds.items():
        say(f"holds no plan on {target}: {lack}" if lack else f"can hold a plan on {target}")
    say(f"keeps the privileges: {', '.join(kept) or 'none'}; all others are given up")
    say(f"agent {name} listens on {server.endpoint}, key {pair.public}")
    try:
        with serve_agent_metrics(agent, metrics, say):
            while not ending.is_set():
                agent.expire(time.monotonic())
                try:
                    await asyncio.wait_for(ending.wait(), LOOK_S)
                except TimeoutError:
                    continue
    finally:
        agent.close()
        server.close()
