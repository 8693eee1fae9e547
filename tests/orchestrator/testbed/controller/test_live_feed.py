"""Rows of several machines: whole ones, in order, and nothing that does not belong."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orchestrator.live import feed_messages
from orchestrator.live.feed_client import FeedClient
from orchestrator.live.live_session import Session
from orchestrator.live.sample_rows import AccumulatedRows
from orchestrator.plan import Plan
from orchestrator.recording import Column
from orchestrator.registry import Registry
from orchestrator.testbed import curve_keys
from orchestrator.testbed.agent.agent_messages import Rows
from orchestrator.testbed.controller.controller_client import curve_setup
from orchestrator.testbed.controller.distributed_job import DistributedJob
from orchestrator.testbed.controller.live_feed import KeyedFeed, MergedRows
from tests.orchestrator.worlds import line_of_three

WITHIN_S = 60.0
QUEUE = Column("switch", "switch.sink", "queue_bytes", "B", "gauge")


def sent(first: int, values: list[list[int]], owned: list[int]) -> tuple[Rows, bytes]:
    """What an agent sends of rows `first` and following; times are 10 per row."""
    count = len(values)
    times = [10 * (first + n) for n in range(count)]
    words = np.array([*times, *(v for row in values for v in row)], "<i8")
    columns = len(values[0])
    return Rows(first=first, count=count, columns=columns, owned=[owned]), words.tobytes()


def test_a_row_is_there_when_every_machine_has_sent_its_part():
    rows = MergedRows(4, 3, ["a", "b"])
    rows.add("a", *sent(0, [[1, 0, 0], [2, 0, 0]], [0]))
    assert rows.count() == 0
    rows.add("b", *sent(0, [[0, 5, 6]], [1, 2]))
    assert rows.count() == 1
    times, values = rows.read(0, 1)
    assert times.tolist() == [0]
    assert values.tolist() == [[1, 5, 6]]
    rows.add("b", *sent(1, [[0, 7, 8]], [1, 2]))
    assert rows.read(1, 2)[1].tolist() == [[2, 7, 8]]


@pytest.mark.parametrize(
    ("first", "owned", "cut"),
    [(-1, [0], 0), (4, [0], 0), (0, [3], 0), (0, [-1], 0), (0, [0], 8), (0, [0], 7)],
)
def test_what_does_not_fit_the_plan_is_left_out(first: int, owned: list[int], cut: int):
    rows = MergedRows(4, 3, ["a"])
    told, octets = sent(max(first, 0), [[1, 2, 3]], owned)
    told = told.model_copy(update={"first": first})
    rows.add("a", told, octets[: len(octets) - cut])
    assert rows.count() == 0
    assert not rows.read(0, 4)[1].any()


class Watching:
    """A feed with keys, and those who watch it: a folder of keys for each role."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[str] = []
        curve_keys.make(folder / "controller", "controller")
        self.session = Session(Plan(**line_of_three()).check(Registry.load()), "software")
        self.session.begin([QUEUE], AccumulatedRows(1000, 1), ("set", "act", "halt"))
        self.feed = KeyedFeed(
            self.session,
            "tcp://127.0.0.1:*",
            folder / "controller",
            lambda who, why: self.told.append(f"{who}: {why}"),
        )
        self.feed.start()
        self.clients: list[FeedClient] = []

    def client(self, role: str) -> FeedClient:
        """Somebody who may that."""
        curve_keys.make(self.folder / role, role)
        public = str(self.folder / role / curve_keys.PUBLIC)
        if role in curve_keys.ROLES:
            curve_keys.authorise(self.folder / "controller", public, role=role)
        server = str(self.folder / "controller" / curve_keys.PUBLIC)
        client = FeedClient(self.feed.address, "", curve_setup(self.folder / role, server))
        client.start()
        self.clients.append(client)
        return client

    def close(self) -> None:
        for client in self.clients:
            client.close()
        self.feed.close()


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Watching]:
    made = Watching(tmp_path)
    yield made
    made.close()


def until(what: Callable[[], Any], why: str) -> Any:
    end = time.monotonic() + WITHIN_S
    while not (found := what()):
        assert time.monotonic() < end, why
        time.sleep(0.01)
    return found


def answer(client: FeedClient, request: feed_messages.Request) -> feed_messages.Answer:
    """What is said to an order."""
    number = client.ask(request)
    found: list[Any] = []

    def answers() -> list[Any]:
        found.extend(client.take())
        return [m for m in found if m.kind == "answer" and m.request == number]

    told: feed_messages.Answer = until(answers, f"an answer among {found}")[0]
    return told


def sees(client: FeedClient) -> None:
    until(lambda: [m for m in client.take() if m.kind == "state"], "a state of the run")


def test_a_key_that_may_watch_sees_the_run_and_orders_nothing(watching: Watching):
    client = watching.client(curve_keys.WATCH)
    sees(client)
    for order in (
        feed_messages.Stop(),
        feed_messages.Abort(),
        feed_messages.SetValue(key="nodes.switch.service_rate", to="0.4Gb/s"),
    ):
        told = answer(client, order)
        assert not told.done
        assert told.text == "the key watch may watch; orders take one that may run"
    assert not watching.session.stopping
    assert not watching.session.aborted


@pytest.mark.parametrize("role", [curve_keys.RUN, curve_keys.ADMINISTER])
def test_a_key_that_may_run_ends_the_run(watching: Watching, role: str):
    assert answer(watching.client(role), feed_messages.Stop()).done
    assert watching.session.stopping


def test_a_stranger_sees_nothing(watching: Watching):
    stranger = watching.client("stranger")
    until(lambda: watching.told, "a word about the stranger")
    assert "not among the authorised" in watching.told[0]
    assert stranger.take() == []


@pytest.mark.parametrize("silent", [False, True])
def test_a_watcher_whose_key_is_revoked_sees_nothing_more(
    watching: Watching, silent: bool, monkeypatch: pytest.MonkeyPatch
):
    """Whether it asks on, and is refused, or only listens: then its connection is closed."""
    client = watching.client(curve_keys.RUN)
    sees(client)
    if silent:
        monkeypatch.setattr(client, "_watch", lambda: None)
        monkeypatch.setattr(client, "_send", lambda socket, request: None)
    curve_keys.revoke(watching.folder / "controller", curve_keys.RUN)
    until(lambda: any("was revoked, the connection" in line for line in watching.told), "closed")
    until(lambda: not watching.feed.watchers, "nobody watches")
    client.take()
    watching.session.say("a secret")
    watching.session.ring()
    time.sleep(0.5)
    assert [m for m in client.take() if m.kind == "said"] == []


def test_news_are_looked_for_some_ten_times_a_second() -> None:
    """Not without a pause: the controller has agents to hear meanwhile."""
    looked: list[float] = []
    watched: Any = SimpleNamespace(news=lambda: looked.append(time.monotonic()))
    job = object.__new__(DistributedJob)

    async def some_of_it() -> None:
        ticking = asyncio.create_task(job._tick(watched))
        while len(looked) < 4:
            await asyncio.sleep(0.01)
        ticking.cancel()

    asyncio.run(some_of_it())
    pauses = np.diff(looked)
    assert pauses.min() > 0.05
    assert pauses.min() < 0.3
