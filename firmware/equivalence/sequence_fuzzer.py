"""Fuzzer of RTL against kernels: draws sequences, minimises and stores what differs."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Any

from firmware.equivalence.event_sequence import Sequence
from firmware.equivalence.regression_test import stored_sequences, write_regression_test
from firmware.equivalence.rtl_comparison import (
    Difference,
    KernelModulePair,
    UnsupportedSequence,
    open_pair,
)
from firmware.equivalence.simulators import select_simulator
from orchestrator.algorithm import Algorithm
from orchestrator.errors import BadInput
from orchestrator.progress import Progress, Report
from orchestrator.rtl_module import RtlDifference, RtlHunted, RtlOptions

BATCH = 50
"""Sequences per seed."""
SHRINKING_S = 60.0
MOST = 10
"""Number of findings after which the hunt ends."""


def fuzz_rtl(algorithm: Algorithm, options: RtlOptions, progress: Report) -> RtlHunted:
    """Search for sequences on which an algorithm's module differs from its kernels.

    Raises BadInput for what cannot be built and where hypothesis is missing, Refused without a
    simulator.
    """
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        text = "not installed here; pip install 'tailback-testbed[hunt]' brings what it needs"
        raise BadInput("tailback hunt", text) from None
    simulator = select_simulator(options.simulator)
    with open_pair(algorithm, simulator) as pair:
        assert algorithm.rtl is not None
        done = RtlHunted(algorithm.name, algorithm.rtl.top, simulator)
        return _RtlFuzzer(pair, options, progress, done).go()


class _RtlFuzzer:
    def __init__(
        self, pair: KernelModulePair, options: RtlOptions, progress: Report, done: RtlHunted
    ) -> None:
        self._pair, self._options, self._progress, self._done = pair, options, progress, done
        self._begun = time.monotonic()
        self._reported_kinds: set[str] = set()

    def go(self) -> RtlHunted:
        """Replay the stored sequences, then draw batch after batch."""
        from firmware.equivalence.sequence_strategies import SequenceStrategies

        drawer = SequenceStrategies(self._pair)
        self._replay()
        seed = self._options.seed
        while not self._is_enough():
            before = self._done.sequences
            self._batch(drawer.sequences, seed)
            if self._done.sequences == before and not self._is_enough():
                text = "of all sequences that were drawn the module is made for none"
                raise BadInput("rtl", text)
            seed += 1
        self._done.seconds = time.monotonic() - self._begun
        return self._done

    def _replay(self) -> None:
        for path, sequence in stored_sequences(self._options.out, self._pair.algorithm):
            self._done.replayed += 1
            found = self._pair.difference(sequence)
            if found is not None and found.what not in self._reported_kinds:
                self._store_difference(sequence, found)
            elif found is None:
                self._progress(Progress("hunting", 0.0, f"{path.name} differs no more"))

    def _is_enough(self) -> bool:
        minutes = self._options.minutes
        late = minutes is not None and time.monotonic() - self._begun > 60 * minutes
        full = len(self._done.found) >= MOST
        return late or full or self._done.sequences >= self._options.sequences

    def _compare(self, sequence: Sequence) -> Difference | None:
        try:
            found = self._pair.difference(sequence)
        except UnsupportedSequence:
            self._done.unfit += 1
            return None
        self._done.sequences += 1
        self._done.events += len(sequence.events)
        if self._done.sequences % 20 == 0:
            share = self._done.sequences / self._options.sequences
            text = f"{self._done.sequences} sequences, {len(self._done.found)} found"
            self._progress(Progress("hunting", min(share, 1.0), text))
        return found

    def _batch(self, strategy: Any, seed: int) -> None:
        """Draw sequences of one seed; minimise and store the first new difference."""
        import hypothesis
        from hypothesis.errors import Flaky, NoSuchExample

        wanted: list[str] = []
        until: list[float] = []
        smallest: list[Sequence] = []

        def is_it(sequence: Sequence) -> bool:
            if wanted:
                late = time.monotonic() > until[0]
                if late or not self._has_difference(sequence, wanted[0]):
                    return False
                smallest[:] = [sequence]
                return True
            if self._is_enough():
                return False
            found = self._compare(sequence)
            if found is None or found.what in self._reported_kinds:
                return False
            wanted.append(found.what)
            smallest.append(sequence)
            until.append(time.monotonic() + SHRINKING_S)
            self._progress(Progress("shrinking", 0.0, found.what))
            return True

        settings = hypothesis.settings(
            max_examples=BATCH,
            database=None,
            deadline=None,
            derandomize=False,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        )
        try:
            sequence = hypothesis.find(strategy, is_it, settings=settings, random=Random(seed))
        except NoSuchExample:
            return
        except Flaky:  # a timeout: the sequence found so far is used
            sequence = smallest[0]
        sequence = minimized(sequence, lambda one: self._has_difference(one, wanted[0]))
        found = self._pair.difference(sequence)
        assert found is not None
        self._store_difference(sequence, found)

    def _has_difference(self, sequence: Sequence, what: str) -> bool:
        try:
            found = self._pair.difference(sequence)
        except UnsupportedSequence:
            return False
        return found is not None and found.what == what

    def _store_difference(self, sequence: Sequence, found: Difference) -> None:
        self._reported_kinds.add(found.what)
        out, source = self._options.out, self._options.source
        path = write_regression_test(out, source, self._pair.algorithm, found, sequence)
        vcd = path.with_suffix(".vcd")
        self._pair.difference(sequence, vcd)
        one = RtlDifference(found.what, found.text, len(sequence.events), path, vcd)
        self._done.found.append(one)


def minimized(sequence: Sequence, is_it: Callable[[Sequence], bool]) -> Sequence:
    """Remove every event that the difference does not need: hypothesis may have run out of time."""
    place = 0
    while place < len(sequence.events):
        fewer = sequence.events[:place] + sequence.events[place + 1 :]
        tried = Sequence(sequence.params, sequence.values, fewer)
        if fewer and is_it(tried):
            sequence = tried
        else:
            place += 1
    return sequence
