"""Catalogue of runs, sweeps and plans that can be opened: live, finished, shipped."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

from orchestrator.console.sweep_sources import RESULT
from orchestrator.errors import BadInput
from orchestrator.live import session_registry
from orchestrator.plan.plan import composed
from orchestrator.registry import Registry
from orchestrator.terminal.escape_control import plain
from orchestrator.testbed.controller.controller_messages import State

MOST_RUNS = 200
LATEST = 5
"""Finished runs that stand before the plans, of which there are many."""


@dataclass(frozen=True)
class Entry:
    """Something to open. `kind` is "live", "remote", "run", "sweeping", "swept" or "plan"; `key`
    says which. The texts that are shown are plain, whatever they were read from."""

    kind: str
    key: str
    name: str
    state: str
    when: str
    text: str

    def __post_init__(self) -> None:
        for name in ("name", "state", "when", "text"):
            object.__setattr__(self, name, plain(getattr(self, name)))


def entries(base: Path) -> list[Entry]:
    """Everything, in the order in which a person looks for it."""
    return [*_live(), *_sweeping(), *_here(base)]


def _here(base: Path) -> list[Entry]:
    """Entries that are not live: the plan for a first run, or the latest finished runs, first."""
    finished = _finished(base)
    return [*finished[:LATEST], *_plans(), *finished[LATEST:]]


def _live() -> list[Entry]:
    return [
        Entry("live", note.run, note.plan, "● running", "now", f"on {note.target}")
        for note in session_registry.running_sessions()
    ]


def _sweeping() -> list[Entry]:
    return [
        Entry(
            "sweeping",
            str(path),
            str(head.get("plan")),
            "● sweeping",
            "now",
            f"sweep of {head.get('places')} places: {head.get('title')}",
        )
        for path, head in session_registry.running_sweeps()
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
    return [*runs, *_here(base)]


def _plans() -> list[Entry]:
    found = []
    for name, path in sorted(Registry.load().plans().items(), key=lambda p: p[0] != "quickstart"):
        try:
            lasts, title = _plan_details(path, path.stat().st_mtime_ns)
        except (BadInput, OSError, ValueError, RecursionError):
            continue  # `tailback plans` names it
        found.append(Entry("plan", name, name, "plan", lasts, title))
    return found


@functools.lru_cache(maxsize=4 * MOST_RUNS)
def _plan_details(path: Path, changed: int) -> tuple[str, str]:
    """Duration and title of a plan; `changed` is a cache key of the file's version."""
    plan = composed(path, Registry.load())[1]
    return str(plan.get("duration", "")), str(plan.get("title", ""))


@functools.lru_cache(maxsize=4 * MOST_RUNS)
def _run_details(path: Path, changed: int) -> tuple[str, str]:
    """Verdict, target and title of a result; `changed` is a cache key of the file's version."""
    result = json.loads(path.read_text(encoding="utf-8"))
    return str(result["verdict"]), f"on {result['target']}: {result['title']}"


@functools.lru_cache(maxsize=4 * MOST_RUNS)
def _sweep_details(path: Path, changed: int) -> str:
    """Result of a sweep; `changed` is a cache key of the file's version."""
    result = json.loads(path.read_text(encoding="utf-8"))
    axes = ", ".join(axis["key"] for axis in result["axes"])
    return f"{result['points']} points over {axes}: {result['title']}"


def _finished(base: Path) -> list[Entry]:
    """Folders of runs and sweeps below `base`, the newest first."""
    paths = [path for name in ("result.json", RESULT) for path in base.glob(f"*/*/{name}")]
    results = sorted(paths, key=lambda path: path.parent.name, reverse=True)
    found = []
    for path in results[:MOST_RUNS]:
        folder = path.parent
        if folder.name.startswith("."):
            continue
        kind = "swept" if path.name == RESULT else "run"
        try:
            if kind == "swept":
                state, text = "sweep", _sweep_details(path, path.stat().st_mtime_ns)
            else:
                state, text = _run_details(path, path.stat().st_mtime_ns)
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            state, text = "unreadable", str(path)
        stamp = folder.name.partition("-")[0]
        when = f"{stamp[4:6]}-{stamp[6:8]} {stamp[9:11]}:{stamp[11:13]}" if "T" in stamp else ""
        found.append(Entry(kind, str(folder), folder.parent.name, state, when, text))
    return found
