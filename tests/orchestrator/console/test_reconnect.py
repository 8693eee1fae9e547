"""A connection that is lost: said, what there is kept and marked, taken up again by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from textual.widgets import Static

from orchestrator.console import run_sources
from orchestrator.console.app import Console
from orchestrator.console.controller_session import ControllerSession
from orchestrator.console.run_sources import LiveSource
from orchestrator.console.views.runs_view import Runs
from orchestrator.live import session_registry
from orchestrator.live.feed_server import FeedServer
from orchestrator.live.live_session import Session
from orchestrator.live.sample_rows import AccumulatedRows
from orchestrator.testbed import curve_keys
from orchestrator.testbed.controller import controller_client
from orchestrator.testbed.controller.controller_messages import State, Status
from orchestrator.testbed.controller.live_feed import KeyedFeed
from orchestrator.testbed.wire.rpc_server import Handler, RequestDispatcher, RpcServer
from tests.orchestrator.console.made import STEP, data

WITHIN_S = 60.0


def rows(session: Session, count: int) -> None:
    """So many further rows."""
    kept = session.rows
    assert isinstance(kept, AccumulatedRows)
    numbers = np.arange(kept.count(), kept.count() + count)
    kept.add(numbers * STEP, np.repeat(numbers[:, None], len(session.columns), axis=1))


async def until(app: Console, true: Callable[[], bool], what: str) -> None:
    """Let the console work until something is so."""
    end = asyncio.get_running_loop().time() + WITHIN_S
    while not true():
        assert asyncio.get_running_loop().time() < end, f"never: {what}; {app._top()}"
        app.tick()
        await asyncio.sleep(0.02)


class Ways:
    """How a console and a run come together. `keyed` is what a controller does for its runs."""

    def __init__(self, base: Path) -> None:
        self._server, self._user = base / "server", base / "user"
        self._address = "tcp://127.0.0.1:*"
        for folder in (self._server, self._user):
            curve_keys.make(folder, folder.name)
        curve_keys.authorise(self._server, str(self._user / curve_keys.PUBLIC))
        curve_keys.authorise(
            self._user, str(self._server / curve_keys.PUBLIC), kind=curve_keys.KNOWN
        )

    def private(self, session: Session) -> FeedServer:
        """A socket in the user's private folder."""
        return FeedServer(
            session,
            session_registry.address_in(session_registry.sessions_folder() or Path(), session.run)
            or "",
        )

    def keyed(self, session: Session) -> FeedServer:
        """A port, at first any, that lets in those whose keys are authorised."""
        feed = KeyedFeed(session, self._address, self._server, lambda name, why: None)
        self._address = feed.address
        return feed

    def prepare(self, socket: Any) -> None:
        """What the console's socket is given."""
        controller_client.curve_setup(self._user, None)(socket)


@pytest.mark.usefixtures("catalog")
@pytest.mark.parametrize("keyed", [False, True], ids=["here", "with keys"])
def test_a_lost_connection_is_said_and_taken_up_again(
    keyed: bool, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_sources, "STALE_S", 1.5)
    made = data()
    assert made.resolved is not None
    session = Session(made.resolved, "simulated")
    session.begin(made.columns, AccumulatedRows(1000, len(made.columns)), ("set", "act", "halt"))
    ways = Ways(alone)
    serve = ways.keyed if keyed else ways.private
    rows(session, 50)
    feed = serve(session)
    feed.start()

    async def script(app: Console) -> None:
        run = app.data
        assert run is not None
        await until(app, lambda: run.rows == 50, "the rows there are")
        feed.close()
        await until(app, lambda: run.stale_s > 0, "the silence is noticed")
        app.action_show_view("overview")
        app.draw()
        assert "STALE" in str(app._top())
        assert "reconnecting" in str(app._top())
        assert run.rows == 50, "what there is stays"
        assert run.live, "nobody said that it has ended"
        rows(session, 30)
        second = serve(session)
        second.start()
        try:
            await until(app, lambda: not run.stale_s and run.rows == 80, "it goes on")
            assert "STALE" not in str(app._top())
            assert run.dropped == 0
            assert run.times.tolist() == [number * STEP for number in range(80)]
        finally:
            second.close()

    source = LiveSource(feed.address, session.run, "demo", ways.prepare if keyed else None)
    watch(Console(source, ticking=False), script)


def test_a_controller_that_falls_silent_is_said_and_heard_again(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controller_client, "PATIENCE_S", 1.0)
    Ways(alone)
    pair = curve_keys.own(alone / "server")
    answer = State(name="lab", machines=[], runs=["r1"]).model_dump()
    desk = RequestDispatcher(
        {"status": Handler(Status, lambda peer, request, body: (answer, None), reads=True)}
    )
    told: list[str] = []

    def server(endpoint: str) -> RpcServer:
        return RpcServer(endpoint, pair, alone / "server", desk, told.append)

    async def script(app: Console) -> None:
        first = server("tcp://127.0.0.1:*")
        first.start()
        site = app.site = ControllerSession(first.endpoint, alone / "user", None)
        site.start()
        try:
            await until(app, lambda: site.state.runs == ["r1"], "what it says")
            app.draw()
            assert "connected" in hint(app)
            first.close()
            await until(app, lambda: bool(site.why), "the silence is noticed")
            app.draw()
            assert site.why in hint(app)
            assert "r1" in [entry.name for entry in app.query_one(Runs).entries.values()]
            second = server(first.endpoint)
            second.start()
            try:
                await until(app, lambda: not site.why, "it is heard again")
                app.draw()
                assert "connected" in hint(app)
            finally:
                second.close()
        finally:
            await asyncio.to_thread(site.close)

    watch(Console(base=alone, ticking=False), script)
    assert told == [], "nobody was turned away"


def hint(app: Console) -> str:
    """What stands above the list of runs."""
    return str(app.query_one("#hint", Static).content)


def watch(app: Console, script: Callable[[Console], Awaitable[None]]) -> None:
    """Run a console and a script."""

    async def go() -> None:
        async with app.run_test(size=(80, 24)):
            await script(app)
        if app.source is not None:
            app.source.close()

    asyncio.run(go())
