"""Holds the process in which kernels are plain Python (`orchestrator.hunt.plain`)."""

from __future__ import annotations

import multiprocessing
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from orchestrator import interpreter
from orchestrator.errors import RunFailed
from orchestrator.hunt.looking import SIMULATED, Finding, Table
from orchestrator.hunt.marking import Marks
from orchestrator.hunt.plain import digest
from orchestrator.hunt.reached import Branches, Share
from orchestrator.plan import ResolvedPlan
from orchestrator.recording import Recording
from orchestrator.registry import Registry

MODULE = "orchestrator.hunt.plain"
PATIENCE_S = 300.0
"""A small plan takes seconds in plain Python."""
SLOWLY = 0.001
"""The pace of a run on real frames whose worker is plain Python."""


class Plain:
    """The process, in a `with` block; it is a check of plans as well (`looking.Check`).

    As a check it runs plans on `target`. On real frames only branches are noted, and runs that
    fail: what is late there measures something else.
    """

    def __init__(self, against: Path | None = None, target: str = SIMULATED) -> None:
        self._against, self._target = against, target
        self.new = 0
        """How many branches of kernels the last plan reached that none before it had."""

    def __enter__(self) -> Plain:
        self._folder = tempfile.TemporaryDirectory()
        self.branches = Branches(Registry.load().algorithms)
        self.marks = Marks(Path(self._folder.name), self.branches.files)
        self._known = 0
        self._pipe, its = multiprocessing.Pipe()
        more = [str(self._against)] if self._against is not None else []
        environment = self.marks.environment(interpreter.environment())
        with its:
            self._process = subprocess.Popen(
                interpreter.module(MODULE, str(its.fileno()), *more),
                pass_fds=[its.fileno()],
                env=environment | {"NUMBA_DISABLE_JIT": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        return self

    def run(self, table: Table, target: str = SIMULATED, pace: float | None = None) -> str:
        """The digest of what a plan measures; "" where it cannot be run there."""
        ended, said = self._asked(table, target, pace)
        if not ended:
            raise RunFailed(f"a plan ended in plain Python by {said}")
        return said

    def __call__(self, resolved: ResolvedPlan, recording: Recording) -> Finding | None:
        """Compiled or not, a plan measures the same."""
        table = resolved.plan.model_dump(by_alias=True, exclude_unset=True)
        is_simulated = self._target == SIMULATED
        ended, said = self._asked(table, self._target, None if is_simulated else SLOWLY)
        if not ended and not is_simulated:
            text = f"uncompiled it ends on {self._target} by {said}"
            return Finding(f"fails: plain Python on {self._target}", text)
        if not ended:
            return Finding("differs: plain Python", f"uncompiled it ends by {said}")
        if not is_simulated or said in ("", digest(recording)):
            return None
        return Finding("differs: plain Python", "compiled and plain Python, samples differ")

    @property
    def kernels(self) -> Share:
        """The branches of all kernels."""
        return self.branches.of_kernels(self.marks)

    def reached(self) -> dict[str, Any]:
        """What was reached and what was not: `Branches.as_table`."""
        return self.branches.as_table(self.marks)

    def forget(self) -> None:
        """As if no plan had run."""
        self.marks.clear()
        self._known = 0

    def _asked(self, table: Table, target: str, pace: float | None) -> tuple[bool, str]:
        try:
            self._pipe.send((table, target, pace))
            if self._pipe.poll(PATIENCE_S):
                ended, said = self._pipe.recv()
                share = self.kernels
                reached = len(share.reached) + len(share.contradicted)
                self.new, self._known = reached - self._known, reached
                return ended, said
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
        self.marks.close()
        self._folder.cleanup()
