"""What others have written steers no terminal: nowhere on a screen, nowhere in a summary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.cli import run_summary
from orchestrator.console import run_catalog, run_sources
from orchestrator.console.app import Console
from orchestrator.console.key_bindings import VIEWS
from orchestrator.console.views.overview_view import reasons
from orchestrator.live import feed_messages
from orchestrator.recording import FrameSeen
from tests.orchestrator.console.made import PLAN, Catalog, MadeSource, data
from tests.orchestrator.console.test_key_actions import console, driving

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m"
RESULT: dict[str, Any] = {
    "plan": f"demo{EVIL}",
    "target": f"simulated{EVIL}",
    "title": EVIL,
    "seed": 1,
    "verdict": f"met{EVIL}",
    "expectations": [
        {"metric": EVIL, "of": EVIL, "phase": EVIL, "value": 1.0, "min": 0.0, "unit": "B"}
        | {"met": True}
    ],
    "fidelity": {"verdict": f"invalid{EVIL}", "reasons": [EVIL], "lateness_s": {EVIL: 1.0}}
    | {"held": {"share": 0.0}, "lost_outside_queues": {EVIL: 1}}
    | {"stalls": {"count": 3, "floor_s": 5e-5, "felt": 1, "loops": {EVIL: {"felt": 1}}}},
    "notes": [EVIL],
    "performance": {"data_frames": 1, "wall_s": 1.0, "frames_per_cpu_s": 1.0},
}
EVENT = {"time_ps": 1, "kind": EVIL, "entity": EVIL, "detail": {"to": EVIL}}


@pytest.fixture
def tampered(tmp_path: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run folder with control characters in all of its texts."""
    folder = tmp_path / "runs" / f"demo{EVIL}" / f"20260101T000000Z-{EVIL}"
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(RESULT))
    (folder / "events.jsonl").write_text(json.dumps(EVENT) + "\n")
    (folder / "plan.toml").write_text(PLAN)
    made = data("done", rows=20)
    columns = [type(c)(c.node, c.entity + EVIL, c.quantity, c.unit, c.kind) for c in made.columns]
    answers = [(np.array(made.times), columns, np.array(made.values))]
    frame = FrameSeen(1, EVIL, True, EVIL, EVIL)
    more = {"tailback_samples": answers, "tailback_frames": [[frame]]}
    usual = catalog.call
    monkeypatch.setattr(
        catalog, "call", lambda hook, **words: more[hook] if hook in more else usual(hook, **words)
    )
    return folder


def steers(text: str) -> bool:
    return any(one in text for one in ("\x1b", "\x07", "\x9b"))


async def walk(pilot: Any, app: Console) -> None:
    """Look at every view; nothing on the screen steers."""
    for view in VIEWS:
        app.action_show_view(view)
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.pause()
        lines = [
            segment.text for strip in app.screen._compositor.render_strips() for segment in strip
        ]
        assert not steers("".join(lines)), view
        if view == "overview":
            assert "owned" in "".join(lines), "it is told, in characters that do nothing"


@pytest.mark.usefixtures("alone")
async def test_a_tampered_folder_steers_no_screen(tampered: Path) -> None:
    source = run_sources.FolderSource(tampered)
    assert [
        steers(entry.name + entry.text) for entry in run_catalog.entries(tampered.parents[1])
    ] == [False]
    async with driving(console(source, base=tampered.parents[1]), (120, 40)) as (pilot, app):
        await walk(pilot, app)


def test_stalls_are_told_below_the_verdict(tampered: Path) -> None:
    found = run_sources.FolderSource(tampered).data
    (line,) = [line for line in reasons(found).splitlines() if line.startswith("  stalls")]
    assert line.startswith("  stalls 3 above 50 µs; 1 of them delayed control loops (at ")
    assert not steers(line)
    assert found.judged is not None
    found.judged.fidelity.pop("stalls")
    assert "  stalls" not in reasons(found)


@pytest.mark.usefixtures("catalog", "alone", "listed")
async def test_what_a_live_run_says_steers_no_screen() -> None:
    source = MadeSource(data())
    state = source.data.state
    assert state is not None
    worse = state.model_copy(update={"reason": f"owned {EVIL}", "detail": EVIL, "stage": "failed"})
    run_sources.take_in(source.data, worse)
    run_sources.take_in(source.data, feed_messages.LogLine(number=1, level="error", text=EVIL))
    async with driving(console(source), (120, 40)) as (pilot, app):
        await walk(pilot, app)


def test_a_summary_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    run_summary.show_result(RESULT, Path(f"/runs/{EVIL}"))
    told = capsys.readouterr().out
    assert not steers(told)
    assert told.count("owned") >= 9
    assert "stalls    3 above 50 µs; 1 of them delayed control loops (at " in told
