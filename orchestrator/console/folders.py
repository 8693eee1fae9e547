"""The runs and plans that can be opened: going on here, finished in a folder, shipped."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

from orchestrator.controller.messages import State
from orchestrator.live import places
from orchestrator.registry import Registry

MOST_RUNS = 200


@dataclass(frozen=True)
class Entry:
    """Something to open. `kind` is "live", "run" or "plan"; `key` says which."""

    kind: str
    key: str
    name: str
    state: str
    when: str
    text: str


def entries(base: Path) -> list[Entry]:
    """Everything, in the order in which a person looks for it."""
    return [*_live(), *_plans(), *_finished(base)]


def _live() -> list[Entry]:
    return [
        Entry("live", note.run, note.plan, "● running", "now", f"on {note.target}")
        for note in places.runs()
    ]


def at_controller(state: State, base: Path) -> list[Entry]:
    """The same of a controller: its runs, and what is here."""
    runs = [
        Entry(
            "remote",
            number,
            number,
            *(("● running", "now") if number in state.feeds else ("○ waits", "")),
            f"at {state.name or 'the controller'}",
        )
        for number in state.runs
    ]
    return [*runs, *_plans(), *_finished(base)]


def _plans() -> list[Entry]:
    found = []
    for name, path in sorted(Registry.load().plans().items(), key=lambda p: p[0] != "quickstart"):
        try:
            plan = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # `tailback plans` names it
        lasts = str(plan.get("duration", ""))
        found.append(Entry("plan", name, name, "plan", lasts, str(plan.get("title", ""))))
    return found


def _finished(base: Path) -> list[Entry]:
    """Run folders below `base`, the newest first."""
    results = sorted(base.glob("*/*/result.json"), key=lambda p: p.parent.name, reverse=True)
    found = []
    for path in results[:MOST_RUNS]:
        folder = path.parent
        if folder.name.startswith("."):
            continue
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
            state, text = str(result["verdict"]), f"on {result['target']}: {result['title']}"
        except (OSError, ValueError, KeyError):
            state, text = "unreadable", str(path)
        stamp = folder.name.partition("-")[0]
        when = f"{stamp[4:6]}-{stamp[6:8]} {stamp[9:11]}:{stamp[11:13]}" if "T" in stamp else ""
        found.append(Entry("run", str(folder), folder.parent.name, state, when, text))
    return found
