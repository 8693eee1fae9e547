"""Requests of keys that may not make them: a key that holds no lease, a watcher, a revoked key.

Each function returns what was done for such a key, by kind; nothing where every server refused.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import zmq.asyncio

from orchestrator.testbed import curve_keys
from orchestrator.testbed.agent import agent_messages as of_agent
from orchestrator.testbed.controller.controller_messages import OfRun, Submit
from orchestrator.testbed.wire.rpc_client import Refusal, RpcClient, Unanswered
from orchestrator.testbed.wire.zap_authenticator import LOOK_S
from tests.trials import plans
from tests.trials.lab import Lab

STRANGER, WATCHER, REVOKED = "stranger", "watcher", "revoked"
ANSWER_S = 30.0
BEAT_S = 0.2
Found = dict[str, list[str]]
OVER = ("no-lease", "no-run")
"""Codes of a server whose lease or run has ended meanwhile."""


def admit(lab: Lab) -> None:
    """Authorise the stranger, who may run plans, and the watcher, on every machine."""
    for who in (*lab.hosts, "controller"):
        for name, role in ((STRANGER, curve_keys.RUN), (WATCHER, curve_keys.WATCH)):
            public = str(lab.keys(name) / curve_keys.PUBLIC)
            curve_keys.authorise(lab.keys(who), public, role=role)


class _Requests:
    """Requests with one key; `done` has what was not refused as it has to be."""

    def __init__(self, context: zmq.asyncio.Context, lab: Lab, key: str) -> None:
        self._context, self._lab, self._key = context, lab, key
        self.done: list[str] = []

    def client(self, who: str) -> RpcClient:
        """A client of an agent or of the controller."""
        address = "tcp://127.0.0.1:7011" if who == "controller" else self._lab.address(who)
        public = curve_keys.own(self._lab.keys(who)).public
        pair = curve_keys.own(self._lab.keys(self._key))
        return RpcClient(self._context, who, address, public, pair)

    async def refused(self, client: RpcClient, kind: str, body: Any, *codes: str) -> bool:
        """True where the request is refused with one of these codes."""
        try:
            await client.ask(kind, body, within_s=ANSWER_S)
        except Refusal as no:
            if no.code in codes:
                return True
            self.done.append(f"{client.who}: {kind} with the key {self._key}: {no}")
        else:
            self.done.append(f"{client.who} did {kind} for the key {self._key}")
        return False


def _of_lease(lease: str) -> list[tuple[str, Any]]:
    """Every request about a lease; the one that ends it comes last."""
    pace = of_agent.Pace(threads=1, first=0)
    return [
        ("beat", of_agent.Heartbeat(lease=lease)),
        ("probe", of_agent.Probe(lease=lease, nonce="ab" * 8)),
        ("probes", of_agent.Probe(lease=lease, nonce="ab" * 8)),
        ("announced", of_agent.Announced(lease=lease, nonce="ab" * 8)),
        ("deploy", of_agent.Deploy(lease=lease, plan="x", nodes=["nic"], pace=pace)),
        ("start", of_agent.Start(lease=lease, at_ns=2**61, rate_ppb=0)),
        ("collect", of_agent.OfLease(lease=lease)),
        ("fetch", of_agent.Fetch(lease=lease, name="words", offset=0)),
        ("halt", of_agent.OfLease(lease=lease)),
        ("release", of_agent.OfLease(lease=lease)),
    ]


async def _as_stranger(context: zmq.asyncio.Context, lab: Lab) -> list[str]:
    """Try to use, to take and to end what is another's: leases, NICs, the run."""
    stranger = _Requests(context, lab, STRANGER)
    for host in lab.hosts:
        client = stranger.client(host)
        held = await _held(client)
        for lease, nics in held.items():
            await stranger.refused(client, "force", of_agent.Force(name=lease), "role", *OVER)
            for kind, body in _of_lease(lease):
                await stranger.refused(client, kind, body, "not-yours", *OVER)
            asked = of_agent.Lease(
                lease=secrets.token_hex(8), controller="rival", ttl_ms=1000, nics=nics
            )
            try:
                await client.ask("lease", asked, within_s=ANSWER_S)
            except Refusal:
                continue
            if await _in_force(client, lease):
                stranger.done.append(f"{host} leased {', '.join(nics)} twice")
            await client.ask("release", of_agent.OfLease(lease=asked.lease), within_s=ANSWER_S)
        client.close()
    client = stranger.client("controller")
    status, _ = await client.ask("status", {}, within_s=ANSWER_S)
    for run in status["runs"]:
        body = Submit(run=run, plan=plans.short("0.02s"), report=False)
        await stranger.refused(client, "submit", body, "run")
        await stranger.refused(client, "cancel", OfRun(run=run), "not-yours", *OVER)
    client.close()
    return stranger.done


