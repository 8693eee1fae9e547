"""What a controller makes of an agent's answers."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
import zmq.asyncio

from orchestrator.testbed import keys
from orchestrator.testbed.controller.peer import Peer
from orchestrator.testbed.inventory import MachineEntry
from orchestrator.testbed.wire.asker import Refusal

OLD, NEW = "ab" * 8, "cd" * 8


@pytest.mark.parametrize(("meanwhile", "state"), [(NEW, None), (OLD, "failed")])
def test_a_late_answer_about_a_lease_given_back_does_not_end_the_next(tmp_path, meanwhile, state):
    async def what() -> None:
        pair = keys.make(tmp_path, "controller")
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

    asyncio.run(what())
