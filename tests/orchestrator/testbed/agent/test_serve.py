"""An agent's process: roles at its socket, release by force, and its end in a flood."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import zmq

from orchestrator import interpreter
from orchestrator.errors import RunFailed
from orchestrator.testbed import keys
from orchestrator.testbed.agent.protocol import Hello, Lease
from orchestrator.testbed.controller import client
from orchestrator.testbed.wire.envelope import Request, pack
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="agents are for Linux")
LEASE = "ab" * 8


def test_an_agent_keeps_roles_and_ends_on_sigterm_while_it_is_flooded(tmp_path: Path):
    own = keys.make(tmp_path / "agent", "agent")
    for role in ("run", "administer"):
        keys.make(tmp_path / role, role)
        keys.authorise(tmp_path / "agent", str(tmp_path / role / keys.PUBLIC), role=role)
    words = ["agent", "--listen", "tcp://127.0.0.1:*", "--name", "here"]
    words += ["--keys", str(tmp_path / "agent"), "--state", str(tmp_path / "state")]
    agent = subprocess.Popen(
        interpreter.module("orchestrator.cli", *words),
        stderr=subprocess.PIPE,
        text=True,
        env=interpreter.environment(),
    )
    try:
        assert agent.stderr is not None
        said = next(line for line in agent.stderr if " listens on " in line)
        address = said.split(" listens on ")[1].split(",")[0]

        async def lease() -> None:
            async with client._asking(address, tmp_path / "run", own.public) as asker:
                await asker.ask("hello", Hello(), within_s=60)
                asked = Lease(lease=LEASE, controller="lab", ttl_ms=60_000, nics=[])
                await asker.ask("lease", asked, within_s=60)

        def force(role: str) -> list[str]:
            return asyncio.run(client.force(address, tmp_path / role, own.public, "lab"))

        asyncio.run(lease())
        with pytest.raises(RunFailed, match="force takes one that may administer"):
            force("run")
        assert force("administer") == [LEASE]

        flood(address, own.public, keys.own(tmp_path / "run"), agent)
        began = time.monotonic()
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(PATIENCE_S) == 0
        print(f"ended {time.monotonic() - began:.2f} s after SIGTERM, in a flood")
    finally:
        agent.kill()
        agent.communicate()


def flood(
    address: str, public: str, pair: keys.Pair, agent: subprocess.Popen[str]
) -> threading.Thread:
    """Send requests as fast as they go, until the agent has ended."""
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.curve_serverkey, socket.curve_publickey = public.encode(), pair.public.encode()
    socket.curve_secretkey = pair.secret
    socket.linger, socket.sndtimeo = 0, 100
    socket.connect(address)
    socket.send(pack(Request(session="f" * 16, id=1, kind="beat", body={})))
    assert socket.recv()

    def send() -> None:
        number = 1
        while agent.poll() is None:
            number += 1
            try:
                socket.send(pack(Request(session="f" * 16, id=number, kind="beat", body={})))
            except zmq.Again:
                continue
        socket.close()

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    time.sleep(1.0)
    return thread
