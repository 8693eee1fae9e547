"""Fuzzing loop: draws and runs plans, minimises each finding and stores it."""

from __future__ import annotations

import contextlib
import copy
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from orchestrator.algorithm import Algorithm
from orchestrator.errors import BadInput, Problem
from orchestrator.fuzz.invariant_check import (
    Check,
    CheckedPlan,
    Finding,
    InvalidPlan,
    Table,
    check_invariants,
    check_table,
)
from orchestrator.fuzz.plan_corpus import as_numbers, as_text, keep, plans_in
from orchestrator.fuzz.plan_minimizer import minimized
from orchestrator.progress import Progress, Report, silent
from orchestrator.registry import Registry

if TYPE_CHECKING:
    from orchestrator.fuzz.plan_strategies import PlanDrawer

BATCH = 50
"""Plans that are drawn from one seed, before the next one is taken."""
REACHING = "branches"
"""The folder in a corpus for plans that reached a branch of a kernel first."""
SHRINKING_S = 60.0
"""After so long a plan is small enough."""

MOST_FRUITLESS = 20
"""Batches in a row without a valid plan, after which the algorithms allow none: one is chance."""


@dataclass(frozen=True)
class Options:
    """Options of a fuzzing run: algorithms, number of plans, time."""

    plans: int = 1000
    minutes: float | None = None
    seed: int = 1
    corpus: Path | None = None
    """Folder of plans that are tried first, and of new findings."""
    wanted: tuple[Algorithm, ...] = ()
    """Algorithms that are in every plan."""
    most: int = 10
    """Findings, after which there is an end."""
    news: Callable[[], int] | None = None
    """Number of branches that the last plan reached and none before it: such plans are varied, and
    kept in `corpus / REACHING`."""


@dataclass(frozen=True)
class MinimizedFinding:
    """A finding with its plan, made small."""

    finding: Finding
    table: Table
    text: str
    """The plan as TOML."""
    frames: int
    """Data frames that its sources make."""
    seed: int | None
    """Of the batch it was drawn in; None: it was in the corpus."""
    path: Path | None

    def as_table(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "what": self.finding.what,
            "text": self.finding.text,
            "frames": self.frames,
            "lines": self.text.count("\n"),
            "seed": self.seed,
            "file": None if self.path is None else str(self.path),
            "plan": self.text,
        }


@dataclass
class FuzzResult:
    """Result of a fuzzing run."""

    plans: int = 0
    """Valid plans that were checked."""
    invalid: int = 0
    """Drawn tables that were no valid plans."""
    frames: int = 0
    replayed: int = 0
    """Plans of the corpus."""
    reaching: list[Table] = field(default_factory=list)
    """Plans that reached what none before them had, where `Options.news` tells."""
    found: list[MinimizedFinding] = field(default_factory=list)
    branches: int = 0
    """Branches that plans reached, if `Options.news` counts them."""
    seconds: float = 0.0
    stopped: BaseException | None = None
    """Signal that ended it early. All findings until then are here."""


def hunt(
    options: Options,
    checks: tuple[Check, ...] = (),
    progress: Report = silent,
    seen: Callable[[Table, CheckedPlan], None] = lambda table, looked: None,
) -> FuzzResult:
    """Look for plans in which something is not as it always has to be.

    `checks` look at each plan that has run, `seen` is called for each. Raises BadInput where
    hypothesis is not installed, for a corpus with an invalid plan, and for an empty one.
    """
    return _Fuzzer(options, checks, progress, seen).go()


