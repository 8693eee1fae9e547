"""What a client does when its controller is busy or gone: it waits, and says how to go on."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.errors import RunFailed
from orchestrator.testbed.controller import controller_client
from orchestrator.testbed.controller.controller_messages import Progress
from orchestrator.testbed.wire.rpc_client import Unanswered
from orchestrator.testbed.wire.socket_monitor import State

ADDRESS = "tcp://127.0.0.1:7011"


class Busy:
    """A connection whose other end does not answer some questions of a kind."""

    def __init__(self, silent: dict[str, int], state: State) -> None:
        self.silent, self.state = silent, state

    async def ask(self, kind: str, body: Any, within_s: float) -> Any:
        await asyncio.sleep(0)
        if self.silent.get(kind, 0) > 0:
            self.silent[kind] -= 1
            raise Unanswered("controller", f"no answer at {ADDRESS} within {within_s:g} s")
        return Progress(stage="done", over=True, exit_code=3, error="the end").model_dump(), None


def run(monkeypatch: pytest.MonkeyPatch, busy: Busy, said: list[str]) -> Progress:
    @contextlib.asynccontextmanager
    async def asking(*where: Any) -> Any:
        yield busy

    monkeypatch.setattr(controller_client, "_connection", asking)
    plan: Any = SimpleNamespace(to_toml=lambda: "x = 1", source="x")
    return asyncio.run(
        controller_client.run(
            ADDRESS, Path(), None, plan, False, Path(), lambda news: None, said.append
        )
    )


def test_a_busy_controller_is_asked_on(monkeypatch):
    said: list[str] = []
    told = run(monkeypatch, Busy({"follow": 5}, State.UP), said)
    assert told.error == "the end"
    assert len(said) == 5
    assert "busy" in said[0]


@pytest.mark.parametrize(
    ("silent", "state"),
    [({"follow": 10**9}, State.NONE), ({"follow": 10**9}, State.UP), ({"submit": 1}, State.UP)],
    ids=["gone", "busy for ever", "submit"],
)
def test_who_gives_up_says_how_to_have_the_run(monkeypatch, silent, state):
    monkeypatch.setattr(controller_client, "BUSY_S", 0.01)
    with pytest.raises(RunFailed, match=rf"`tailback fetch [0-9a-f]{{16}} --controller {ADDRESS}`"):
        run(monkeypatch, Busy(silent, state), [])
