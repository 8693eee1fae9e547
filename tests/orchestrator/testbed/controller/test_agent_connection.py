"""What a controller makes of an agent's answers."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
import zmq.asyncio

from orchestrator import __version__
from orchestrator.testbed import curve_keys
from orchestrator.testbed.agent.agent_messages import HeartbeatReply, Offer
from orchestrator.testbed.controller.agent_connection import Peer
from orchestrator.testbed.inventory import MachineEntry
from orchestrator.testbed.wire.rpc_client import Refusal
from orchestrator.testbed.wire.socket_monitor import State

OLD, NEW = "ab" * 8, "cd" * 8


@pytest.mark.parametrize(("meanwhile", "state"), [(NEW, None), (OLD, "failed")])
async def test_a_late_answer_about_a_lease_given_back_does_not_end_the_next(
    tmp_path, meanwhile, state
):
    pair = curve_keys.make(tmp_path, "controller")
    entry = MachineEntry(address="tcp://127.0.0.1:1", key=pair.public)
    context = zmq.asyncio.Context()
    peer = Peer(context, "right", entry, pair)
    peer._task.cancel()
    peer.offer = SimpleNamespace(boot="ef" * 8)  # type: ignore[assignment]
    peer.hold(OLD)

    async def ask(kind: str, body: Any, within_s: float) -> Any:
        assert body.lease == OLD
        if meanwhile != OLD:
            peer.hold(meanwhile)
        raise Refusal("agent right", "no-lease", f"no lease {OLD}: released")

    peer.asker.ask = ask  # type: ignore[method-assign, assignment]
    await peer._once()
    assert (peer.pulse.state if peer.pulse else None) == state
    peer.close()
    context.term()


def pulse(**more: Any) -> dict[str, Any]:
    beat = {"received_ns": 1, "answered_ns": 2, "boot": "ef" * 8, "leases": 1}
    return HeartbeatReply(**{**beat, **more}).model_dump()


def offer(**more: Any) -> dict[str, Any]:
    told = {
        "machine": "right",
        "version": __version__,
        "boot": "ef" * 8,
        "kernel": "k",
        "time_namespace": "t",
        "system": "s",
        "cores": 2,
        "nics": [],
        "may": {},
        "privileges": [],
    }
    return Offer(**{**told, **more}).model_dump()


ROWS = {"first": 0, "count": 2, "columns": 3, "owned": [[0]]}
WRONG: dict[str, tuple[Any, bytes | None]] = {
    "7 octets": (pulse(rows=ROWS), bytes(7)),
    "too many octets": (pulse(rows=ROWS), bytes(64 + 8)),
    "no number": ({**pulse(), "received_ns": "now"}, None),
    "no rows": ({**pulse(), "rows": {**ROWS, "count": -1}}, bytes(64)),
    "huge": ({**pulse(), "rows": {**ROWS, "columns": 10**10}}, bytes(64)),
    "nothing": ({}, None),
    "more": ({**pulse(), "more": 1}, None),
    "owned": ({**pulse(), "rows": {**ROWS, "owned": [[0.5]]}}, bytes(64)),
}


@pytest.mark.parametrize("what", [*WRONG, "callback"])
def test_an_agent_that_sends_rubbish_is_distrusted_and_the_heartbeat_goes_on(tmp_path, what):
    async def all_of_it() -> None:
        pair = curve_keys.make(tmp_path, "controller")
        entry = MachineEntry(address="tcp://127.0.0.1:1", key=pair.public)
        context = zmq.asyncio.Context()
        peer = Peer(context, "right", entry, pair)
        for task in peer.asker._tasks:  # nobody is at that address, and this is not about that
            task.cancel()
        peer.asker.state = State.UP
        good, states = [True], []

        async def ask(kind: str, body: Any, within_s: float) -> Any:
            if kind == "hello":
                return offer(), None
            if good[0] or body.lease is None:
                return pulse(), None
            return WRONG[what] if what in WRONG else (pulse(rows=ROWS), bytes(64))

        def broken(head: Any, octets: bytes) -> None:
            raise ValueError("buffer size must be a multiple of element size")

        peer.asker.ask = ask  # type: ignore[method-assign, assignment]
        peer.on_news = lambda: states.append(peer.state)
        if what == "callback":
            peer.on_rows = broken
        while peer.state != "up":
            await asyncio.sleep(0.01)
        peer.hold(OLD)
        peer.rows_after = -1
        good[0] = False
        while peer.state != "rejected":
            await asyncio.sleep(0.01)
        assert peer.pulse is not None
        assert peer.pulse.state == "failed", "the run hears of it"
        assert "what it sent" in peer.why or "not understood" in peer.why
        assert not peer._task.done()
        peer.hold(None)
        while peer.state != "up":
            await asyncio.sleep(0.01)
        peer.close()
        context.term()

    asyncio.run(asyncio.wait_for(all_of_it(), 60))


@pytest.mark.parametrize("version", ["0.0.1", "99.0", "", __version__ + "x"])
def test_an_agent_of_another_version_is_rejected_by_name(tmp_path, version):
    async def all_of_it() -> None:
        pair = curve_keys.make(tmp_path, "controller")
        entry = MachineEntry(address="tcp://127.0.0.1:1", key=pair.public)
        context = zmq.asyncio.Context()
        peer = Peer(context, "right", entry, pair)
        for task in peer.asker._tasks:  # nobody is at that address, and this is not about that
            task.cancel()
        peer.asker.state = State.UP

        async def ask(kind: str, body: Any, within_s: float) -> Any:
            return (offer(version=version) if kind == "hello" else pulse()), None

        peer.asker.ask = ask  # type: ignore[method-assign, assignment]
        while peer.state != "rejected":
            await asyncio.sleep(0.01)
        assert f"it runs tailback {version}, this is {__version__}" in peer.why
        assert peer.offer is None
        peer.close()
        context.term()

    asyncio.run(asyncio.wait_for(all_of_it(), 60))
