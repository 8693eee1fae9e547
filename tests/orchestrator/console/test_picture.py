"""The picture on the console's page is the console of today, over a run of quickstart.

`TAILBACK_SCREENS=write` renews it; look at it before it is committed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from orchestrator.console.app import Console
from orchestrator.console.run_sources import FolderSource
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run as carry_out
from tests.orchestrator.console import test_screens

DOCS = Path(__file__).parents[3] / "docs"
SIZE = (100, 30)


def test_the_picture_on_the_page(
    alone: Path, listed: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan.load(Registry.load().plans()["quickstart"])
    made = carry_out(plan, target="simulated", out=tmp_path / "runs", report=False).folder
    assert made is not None
    folder = made.rename(made.parent / "20260101T120000Z-abcdef")
    app = test_screens.console(FolderSource(folder))
    monkeypatch.setattr(test_screens, "STORED", DOCS)
    wrong: list[str | None] = []

    async def look(pilot: Pilot[None]) -> None:
        assert isinstance(app, Console)
        app.action_show_view("queues")
        app.tick()
        await pilot.pause()
        await app.workers.wait_for_complete()
        app.draw()
        wrong.append(await test_screens.compare(app, pilot, "console", tmp_path))

    test_screens.run(app, SIZE, look)
    assert wrong == [None]
