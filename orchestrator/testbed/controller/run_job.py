"""Job of a controller: from the plan's text to the run folder, around a `LeasedRun` run."""

from __future__ import annotations

import asyncio
import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Generic, TypeVar

from orchestrator.errors import RunFailed, TailbackError
from orchestrator.plan import ResolvedPlan
from orchestrator.progress import moment
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.execute_run import write_run
from orchestrator.run.guarded_files import draw_report
from orchestrator.run.manifest import build_manifest
from orchestrator.run.run_folder import RunFolder
from orchestrator.testbed.controller.agent_connection import Peer
from orchestrator.testbed.controller.controller_messages import Progress, Submit
from orchestrator.testbed.controller.live_feed import Watched
from orchestrator.testbed.controller.run_artifacts import RunArtifacts
from orchestrator.testbed.controller.run_lifecycle import LeasedRun, RunEnded
from orchestrator.testbed.curve_keys import RUN, Caller
from orchestrator.testbed.inventory import Testbed

SPOOL = "parts"
"""Of a run folder, while it is not complete: what came from the agents."""
EXIT = {"met": 0, "unjudged": 0, "missed": 1, "uncertain": 3, "stopped": 3, "invalid": 3}


LONGEST_ERROR, LONGEST_LOGGED = 16_000, 500
"""Characters of a reason that the asker gets, and that the controller logs."""


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 4]} ..."


Carrying = TypeVar("Carrying", bound=LeasedRun)


