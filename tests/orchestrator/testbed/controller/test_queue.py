"""A controller's runs one after the other, its machines' news, its end; with made up runs."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from orchestrator.testbed.agent.agent_messages import Nic
from orchestrator.testbed.controller import controller_service as module
from orchestrator.testbed.controller.controller_service import Controller
from orchestrator.testbed.curve_keys import RUN, Caller, make
from orchestrator.testbed.inventory import Testbed
from orchestrator.testbed.wire.envelope import Request, Unacceptable

ALICE = Caller.of("A" * 40, "alice", RUN)
KEY = "0" * 40
BED = Testbed.model_validate(
    {
        "name": "lab",
        "machines": {name: {"address": "tcp://127.0.0.1:1", "key": KEY} for name in "ab"},
    }
)


@pytest.fixture(scope="module", autouse=True)
def earlier_modules_objects_frozen() -> None:
    """A controller collects after each run: to go through what other modules left takes seconds."""
    gc.freeze()


class Ring:
    """Refers to itself, as a run's models and tasks do: only the collector removes it."""

    def __init__(self) -> None:
        self.itself = self


class FakeJob:
    """A run that goes on until it is let; `begun` are those that were carried out, in order."""

    begun: ClassVar[list[str]] = []

    def __init__(self, asked: Any, *given: Any) -> None:
        self.asked, self.given = asked, given
        self.owner, self.over, self.cancelled = ALICE, False, False
        self.watched: Any = None
        self.kept: Any = None
        self.let = asyncio.Event()
        self.ends_when_cancelled = True

    def cancel(self) -> None:
        self.cancelled = True
        if self.ends_when_cancelled:
            self.let.set()

    async def carry_out(self) -> None:
        self.begun.append(self.asked.run)
        await self.let.wait()
        self.over = True

    def progress(self, after: int) -> Any:
        return SimpleNamespace(model_dump=lambda: {"after": after})


class FakePeer:
    """A machine that answers, of which nothing is known."""

    def __init__(self, context: Any, name: str, entry: Any, pair: Any) -> None:
        self.name, self.entry = name, entry
        self.state, self.why = "connecting", ""
        self.lease: str | None = None
        self.pulse: Any = None
        self.offer: Any = None
        self.comparison = SimpleNamespace(estimate=lambda: None)
        self.on_news: Callable[[], None] = lambda: None
        self.closed = False

    def close(self) -> None:
        self.closed = True


class Bench:
    def __init__(self, folder: Path) -> None:
        self.said: list[str] = []
        self.watch: Any = object()
        pair = make(folder / "keys", "controller")
        self.controller = Controller(BED, pair, folder / "runs", self.said.append, self.watch)

    def ask(self, kind: str, **body: Any) -> Any:
        handler = self.controller.handlers()[kind]
        told, _ = handler.call(
            ALICE, Request(session="0" * 16, id=1, kind=kind), handler.model(**body)
        )
        return told

    def submit(self, number: int) -> str:
        run = f"{number:016x}"
        self.ask("submit", run=run, plan="name = 1")
        return run

    def job(self, run: str) -> Any:
        return self.controller.jobs[run]

    def peer(self, name: str) -> Any:
        return self.controller.peers[name]


