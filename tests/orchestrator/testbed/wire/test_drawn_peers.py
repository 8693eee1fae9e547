"""Servers beside peers that a seed draws: an agent, a controller and a feed keep their bounds."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zmq.asyncio

from orchestrator.live.live_session import Session
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.testbed import curve_keys
from orchestrator.testbed.agent.agent_service import Agent
from orchestrator.testbed.controller.controller_service import Controller
from orchestrator.testbed.controller.live_feed import KeyedFeed
from orchestrator.testbed.wire import connection_gate, log_limit
from orchestrator.testbed.wire.connection_gate import ConnectionGate
from orchestrator.testbed.wire.rpc_client import RpcClient
from orchestrator.testbed.wire.rpc_server import Handler, RequestDispatcher, RpcServer
from tests.orchestrator.testbed.wire import drawn_peers
from tests.orchestrator.worlds import line_of_three
from tests.patience import PATIENCE_S

SEEDS = int(os.environ.get("TAILBACK_DRAWN_PEERS", "2"))
PEERS = 100
MEMORY = 64 * 2**20
"""Octets by which this process may grow, the peers' own among them."""


def resident() -> int:
    """Octets of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def agent_handlers(folder: Path) -> tuple[dict[str, Handler], Callable[[], None]]:
    """Handlers of an agent, and what ends it."""
    agent = Agent("a", folder / "state", [], lambda text: None)
    return agent.handlers(), agent.close


def controller_handlers(folder: Path) -> tuple[dict[str, Handler], Callable[[], None]]:
    """Handlers of a controller without machines."""
    controller = Controller.__new__(Controller)
    controller.jobs = {}  # type: ignore[assignment]
    controller.peers, controller.bed = {}, SimpleNamespace(name="bed")  # type: ignore[assignment]
    return controller.handlers(), lambda: None


SERVERS = {"agent": (agent_handlers, "hello"), "controller": (controller_handlers, "status")}


def keys(folder: Path) -> tuple[curve_keys.Pair, curve_keys.Pair]:
    """The pair of a server, and that of a peer whose key it accepts."""
    server, friend = (curve_keys.make(folder / name, name) for name in ("server", "friend"))
    curve_keys.authorise(folder / "server", str(folder / "friend" / curve_keys.PUBLIC))
    return server, friend


def check(gate: ConnectionGate, before: int) -> None:
    """Bounds that hold at any moment."""
    newcomers = [one for one in [*gate._connections.values()] if not one.keyed]
    assert len(newcomers) <= connection_gate.OF_SOURCE
    held = connection_gate.FIRST_OCTETS + connection_gate.COPIED + 9
    assert all(len(one._from_peer._held) <= held for one in newcomers)
    keyed = [one for one in [*gate._connections.values()] if one.keyed]
    most = gate._most + 2 * connection_gate.COPIED
    assert all(one.sent - one.received <= most for one in keyed)
    assert resident() - before < MEMORY


async def until_closed(gate: ConnectionGate, most: int) -> None:
    """Connections of peers that have gone are closed."""
    end = time.monotonic() + PATIENCE_S
    while len(gate._connections) > most:
        assert time.monotonic() < end, f"{len(gate._connections)} connections are still open"
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", SERVERS)
async def test_a_server_goes_on_beside_drawn_peers(name: str, seed: int, tmp_path: Path) -> None:
    make, question = SERVERS[name]
    server, friend = keys(tmp_path)
    handlers, close = make(tmp_path)
    desk = RequestDispatcher(handlers)
    broken: list[str] = []
    said: list[str] = []
    desk.broken = lambda kind, error: broken.append(f"{kind}: {error!r}")
    place = tmp_path / "server"
    rpc = RpcServer("tcp://127.0.0.1:*", server, place, desk, said.append)
    rpc.start()
    context = zmq.asyncio.Context()
    client = RpcClient(context, name, rpc.endpoint, server.public, friend)
    await client.ask(question, within_s=PATIENCE_S)
    before = resident()
    port = int(rpc.endpoint.rpartition(":")[2])
    strangers = drawn_peers.Strangers(("127.0.0.1", port), (name, seed), PEERS)
    strangers.start()
    keyed = asyncio.create_task(
        asyncio.to_thread(
            drawn_peers.send_with_key, rpc.endpoint, server, friend, (name, seed, "key")
        )
    )
    while strangers.is_alive() or not keyed.done():
        await client.ask(question, within_s=PATIENCE_S)
        check(rpc._gate, before)
        await asyncio.sleep(0.01)
    assert strangers.connected > PEERS // 2
    assert await keyed > 0
    strangers.close()
    await until_closed(rpc._gate, 2)
    await client.ask(question, within_s=PATIENCE_S)
    assert broken == []
    assert len(said) <= log_limit.MOST + 1, said
    client.close()
    rpc.close()
    context.destroy(0)
    close()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_feed_goes_on_beside_drawn_peers(seed: int, tmp_path: Path) -> None:
    server, friend = keys(tmp_path)
    told: list[str] = []
    session = Session(Plan(**line_of_three()).check(Registry.load()), "software")

    def denied(who: str, why: str) -> None:
        told.append(f"{who}: {why}")

    feed = KeyedFeed(session, "tcp://127.0.0.1:*", tmp_path / "server", denied)
    feed.start()
    before = resident()
    try:
        port = int(feed.address.rpartition(":")[2])
        strangers = drawn_peers.Strangers(("127.0.0.1", port), ("feed", seed), PEERS)
        strangers.start()
        sent = drawn_peers.send_with_key(feed.address, server, friend, ("feed", seed, "key"))
        while strangers.is_alive():
            check(feed._gate, before)
            time.sleep(0.01)
        strangers.close()
        check(feed._gate, before)
        asyncio.run(until_closed(feed._gate, 0))
        assert sent > 0
        assert feed.is_alive()
        answer: Any = drawn_peers.send_with_key(feed.address, server, friend, "again")
        assert answer > 0
    finally:
        feed.close()