class RunJob(ABC, Generic[Carrying]):
    """Submitted run. `lines` are the progress messages of its followers."""

    def __init__(
        self,
        asked: Submit,
        bed: Testbed,
        peers: dict[str, Peer],
        out: Path,
        say: Callable[[str], None],
    ) -> None:
        self.asked, self._bed, self._peers, self._out, self._say = asked, bed, peers, out, say
        self.made_on: dict[str, Any] | None = None
        """What another machine, which made all of it, said of itself, for the manifest."""
        self.watched: Watched | None = None
        self.owner = Caller.of("", "nobody", RUN)
        """Whose key it was asked for with."""
        self.run: Carrying | None = None
        self.lines: list[str] = []
        self.over = False
        self.exit_code = 0
        self.error: str | None = None
        self.folder: str | None = None
        self.result: dict[str, Any] | None = None
        self.kept: RunArtifacts | None = None
        self._stage = ("waiting", "")
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Return whether the run was cancelled."""
        return self._cancelled

    def cancel(self) -> None:
        """Cancel the run."""
        self._cancelled = True
        if self.run is not None:
            self.run.cancel()

    def progress(self, after: int) -> Progress:
        """Progress of the run."""
        stage, detail = self._stage
        done = self.run.done if self.run is not None and self.run.stage == stage else 0.0
        if self.run is not None and self.run.stage == "running" and self.run.start_ns:
            duration = self.run.resolved.plan.duration / 1e12
            now = self.run.now_ps() / 1e12
            done = min(now / duration, 1.0)
            detail = moment(min(now, duration), duration)
        return Progress(
            stage=stage,
            detail=detail,
            done=done,
            lines=self.lines[after:],
            over=self.over,
            exit_code=self.exit_code,
            error=self.error,
            folder=self.folder,
            result=self.result if self.over else None,
        )

    async def carry_out(self) -> None:
        """Do it. Whatever goes wrong is in `error` and `exit_code` afterwards."""
        try:
            await self._do()
        except TailbackError as error:
            self.error, self.exit_code = _clipped(str(error), LONGEST_ERROR), error.exit_code
        except Exception as error:  # a controller outlives any run
            text = f"this is a bug in tailback ({type(error).__name__}: {error})"
            self.error, self.exit_code = _clipped(text, LONGEST_ERROR), 70
        self._stage = ("done", "")
        self.over, self.run = True, None  # a hundred jobs are kept, and none of their machinery
        if self.watched is not None:
            watched, self.watched = self.watched, None
            await asyncio.to_thread(watched.over, self.result, self.folder, self.error)
        what = self.result["verdict"] if self.result else str(self.error)
        self._say(f"run {self.asked.run}: {_clipped(what, LONGEST_LOGGED)}")

    async def _do(self) -> None:
        resolved = await asyncio.to_thread(self._load)
        run = self.run = self._run_of(resolved)
        run.on_stage = lambda: self._news(run)
        if self._cancelled:
            raise RunFailed("the run was cancelled before it began")
        serving = self._serve(run)
        try:
            # From here on, so that what agents send lies in what goes away with this process.
            with await asyncio.to_thread(RunFolder.open, self._out, resolved.plan.name) as folder:
                await self._carry_out(run, folder)
        finally:
            for task in serving:
                task.cancel()

    @abstractmethod
    def _load(self) -> ResolvedPlan:
        """Load the plan; called in a thread. Raises BadInput, Refused, RunFailed."""

    @abstractmethod
    def _run_of(self, resolved: ResolvedPlan) -> Carrying:
        """Run that executes the plan."""

    @abstractmethod
    def _judged(
        self, run: Carrying, resolved: ResolvedPlan, spool: Path, cause: str | None
    ) -> tuple[Recording | None, dict[str, Any]]:
        """Recording and result; with a cause there is no recording. Called in a thread."""

    def _serve(self, run: Carrying) -> list[asyncio.Task[None]]:
        """Tasks that go on during the run."""
        return []

    async def _carry_out(self, run: Carrying, folder: RunFolder) -> None:
        spool = folder.path / SPOOL
        spool.mkdir()
        cause = None
        try:
            await run.carry_out(spool)
        except RunEnded as ended:
            if self.watched is not None and self.watched.session.aborted:
                raise RunFailed("aborted; nothing was kept") from None
            cause = str(ended)
        self._stage = ("writing", "")
        await asyncio.to_thread(self._keep, run, folder, cause)

    def _news(self, run: Carrying) -> None:
        if self._stage[0] != run.stage:
            self.lines.append(run.stage)
        self._stage = (run.stage, run.detail)
        self.lines += [f"{machine}: {text}" for _, machine, text in run.events[self._shown :]]
        self._shown = len(run.events)

    _shown = 0

    def _keep(self, run: Carrying, folder: RunFolder, cause: str | None) -> None:
        session = self.watched.session if self.watched else None
        resolved = session.resolved if session else run.resolved
        recording, result = self._judged(run, resolved, folder.path / SPOOL, cause)
        shutil.rmtree(folder.path / SPOOL)
        self._write(folder, run, resolved, recording, result)
        final = folder.commit()
        self.kept = RunArtifacts.of(final)
        self.result, self.folder = result, str(final)
        self.exit_code = EXIT[result["verdict"]]

    def _write(
        self,
        folder: RunFolder,
        run: Carrying,
        resolved: ResolvedPlan,
        recording: Recording | None,
        result: dict[str, Any],
    ) -> None:
        registry = Registry.load()
        happened = [
            {"time_ps": at, "kind": "machine", "entity": machine, "detail": {"text": text}}
            for at, machine, text in run.events
        ]
        if recording is not None:
            write_run(registry, folder, resolved, recording, result, self.made_on)
            events = [asdict(event) for event in recording.events]
            if self.asked.report:
                self._stage = ("drawing", "report.html")
        else:
            plan = resolved.plan
            folder.write_text("plan.toml", plan.to_toml())
            manifest = build_manifest(plan.name, result["target"], plan.seed, "CLOCK_MONOTONIC")
            folder.write_json("manifest.json", manifest)
            folder.write_json("result.json", result)
            events = []
        rows = sorted([*events, *happened], key=lambda row: row["time_ps"])
        folder.write_text("events.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        if recording is not None and self.asked.report:
            draw_report(registry, folder.path)