async def turn() -> None:
    """Let tasks go on as far as they can."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
def on_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "DistributedJob", FakeJob)
    monkeypatch.setattr(module, "Peer", FakePeer)
    monkeypatch.setattr(FakeJob, "begun", [])

    def carried_out(what: Callable[[Bench], Awaitable[None]]) -> None:
        async def whole() -> None:
            bench = Bench(tmp_path)
            await what(bench)
            bench.controller._task.cancel()
            bench.controller._context.term()

        asyncio.run(whole())

    return carried_out


def test_runs_are_carried_out_one_after_the_other(on_bench, tmp_path: Path):
    async def what(bench: Bench) -> None:
        first, second = bench.submit(1), bench.submit(2)
        await turn()
        assert FakeJob.begun == [first]
        assert bench.ask("status")["runs"] == [first, second]
        bench.job(first).let.set()
        await turn()
        assert FakeJob.begun == [first, second]
        assert bench.ask("status")["runs"] == [second]
        controller = bench.controller
        bed, peers, out, say, watch = bench.job(second).given
        assert (bed, peers, out) == (BED, controller.peers, tmp_path / "runs")
        assert (say, watch) == (controller._say, bench.watch)

    on_bench(what)


def test_only_so_many_that_are_over_are_kept_and_the_oldest_goes(
    on_bench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "FINISHED_RUNS", 2)

    async def what(bench: Bench) -> None:
        runs = []
        for number in range(4):
            runs.append(bench.submit(number))
            bench.job(runs[-1]).let.set()
            await turn()
        assert list(bench.controller.jobs) == runs[2:]
        with pytest.raises(Unacceptable, match=f"there is no run {runs[1]}"):
            bench.ask("follow", run=runs[1])
        assert bench.ask("follow", run=runs[2], after=7) == {"after": 7}

    on_bench(what)


def test_what_a_run_was_made_of_goes_when_it_is_over(on_bench):
    async def what(bench: Bench) -> None:
        run = bench.submit(1)
        ring = Ring()
        gone = weakref.ref(ring)
        bench.job(run).ring = ring
        del ring
        await turn()
        bench.job(run).let.set()
        bench.job(run).ring = None
        assert gone() is not None
        await turn()
        assert gone() is None

    on_bench(what)


def test_machines_are_told_as_they_are(on_bench):
    async def what(bench: Bench) -> None:
        peer = bench.peer("b")
        peer.state, peer.why, peer.lease = "up", "", "c" * 8
        peer.pulse = SimpleNamespace(state="running")
        there = {"cores": 4, "holds": {"gateware": ""}}
        peer.offer = SimpleNamespace(nics=[Nic(name="e1"), Nic(name="e2")], **there)
        peer.comparison = SimpleNamespace(
            estimate=lambda: SimpleNamespace(table=lambda: {"offset_s": 0.5})
        )
        bench.peer("a").why = "no answer yet"
        bench.submit(1)
        run = bench.submit(2)
        bench.job(run).watched = SimpleNamespace(address="/tmp/feed")
        told = bench.ask("status")
        assert (told["name"], told["feeds"]) == ("lab", {run: "/tmp/feed"})
        assert told["machines"] == [
            {
                "name": "a",
                "state": "connecting",
                "why": "no answer yet",
                "lease": None,
                "part": "",
                "nics": [],
                "cores": None,
                "holds": {},
                "clock": {},
            },
            {
                "name": "b",
                "state": "up",
                "why": "",
                "lease": "c" * 8,
                "part": "running",
                "nics": ["e1", "e2"],
                "cores": 4,
                "holds": {"gateware": ""},
                "clock": {"offset_s": 0.5},
            },
        ]

    on_bench(what)


def test_each_state_of_a_machine_is_said_once(on_bench):
    async def what(bench: Bench) -> None:
        for state, why in (("up", ""), ("up", "still"), ("gone", "silent"), ("up", "")):
            bench.peer("a").state, bench.peer("a").why = state, why
            bench.peer("a").on_news()
        bench.peer("b").state = "up"
        bench.peer("b").on_news()
        assert bench.said == [
            *("agent a: up", "agent a: gone: silent", "agent a: up", "agent b: up"),
        ]

    on_bench(what)


def test_what_only_looks_may_be_asked_again(on_bench):
    async def what(bench: Bench) -> None:
        handlers = bench.controller.handlers()
        assert {kind for kind, handler in handlers.items() if handler.reads} == {
            *("status", "follow", "files", "fetch"),
        }

    on_bench(what)


def test_files_of_a_run_that_is_kept(on_bench):
    async def what(bench: Bench) -> None:
        run = bench.submit(1)
        bench.job(run).kept = SimpleNamespace(
            listing=SimpleNamespace(model_dump=lambda: {"files": "those"}),
            cut=lambda number, offset: (
                SimpleNamespace(model_dump=lambda: {"chunk": (number, offset)}),
                b"octets",
            ),
        )
        assert bench.ask("files", run=run) == {"files": "those"}
        assert bench.ask("fetch", run=run, number=3, offset=9) == {"chunk": (3, 9)}

    on_bench(what)


def test_a_hundred_wait_and_no_more(on_bench):
    async def what(bench: Bench) -> None:
        for number in range(100):
            bench.submit(number)
        with pytest.raises(Unacceptable, match="100 runs are waiting already") as caught:
            bench.submit(100)
        assert caught.value.code == "busy"

    on_bench(what)


def closing(folder: Path, monkeypatch: pytest.MonkeyPatch, stubborn: bool) -> list[float]:
    """Close a controller with two runs; how long it slept each time before it looked again."""
    naps: list[float] = []

    async def nap(seconds: float) -> None:
        naps.append(seconds)
        await turn()

    async def whole() -> None:
        bench = Bench(folder)
        first, second = bench.submit(1), bench.submit(2)
        bench.job(first).ends_when_cancelled = not stubborn
        monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=nap))
        await turn()
        await bench.controller.close()
        assert bench.job(first).cancelled
        assert bench.job(second).cancelled
        assert [bench.job(run).over for run in (first, second)] == [not stubborn] * 2
        await turn()
        assert bench.controller._task.cancelled()
        assert [peer.closed for peer in bench.controller.peers.values()] == [True, True]
        assert bench.controller._context.closed

    asyncio.run(whole())
    return naps


def test_its_end_waits_for_what_goes_on_to_be_given_up(on_bench, tmp_path: Path, monkeypatch):
    assert closing(tmp_path, monkeypatch, stubborn=False) in ([0.1], [0.1] * 2, [0.1] * 3)


def test_its_end_does_not_wait_for_ever(on_bench, tmp_path: Path, monkeypatch):
    assert closing(tmp_path, monkeypatch, stubborn=True) == [0.1] * 100