async def _held(client: RpcClient) -> dict[str, list[str]]:
    """Lease -> its NICs."""
    offer, _ = await client.ask("hello", of_agent.Hello(), within_s=ANSWER_S)
    held: dict[str, list[str]] = {}
    for nic in offer["nics"]:
        if nic["lease"] is not None:
            held.setdefault(nic["lease"], []).append(nic["name"])
    return held


async def _in_force(client: RpcClient, lease: str) -> bool:
    """True where an agent still knows the lease of another key."""
    try:
        await client.ask("beat", of_agent.Heartbeat(lease=lease), within_s=ANSWER_S)
    except Refusal as no:
        return no.code == "not-yours"
    return True


async def _as_watcher(context: zmq.asyncio.Context, lab: Lab) -> list[str]:
    """Try to lease and to run with a key that may watch."""
    watcher = _Requests(context, lab, WATCHER)
    client = watcher.client(lab.hosts[0])
    lease = of_agent.Lease(lease=secrets.token_hex(8), controller="w", ttl_ms=500, nics=[])
    await watcher.refused(client, "lease", lease, "role")
    client.close()
    client = watcher.client("controller")
    body = Submit(run=secrets.token_hex(8), plan=plans.short("0.02s"), report=False)
    await watcher.refused(client, "submit", body, "role")
    client.close()
    return watcher.done


async def _as_revoked(context: zmq.asyncio.Context, lab: Lab) -> list[str]:
    """Go on with a connection whose key was revoked."""
    host = lab.hosts[-1]
    curve_keys.authorise(lab.keys(host), str(lab.keys(REVOKED) / curve_keys.PUBLIC))
    client = _Requests(context, lab, REVOKED).client(host)
    try:
        await client.ask("hello", of_agent.Hello(), within_s=ANSWER_S)
    except Refusal as no:
        return [f"{host} refuses a key that was authorised: {no}"]
    finally:
        curve_keys.revoke(lab.keys(host), REVOKED)
    await asyncio.sleep(4 * LOOK_S)
    try:
        await client.ask("hello", of_agent.Hello(), within_s=2.0)
    except (Refusal, Unanswered):
        return []
    finally:
        client.close()
    return [f"{host} answered a key a second after it was revoked"]


async def orders(lab: Lab) -> Found:
    """Requests of all three keys while a run goes on."""
    context = zmq.asyncio.Context()
    found: Found = {}
    try:
        found["owner"] = await _as_stranger(context, lab)
        found["role"] = await _as_watcher(context, lab)
        found["revoked"] = await _as_revoked(context, lab)
    except Unanswered as silence:
        found["owner"] = [str(silence)]
    finally:
        context.destroy(0)
    return {kind: done for kind, done in found.items() if done}


def leases(lab: Lab) -> dict[str, list[str]]:
    """Leases that are noted on each host."""
    found = {}
    for host in lab.hosts:
        folder = Path(lab.folder / "state" / host / "leases")
        names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
        found[host] = [name for name in names if not name.startswith(".")]
    return found


class Heartbeats(threading.Thread):
    """Renews leases of another key, with the key of the stranger, until it is left."""

    def __init__(self, lab: Lab, held: dict[str, list[str]]) -> None:
        super().__init__(name="heartbeats", daemon=True)
        self._lab, self._held, self._ending = lab, held, threading.Event()
        self.sent = 0

    def __enter__(self) -> Heartbeats:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self.join()

    def run(self) -> None:
        """Send heartbeats."""
        asyncio.run(self._beat())

    async def _beat(self) -> None:
        context = zmq.asyncio.Context()
        stranger = _Requests(context, self._lab, STRANGER)
        clients = {host: stranger.client(host) for host in self._held}
        while not self._ending.is_set():
            for host, names in self._held.items():
                for lease in names:
                    with suppress(Refusal, Unanswered):
                        body = of_agent.Heartbeat(lease=lease)
                        await clients[host].ask("beat", body, within_s=1.0)
                    self.sent += 1
            await asyncio.sleep(BEAT_S)
        for client in clients.values():
            client.close()
        context.destroy(0)