class _Fuzzer:
    def __init__(
        self,
        options: Options,
        checks: tuple[Check, ...],
        progress: Report,
        seen: Callable[[Table, CheckedPlan], None],
    ) -> None:
        self._options, self._checks, self._progress = options, checks, progress
        self._seen = seen
        self._done = FuzzResult()
        self._begun = time.monotonic()
        self._reported_kinds: set[str] = set()
        self._refusal = ""

    def go(self) -> FuzzResult:
        """The corpus, then batch after batch."""
        drawer = _drawer(self._options.wanted)
        try:
            self._replay()
            self._draw(drawer)
        except Exception:
            raise
        except BaseException as stop:
            self._done.stopped = stop
        self._done.seconds = time.monotonic() - self._begun
        return self._done

    def _draw(self, drawer: PlanDrawer) -> None:
        seed, fruitless = self._options.seed, 0
        while not self._is_enough():
            before = self._done.plans
            self._batch(self._strategy(drawer, seed), seed)
            fruitless = fruitless + 1 if self._done.plans == before else 0
            if fruitless >= MOST_FRUITLESS and not self._is_enough():
                text = f"none of the {self._done.invalid} plans that were drawn is valid"
                raise BadInput("tailback hunt", f"{text}; the last one: {self._refusal}")
            seed += 1

    def _replay(self) -> None:
        folder = self._options.corpus
        registry = Registry.load()
        plans = [] if folder is None else [*plans_in(folder)]
        if folder is not None and self._options.news is not None:
            plans += plans_in(folder / REACHING)
        if not plans and not self._options.plans:
            text = f"0 draws none, and there is no plan in {folder or 'any folder'}"
            raise BadInput("tailback hunt", [Problem("--plans", 0, text)])
        for number, (path, plan) in enumerate(plans):
            text = f"{path.stem}, {number + 1} of {len(plans)}, {len(self._done.found)} found"
            self._progress(Progress("replaying", number / len(plans), text))
            looked = check_invariants(plan.check(registry), self._checks)
            self._done.replayed += 1
            self._note(as_numbers(plan), kept=True)
            if looked.finding is not None and looked.finding.what not in self._reported_kinds:
                self._reported_kinds.add(looked.finding.what)
                written = path.read_text("utf-8")
                found = MinimizedFinding(looked.finding, {}, written, looked.frames, None, path)
                self._done.found.append(found)

    def _is_enough(self) -> bool:
        minutes = self._options.minutes
        late = minutes is not None and time.monotonic() - self._begun > 60 * minutes
        full = len(self._done.found) >= self._options.most
        return late or full or self._done.plans >= self._options.plans

    def _tell(self) -> None:
        options, done = self._options, self._done
        share = done.plans / max(options.plans, 1)
        if options.minutes is not None:
            share = max(share, (time.monotonic() - self._begun) / (60 * options.minutes))
        text = f"{done.plans} plans, {len(done.found)} found"
        text += f", {done.branches} branches reached" if options.news is not None else ""
        self._progress(Progress("hunting", min(share, 1.0), text))

    def _note(self, table: Table, kept: bool = False) -> None:
        """True if the last plan reached a new branch; it is then stored, if it is not yet."""
        new = 0 if self._options.news is None else self._options.news()
        self._done.branches += new
        if new <= 0:
            return
        self._done.reaching.append(copy.deepcopy(table))
        if self._options.corpus is not None and not kept:
            text = as_text(table, ["reached a branch of a kernel that no plan before it had"])
            keep(self._options.corpus / REACHING, json.dumps(table, sort_keys=True), text, "plan")

    def _compare(self, table: Table) -> CheckedPlan | None:
        """Result of a drawn plan, counted; None for an invalid plan."""
        try:
            looked = check_table(table, self._checks)
        except InvalidPlan as invalid:
            self._done.invalid += 1
            self._refusal = " ".join(str(invalid).split())
            return None
        self._done.plans += 1
        self._done.frames += looked.frames
        self._note(table)
        self._seen(table, looked)
        self._tell()
        return looked

    def _strategy(self, drawer: PlanDrawer, seed: int) -> Any:
        """New plans and, every other batch, some near those that reached something."""
        from orchestrator.fuzz.plan_mutation import mutated_plans

        kept = self._done.reaching
        return mutated_plans(drawer, kept) if kept and seed % 2 else drawer.plans

    def _batch(self, strategy: Any, seed: int) -> None:
        """Plans of one seed; the first new finding among them is shrunk and kept."""
        import hypothesis
        from hypothesis.errors import Flaky, NoSuchExample

        wanted: list[str] = []
        until: list[float] = []
        smallest: list[Table] = []

        def frames_of(table: Table) -> int | None:
            frames = _frames_of(self._checks, wanted[0], table)
            if frames is not None:
                spent = 1 - (until[0] - time.monotonic()) / SHRINKING_S
                self._shrinking(wanted[0], frames, min(spent, 1.0))
            return frames

        def is_it(table: Table) -> bool:
            if wanted:
                if time.monotonic() > until[0] or frames_of(table) is None:
                    return False
                smallest[:] = [table]
                return True
            if self._is_enough():
                return False
            looked = self._compare(table)
            finding = None if looked is None else looked.finding
            if looked is None or finding is None or finding.what in self._reported_kinds:
                return False
            wanted.append(finding.what)
            smallest.append(table)
            until.append(time.monotonic() + SHRINKING_S)
            self._shrinking(finding.what, looked.frames, 0.0)
            return True

        settings = hypothesis.settings(
            max_examples=BATCH,
            database=None,
            deadline=None,
            derandomize=False,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        )
        known = tuple(Registry.load().algorithms)
        try:
            with contextlib.suppress(Flaky):  # it was late: what was found is not looked at again
                hypothesis.find(strategy, is_it, settings=settings, random=Random(seed))
            smallest[:] = [minimized(smallest[0], frames_of, algorithms=known)]
        except NoSuchExample:
            return
        finally:  # a stopped run keeps its findings, as small as they are
            if smallest:
                self._store_difference(smallest[0], seed)

    def _shrinking(self, what: str, frames: int, done: float) -> None:
        self._progress(Progress("shrinking", done, f"{what}: {frames} frames"))

    def _store_difference(self, table: Table, seed: int) -> None:
        looked = check_table(table, self._checks)
        assert looked.finding is not None
        self._reported_kinds.add(looked.finding.what)
        remarks = (f"{looked.finding.text}", f"found by tailback hunt --seed {seed}")
        text = as_text(table, remarks)
        folder, path = self._options.corpus, None
        if folder is not None:
            path = keep(folder, looked.finding.what, text)
        found = MinimizedFinding(looked.finding, table, text, looked.frames, seed, path)
        self._done.found.append(found)


def _frames_of(checks: tuple[Check, ...], wanted: str, table: Table) -> int | None:
    """Number of frames of a plan that shows the wanted finding."""
    try:
        looked = check_table(table, checks)
    except InvalidPlan:
        return None
    found = looked.finding
    return looked.frames if found is not None and found.what == wanted else None


def _drawer(wanted: Sequence[Algorithm]) -> PlanDrawer:
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        text = "not installed here; pip install 'tailback-testbed[hunt]' brings what it needs"
        raise BadInput("tailback hunt", text) from None
    from orchestrator.fuzz.plan_strategies import PlanDrawer, schemes_of

    registry = Registry.load()
    return PlanDrawer(registry.algorithms, wanted, schemes_of(registry.plans().values()))
