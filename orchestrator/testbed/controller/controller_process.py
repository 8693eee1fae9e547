"""Controller process: socket and shutdown."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from orchestrator.registry import Registry
from orchestrator.testbed import curve_keys
from orchestrator.testbed.controller.controller_metrics import serve_controller_metrics
from orchestrator.testbed.controller.controller_service import Controller
from orchestrator.testbed.controller.live_feed import Watched
from orchestrator.testbed.inventory import Testbed
from orchestrator.testbed.wire import connection_gate
from orchestrator.testbed.wire.log_limit import LogLimit
from orchestrator.testbed.wire.rpc_server import RequestDispatcher, RpcServer

PORT = 7011
ASIDE = 2
"""Threads for what takes a while: one run is written, or one change checked, at a time. Each thread
that ever wrote a run keeps megabytes of the allocator's memory to itself, so there are no more."""


async def serve(
    bed: Testbed,
    listen: str,
    folder: Path,
    out: Path,
    say: Callable[[str], None],
    metrics: str | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM. `metrics` is the address of the endpoint for Prometheus.
    Raises BadInput or Refused."""
    pair = curve_keys.own(folder)
    curve_keys.listed(folder)
    connection_gate.raise_descriptor_limit()
    _ = Registry.load().algorithms  # now, not in the first run: that takes seconds, and the loop
    host = listen.rpartition(":")[0]
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(ASIDE, thread_name_prefix="aside"))

    sparing = LogLimit(say)

    def denied(address: str, why: str) -> None:
        loop.call_soon_threadsafe(sparing, f"key rejected: {address}: {why}")

    controller = Controller(
        bed, pair, out, say, lambda run: Watched(run, f"{host}:*", folder, denied)
    )
    try:
        desk = RequestDispatcher(controller.handlers())
        desk.broken = lambda kind, error: sparing(f"{kind} failed: {type(error).__name__}: {error}")
        server = RpcServer(listen, pair, folder, desk, say)
    except BaseException:
        await controller.close()
        raise
    ending = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ending.set)
    server.start()
    say(f"controller {bed.name} listens on {server.endpoint}, key {pair.public}")
    try:
        with serve_controller_metrics(controller, metrics, say):
            await ending.wait()
    finally:
        await controller.close()
        server.close()
