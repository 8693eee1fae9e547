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

from orchestrator import python_command
from orchestrator.errors import RunFailed
from orchestrator.testbed import curve_keys
from orchestrator.testbed.agent.agent_messages import Hello, Lease
from orchestrator.testbed.controller import controller_client
from orchestrator.testbed.wire.envelope import Request, pack
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="agents are for Linux")
LEASE = "ab" * 8


def test_an_agent_keeps_roles_and_ends_on_sigterm_while_it_is_flooded(tmp_path: Path):
    own = curve_keys.make(tmp_path / "agent", "agent")
    for role in ("run", "administer"):
        curve_keys.make(tmp_path / role, role)
        curve_keys.authorise(
            tmp_path / "agent", str(tmp_path / role / curve_keys.PUBLIC), role=role
        )
    words = ["agent", "--listen", "tcp://127.0.0.1:*", "--name", "here"]
    words += ["--keys", str(tmp_path / "agent"), "--state", str(tmp_path / "state")]
    agent = subprocess.Popen(
        python_command.module("orchestrator.cli", *words),
        stderr=subprocess.PIPE,
        text=True,
        env=python_command.environment(),
    )
    try:
        assert agent.stderr is not None
        said = next(line for line in agent.stderr if " listens on " in line)
        address = said.split(" listens on ")[1].split(",")[0]

        async def lease() -> None:
            async with controller_client._connection(
                address, tmp_path / "run", own.public
            ) as asker:
                await asker.ask("hello", Hello(), within_s=60)
                asked = Lease(lease=LEASE, controller="lab", ttl_ms=60_000, nics=[])
                await asker.ask("lease", asked, within_s=60)

        def force(role: str) -> list[str]:
            return asyncio.run(controller_client.force(address, tmp_path / role, own.public, "lab"))

        asyncio.run(lease())
        with pytest.raises(RunFailed, match="force takes one that may administer"):
            force("run")
        assert force("administer") == [LEASE]

        flood(address, own.public, curve_keys.own(tmp_path / "run"), agent)
        began = time.monotonic()
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(PATIENCE_S) == 0
        print(f"ended {time.monotonic() - began:.2f} s after SIGTERM, in a flood")
    finally:
        agent.kill()
        agent.communicate()


def flood(
    address: str, public: str, pair: curve_keys.Pair, agent: subprocess.Popen[str]
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
