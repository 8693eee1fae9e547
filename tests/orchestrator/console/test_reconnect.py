"""A connection that is lost: said, what there is kept and marked, taken up again by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest

from orchestrator.console import sources
from orchestrator.console.app import Console
from orchestrator.console.sources import LiveSource
from orchestrator.live import places
from orchestrator.live.feed import Feed
from orchestrator.live.rows import KeptRows
from orchestrator.live.session import Session
from tests.orchestrator.console.made import STEP, data

WITHIN_S = 60.0


def rows(session: Session, count: int) -> None:
    """So many further rows."""
    kept = session.rows
    assert isinstance(kept, KeptRows)
    numbers = np.arange(kept.count(), kept.count() + count)
    kept.add(numbers * STEP, np.repeat(numbers[:, None], len(session.columns), axis=1))


async def until(app: Console, true: Callable[[], bool], what: str) -> None:
    """Let the console work until something is so."""
    end = asyncio.get_running_loop().time() + WITHIN_S
    while not true():
        assert asyncio.get_running_loop().time() < end, f"never: {what}; {app._top()}"
        app.tick()
        await asyncio.sleep(0.02)


@pytest.mark.usefixtures("catalog")
def test_a_lost_connection_is_said_and_taken_up_again(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "STALE_S", 1.5)
    made = data()
    assert made.resolved is not None
    session = Session(made.resolved, "simulated")
    session.begin(made.columns, KeptRows(1000, len(made.columns)), ("set", "act", "halt"))
    address = places.address_in(places.folder() or Path(), session.run)
    rows(session, 50)
    feed = Feed(session, address)
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
        second = Feed(session, address)
        second.start()
        try:
            await until(app, lambda: not run.stale_s and run.rows == 80, "it goes on")
            assert "STALE" not in str(app._top())
            assert run.dropped == 0
            assert run.times.tolist() == [number * STEP for number in range(80)]
        finally:
            second.close()

    watch(Console(LiveSource(address, session.run, "demo"), ticking=False), script)


def watch(app: Console, script: Callable[[Console], Awaitable[None]]) -> None:
    """Run a console and a script."""

    async def go() -> None:
        async with app.run_test(size=(80, 24)):
            await script(app)
        if app.source is not None:
            app.source.close()

    asyncio.run(go())
