"""Launcher of runs: `tailback run` as a process of its own, which outlives the console.

What it says goes to a file that the console reads along.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from orchestrator import ownership, program_permission, python_command
from orchestrator.console.run_sources import LiveSource
from orchestrator.errors import BadInput
from orchestrator.live import session_registry
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.input_problems import near
from orchestrator.registry import Registry

WITH_RESULT = (0, 1, 3)
"""Exit codes of runs that have one."""
PROGRESS = re.compile(r"[a-z]+ \d+%( \(|$)")
"""Lines of a run's log that tell how far it is, which the top of the screen does."""
WATCHED_PS = 60 * 10**12
"""A simulated run is paced so that it lasts so long at least: a person looks around in it."""


@dataclass
class Draft:
    """A plan that is about to be run, with what was changed in it."""

    name: str
    resolved: ResolvedPlan
    target: str
    pace: float | None = 1.0
    settings: list[str] = field(default_factory=list)
    programs: bool = True
    """False if other users could change the plan's file: its commands are not started then."""

    @classmethod
    def of(cls, name: str) -> Draft:
        """From a shipped plan or a file. Raises BadInput."""
        registry = Registry.load()
        shipped = registry.plans()
        path = Path(shipped[name]) if name in shipped else Path(name)
        if not path.is_file():
            raise BadInput(name, f"neither a file nor a shipped plan; {near(name, shipped)}")
        draft = cls.from_plan(Plan.load(path, registry))
        draft.programs = name in shipped or ownership.exposure(path) is None
        return draft

    @classmethod
    def from_plan(cls, plan: Plan) -> Draft:
        """From a plan that is loaded."""
        resolved = plan.check(Registry.load())
        watched = float(f"{min(1.0, plan.duration / WATCHED_PS):.1g}")
        pace = getattr(resolved.options, "pace", None) or watched
        return cls(plan.name, resolved, plan.target, pace)

    def change(self, key: str, value: str) -> None:
        """Change one key. Raises BadInput; then nothing is changed."""
        setting = f"{key}={value}"
        plan = self.resolved.plan.with_settings([setting], said="")
        self.resolved = plan.check(Registry.load())
        self.target = plan.target
        self.settings.append(setting)


class StartedRun(Protocol):
    """Run started by the console, here or at a controller."""

    def new_lines(self) -> list[str]:
        """New lines of what it says."""

    def source(self) -> LiveSource | None:
        """Live source of the run; None while it cannot be watched."""

    def failure(self) -> str | None:
        """Why it ended, or did not begin, without a result; None when neither is so."""

    def ended(self) -> bool:
        """Return whether the run is over, with or without a result."""

    def run_folder(self) -> Path | None:
        """The run folder, once it is over and lies here."""

    def abort(self) -> None:
        """End it."""

    def close(self) -> None:
        """Let go of what belongs to the console; the run goes on."""


class LocalRun:
    """Run started on this machine; `close` removes its files, not the run."""

    def __init__(self, draft: Draft, out: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tailback-console-")
        base = Path(self._folder.name)
        plan = base / f"{draft.name}.toml"
        plan.write_text(draft.resolved.plan.to_toml(), encoding="utf-8")
        self._log, self._result = base / "log", base / "result.json"
        self._read = 0
        command = python_command.module(
            "orchestrator.cli", "run", str(plan), "--out", str(out), "--json"
        )
        command += ["--target", draft.target]
        if not draft.programs and program_permission.chosen() is None:
            command.append("--no-programs")
        if draft.pace is not None and draft.target == "simulated":
            command += ["--pace", f"{draft.pace:g}"]
        with self._log.open("wb") as log, self._result.open("wb") as result:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=result,
                stderr=log,
                env=python_command.environment(),
                start_new_session=True,  # Ctrl-C in the console is not for it
            )

    def source(self) -> LiveSource | None:
        """Live source of the run; None while it cannot be watched."""
        note = next(
            (n for n in session_registry.running_sessions() if n.process == self.process.pid), None
        )
        return LiveSource(note.address, note.run, note.plan) if note is not None else None

    def failure(self) -> str | None:
        """Why it ended without a result; None when that is not so."""
        if self.process.poll() in (None, *WITH_RESULT):
            return None
        last = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return last[-1] if last else f"exit code {self.process.returncode}"

    def ended(self) -> bool:
        """Return whether the run is over, with or without a result."""
        return self.process.poll() is not None

    def run_folder(self) -> Path | None:
        """The run folder, once it is over and lies here."""
        if self.process.poll() not in WITH_RESULT:
            return None
        try:
            folder = json.loads(self._result.read_bytes())["folder"]
        except (ValueError, LookupError, TypeError):
            return None  # it failed, which its log tells
        return Path(folder) if folder else None

    def abort(self) -> None:
        """End it."""
        self.process.terminate()

    def new_lines(self) -> list[str]:
        """New lines of what it says."""
        text = self._log.read_bytes()
        end = text.rfind(b"\n") + 1
        fresh, self._read = text[self._read : end], max(end, self._read)
        lines = fresh.decode("utf-8", "replace").splitlines()
        return [line for line in lines if not PROGRESS.match(line)]

    def close(self) -> None:
        """Remove plan and log; the run has read the one and keeps the other open."""
        self._folder.cleanup()
