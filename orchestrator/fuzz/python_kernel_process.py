"""Parent side of the process that runs kernels as plain Python
(`orchestrator.fuzz.python_kernel_worker`)."""

from __future__ import annotations

import multiprocessing
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from orchestrator import python_command
from orchestrator.errors import RunFailed
from orchestrator.fuzz.branch_coverage import Branch, Branches, BranchShare
from orchestrator.fuzz.condition_coverage import Marks
from orchestrator.fuzz.invariant_check import SIMULATED, Finding, Table
from orchestrator.fuzz.python_kernel_worker import FAILED, RAN, REFUSED, digest
from orchestrator.plan import ResolvedPlan
from orchestrator.recording import Recording
from orchestrator.registry import Registry

MODULE = "orchestrator.fuzz.python_kernel_worker"
PATIENCE_S = 300.0
"""A small plan takes seconds in plain Python."""
SLOWLY = 0.01
"""The pace of a run on real frames whose worker is plain Python. In a turn of its loop the clock
goes on by no more than the pace times what the plan bears: a slower one takes many more turns."""
TRIES = 3
"""So often a plan is run on real frames whose branches are not all reached there yet."""


class PythonKernels:
    """The process, in a `with` block; it is a check of plans as well (`looking.Check`).

    As a check it runs plans on `target`. On real frames only branches are noted, and runs that
    fail: what is late there measures something else.
    """

    def __init__(
        self,
        against: Path | None = None,
        target: str = SIMULATED,
        like: Callable[[], frozenset[Branch]] | None = None,
    ) -> None:
        self._against, self._target, self._like = against, target, like
        self.new = 0
        """Number of branches of kernels that the last plan reached and none before it."""
        self.last: frozenset[Branch] = frozenset()
        """Those that the last plan reached, whatever had been reached before it."""
        self.refused: dict[str, str] = {}
        """The plans that the target refused, and why."""

    def __enter__(self) -> PythonKernels:
        self._folder = tempfile.TemporaryDirectory()
        registry = Registry.load()
        capabilities = registry.target(self._target).capabilities
        self.branches = Branches(registry.algorithms, self._target, capabilities)
        self.marks = Marks(Path(self._folder.name), self.branches.files)
        self._known: frozenset[Branch] = frozenset()
        self._pipe, its = multiprocessing.Pipe()
        more = [str(self._against)] if self._against is not None else []
        environment = self.marks.environment(python_command.environment())
        with its:
            self._process = subprocess.Popen(
                python_command.module(MODULE, str(its.fileno()), *more),
                pass_fds=[its.fileno()],
                env=environment | {"NUMBA_DISABLE_JIT": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        return self

    def run(self, table: Table, target: str | None = None, pace: float | None = None) -> str:
        """The digest of what a plan measures; "" where it cannot be run there."""
        how, said = self._request(table, target or self._target, pace)
        if how == FAILED:
            raise RunFailed(f"a plan ended in plain Python by {said}")
        return said if how == RAN else ""

    def __call__(self, resolved: ResolvedPlan, recording: Recording) -> Finding | None:
        """Compiled or not, a plan measures the same."""
        table = resolved.plan.model_dump(by_alias=True, exclude_unset=True)
        if self._target != SIMULATED:
            return self.reach(table)
        how, said = self._request(table, self._target, None)
        if how == FAILED:
            return Finding("differs: plain Python", f"uncompiled it ends by {said}")
        if how == REFUSED or said == digest(recording):
            return None
        return Finding("differs: plain Python", "compiled and plain Python, samples differ")

    def reach(self, table: Table) -> Finding | None:
        """Run a plan for its branches. No machine keeps time to the picosecond: where `like` has
        more branches of the plan than were ever reached here, it is run again, and once more."""
        for _ in range(TRIES):
            if self._like is not None and not self.lacking(self._like()):
                return None
            how, said = self._request(table, self._target, SLOWLY)
            if how == REFUSED:
                self.refused[table["name"]] = said
                return None
            if how == FAILED:
                text = f"uncompiled it ends on {self._target} by {said}"
                return Finding(f"fails: plain Python on {self._target}", text)
            if self._like is None:
                return None
        return None

    def lacking(self, wanted: Iterable[Branch]) -> list[Branch]:
        """Those of some branches that were not reached here, and are not excused either."""
        missing = set(self.kernels.missing)
        return [one for one in wanted if one in missing]

    @property
    def kernels(self) -> BranchShare:
        """The branches of all kernels."""
        return self.branches.of_kernels(self.marks)

    def reached(self) -> dict[str, Any]:
        """Reached and missing branches (`Branches.as_table`), and refused plans."""
        refused = [{"plan": name, "reason": why} for name, why in self.refused.items()]
        return self.branches.as_table(self.marks) | {"refused": refused}

    def forget(self) -> None:
        """Reset the coverage to that of no run."""
        self.marks.clear()
        self._known = frozenset()

    def _request(self, table: Table, target: str, pace: float | None) -> tuple[str, str]:
        before = self.marks.state()
        self.marks.clear()
        try:
            self._pipe.send((table, target, pace))
            if self._pipe.poll(PATIENCE_S):
                answer: tuple[str, str] = self._pipe.recv()
                self._count(before)
                return answer
        except (EOFError, OSError):
            pass
        except BaseException:  # a process that is stopped meanwhile keeps what was reached before
            self.marks.add(before)
            raise
        code = self._process.poll()
        how = f"it ended with code {code}" if code is not None else "it does not answer"
        raise RunFailed(f"the process that runs plans as plain Python: {how}")

    def _count(self, before: bytes) -> None:
        """Number of branches that the last plan reached, and that with those reached before it."""
        self.last = self._reached()
        self.marks.add(before)
        now = self._reached()
        self.new, self._known = len(now - self._known), now

    def _reached(self) -> frozenset[Branch]:
        share = self.kernels
        return frozenset((*share.reached, *share.contradicted))

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
