"""Holds the process in which kernels are plain Python (`orchestrator.hunt.plain`)."""

from __future__ import annotations

import multiprocessing
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from orchestrator import interpreter
from orchestrator.errors import BadInput, RunFailed
from orchestrator.hunt.looking import Finding, Table
from orchestrator.hunt.plain import digest
from orchestrator.plan import ResolvedPlan
from orchestrator.recording import Recording

MODULE = "orchestrator.hunt.plain"
PATIENCE_S = 120.0
"""A small plan takes seconds in plain Python."""


class Plain:
    """The process, in a `with` block; it is a check of plans as well (`looking.Check`)."""

    def __init__(self, against: Path | None = None) -> None:
        self._against = against
        self.reached = 0
        """How many branches, so far."""
        self.new = 0
        """How many of them by the last plan, for the first time."""

    def __enter__(self) -> Plain:
        try:
            import coverage  # noqa: F401
        except ImportError:
            text = "not installed here; pip install 'tailback[hunt]' brings what it needs"
            raise BadInput("--branches", text) from None
        self._pipe, its = multiprocessing.Pipe()
        more = [str(self._against)] if self._against is not None else []
        with its:
            self._process = subprocess.Popen(
                interpreter.module(MODULE, str(its.fileno()), *more),
                pass_fds=[its.fileno()],
                env=interpreter.environment() | {"NUMBA_DISABLE_JIT": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        return self

    def run(self, table: Table) -> str:
        """The digest of what a plan measures; "" where it cannot be run."""
        found, self.new = self._asked(table)
        if self.new < 0:
            raise RunFailed(f"a plan ended in plain Python by {found}")
        self.reached += self.new
        return str(found)

    def __call__(self, resolved: ResolvedPlan, recording: Recording) -> Finding | None:
        """Compiled or not, a plan measures the same."""
        table = resolved.plan.model_dump(by_alias=True, exclude_unset=True)
        found, new = self._asked(table)
        self.new = max(new, 0)
        self.reached += self.new
        if new < 0:
            return Finding("differs: plain Python", f"uncompiled it ends by {found}")
        if found in ("", digest(recording)):
            return None
        return Finding("differs: plain Python", "compiled and plain Python, samples differ")

    def left(self) -> dict[str, Any]:
        """What was not reached, and how many branches there are."""
        found: dict[str, Any] = self._asked(None)
        return found

    def _asked(self, table: Table | None) -> Any:
        try:
            self._pipe.send(table)
            if self._pipe.poll(PATIENCE_S):
                return self._pipe.recv()
        except (EOFError, OSError):
            pass
        code = self._process.poll()
        how = f"it ended with code {code}" if code is not None else "it does not answer"
        raise RunFailed(f"the process that runs plans as plain Python: {how}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pipe.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
