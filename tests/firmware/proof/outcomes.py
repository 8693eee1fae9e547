"""Tries faults of `seeded.py`, and tells what came of each.

`python -m tests.firmware.proof.outcomes [ALGORITHM…]` prints a table.

A fault is refuted when the proof says so, its counterexample's own test fails on the faulty kernel,
and the same test passes on the kernel as it is shipped. It is shown when the proof is open, with a
call in a state within the bounds that fails, to which no calls from a new state were found to lead.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
import unittest.mock
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from firmware.proof.counterexample_replay import fault_of
from firmware.proof.counterexample_tests import write_counterexamples
from firmware.proof.overflow_proof import OPEN, REFUTED, Finding, prove_no_overflow
from orchestrator.algorithm import Algorithm
from orchestrator.registry import Registry
from tests.firmware.proof.planted import Fault, with_fault
from tests.firmware.proof.seeded import SEEDED

CPU_S = 60.0


@dataclass(frozen=True)
class Outcome:
    """Of one fault: the proof's verdict, its first counterexample, what their tests said."""

    verdict: str
    finding: Finding | None
    fails_on_fault: bool
    passes_as_shipped: bool
    seconds: float
    is_shown: bool

    @property
    def is_refuted(self) -> bool:
        return self.verdict == REFUTED and self.fails_on_fault and self.passes_as_shipped


def outcome_of(fault: Fault) -> Outcome:
    """Prove the faulty algorithm, and run the tests that are written of its counterexamples."""
    begun = time.process_time()
    faulty = with_fault(Registry.load(), fault)
    proof = prove_no_overflow(faulty, CPU_S)
    refuted = [one for one in proof.findings if one.verdict == REFUTED]
    with tempfile.TemporaryDirectory(prefix="tailback-seeded-") as folder:
        files = write_counterexamples(proof, [], Path(folder))
        fails = [not _passes(file, faulty) for file in files]
        passes = [_passes(file, None) for file in files]
    seconds = time.process_time() - begun
    first = (refuted or [None])[0]
    fails_on_fault, passes_as_shipped = bool(fails) and all(fails), all(passes)
    is_shown = any(one.values and fault_of(faulty, one.event, one.values) for one in proof.findings)
    return Outcome(proof.verdict, first, fails_on_fault, passes_as_shipped, seconds, is_shown)


def _passes(file: Path, instead: Algorithm | None) -> bool:
    """Whether the tests of a file pass, with this algorithm where it looks up one."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tests = [value for name, value in vars(module).items() if name.startswith("test_")]
    assert tests, file
    if instead is None:
        return all(map(_is_met, tests))
    with unittest.mock.patch.object(Registry, "find", return_value=instead):
        return all(map(_is_met, tests))


def _is_met(test: Callable[[], None]) -> bool:
    try:
        test()
    except AssertionError:
        return False
    return True


def main(words: list[str]) -> None:
    """A row of a table for each fault, as it is tried; words are names of algorithms."""
    print("| algorithm | fault | was | becomes | verdict | shown by | reached by | s |")
    print("|---|---|---|---|---|---|---|---|")
    for what, fault in SEEDED:
        if words and fault.algorithm not in words:
            continue
        one = outcome_of(fault)
        shown = one.verdict == OPEN and one.is_shown
        survives = "open: shown" if shown else f"{one.verdict}: survives"
        verdict = "refuted" if one.is_refuted else survives
        where = f"{one.finding.event}: {one.finding.what}" if one.finding else ""
        reached = one.finding.reached if one.finding else ""
        was, becomes = (text.strip().replace("|", "\\|") for text in (fault.was, fault.becomes))
        row = (fault.algorithm, what, f"`{was}`", f"`{becomes}`", verdict, where, reached)
        print(f"| {' | '.join(row)} | {one.seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
