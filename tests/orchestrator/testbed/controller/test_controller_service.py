"""Who may end whose run, and how many may wait; asked as the server asks, without a socket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.testbed.controller import controller_messages
from orchestrator.testbed.controller import controller_service as module
from orchestrator.testbed.controller.controller_service import Controller
from orchestrator.testbed.curve_keys import ADMINISTER, RUN, WATCH, Caller, make
from orchestrator.testbed.inventory import Testbed
from orchestrator.testbed.wire.envelope import Request, Unacceptable

OURS, THEIRS = "0123456789abcdef", "fedcba9876543210"
ALICE = Caller.of("A" * 40, "alice", RUN)
BOB = Caller.of("B" * 40, "bob", RUN)
CHIEF = Caller.of("C" * 40, "chief", ADMINISTER)
SAME_NAME = Caller.of("D" * 40, "alice", RUN)


class Bench:
    """A controller of no machines that carries nothing out, and what it said."""

    def __init__(self, folder: Path) -> None:
        self.said: list[str] = []
        pair = make(folder / "keys", "controller")
        self.controller = Controller(Testbed(name="lab"), pair, folder / "runs", self.said.append)
        self.controller._task.cancel()

    def ask(self, who: Caller, kind: str, **body: Any) -> dict[str, Any]:
        handler = self.controller.handlers()[kind]
        request = Request(session="0" * 16, id=1, kind=kind)
        told, _ = handler.call(who, request, handler.model(**body))
        return told

    def cancelled(self, run: str) -> bool:
        return self.controller.jobs[run]._cancelled

    async def __aenter__(self) -> Bench:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.controller._context.term()


async def test_a_run_is_ended_by_the_key_that_asked_for_it_or_by_an_administrator(tmp_path: Path):
    async with Bench(tmp_path) as bench:
        bench.ask(ALICE, "submit", run=OURS, plan="name = 1")
        bench.ask(ALICE, "submit", run=THEIRS, plan="name = 1")
        for stranger in (BOB, SAME_NAME):
            with pytest.raises(Unacceptable, match=f"run {OURS} is alice's") as caught:
                bench.ask(stranger, "cancel", run=OURS)
            assert caught.value.code == "not-yours"
            assert "ended by one that may administer" in caught.value.sentence
            assert not bench.cancelled(OURS)
        bench.ask(ALICE, "cancel", run=OURS)
        assert bench.cancelled(OURS)
        assert not bench.cancelled(THEIRS)
        bench.ask(CHIEF, "cancel", run=THEIRS)
        assert bench.cancelled(THEIRS)


async def test_what_takes_which_role(tmp_path: Path):
    async with Bench(tmp_path) as bench:
        roles = {kind: handler.role for kind, handler in bench.controller.handlers().items()}
        assert roles == {
            "status": WATCH,
            "submit": RUN,
            "follow": WATCH,
            "cancel": RUN,
            "files": WATCH,
            "fetch": WATCH,
        }


async def test_a_run_is_asked_for_once_and_only_so_many_wait(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(module, "WAITING", 2)
    async with Bench(tmp_path) as bench:
        bench.ask(ALICE, "submit", run=OURS, plan="name = 1")
        assert bench.said == [f"run {OURS}: asked for by alice"]
        with pytest.raises(Unacceptable, match="a run of that name already"):
            bench.ask(BOB, "submit", run=OURS, plan="name = 2")
        assert bench.controller.jobs[OURS].owner == ALICE, "whose run it is stays"
        bench.ask(BOB, "submit", run=THEIRS, plan="name = 1")
        with pytest.raises(Unacceptable, match="2 runs are waiting already"):
            bench.ask(BOB, "submit", run="0" * 16, plan="name = 1")
        assert bench.ask(BOB, "status")["runs"] == [OURS, THEIRS]
        bench.controller.jobs[OURS].over = True
        bench.ask(BOB, "submit", run="0" * 16, plan="name = 1")
        assert bench.ask(BOB, "status")["runs"] == [THEIRS, "0" * 16]


async def test_of_a_run_that_is_not_there_or_not_over_nothing_can_be_fetched(tmp_path: Path):
    async with Bench(tmp_path) as bench:
        with pytest.raises(Unacceptable, match=f"there is no run {OURS}"):
            bench.ask(ALICE, "cancel", run=OURS)
        bench.ask(ALICE, "submit", run=OURS, plan="name = 1")
        assert controller_messages.Progress(**bench.ask(BOB, "follow", run=OURS)).stage == "waiting"
        for kind, more in (("files", {}), ("fetch", {"number": 0, "offset": 0})):
            with pytest.raises(Unacceptable, match="has no folder: it is not over") as caught:
                bench.ask(ALICE, kind, run=OURS, **more)
            assert caught.value.code == "no-folder"
