"""Tries faults in Verilog, and tells what came of each.

`python -m tests.firmware.proof.outcomes_modules [MODULE…]` prints a table.

A fault is refuted when the proof says so, Icarus Verilog shows every counterexample on the faulty
Verilog, and shows none of them on the Verilog as it is shipped.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass

from firmware.proof.module_claims import all_claims
from firmware.proof.overflow_proof import REFUTED, Finding
from firmware.proof.rtl_proof import prove_module
from firmware.proof.symbolic_bench import is_confirmed
from firmware.verilog_modules import RTL
from orchestrator.registry import Registry
from tests.firmware.proof.planted import VERILOG

CPU_S = 60.0


@dataclass(frozen=True)
class Outcome:
    """Of one fault: the proof's verdict, what it found, what Icarus Verilog said of that."""

    verdict: str
    findings: list[Finding]
    shown_on_fault: bool
    shown_as_shipped: bool
    seconds: float

    @property
    def is_refuted(self) -> bool:
        return self.verdict == REFUTED and self.shown_on_fault and not self.shown_as_shipped


def outcome_of(module: str, file: str, was: str, becomes: str) -> Outcome:
    """Prove the faulty module, and simulate what is found with the fault and without."""
    begun = time.process_time()
    text = (RTL / file).read_text()
    assert was in text, f"{file} has no {was}"
    texts = {file: text.replace(was, becomes)}
    (claim,) = (one for one in all_claims() if one.module == module)
    proof, stimuli = prove_module(claim, Registry.load().find, CPU_S, texts=texts)
    on_fault = bool(stimuli) and all(is_confirmed(one, texts) for one in stimuli)
    as_shipped = any(map(is_confirmed, stimuli))
    seconds = time.process_time() - begun
    return Outcome(proof.verdict, proof.findings, on_fault, as_shipped, seconds)


def main(words: list[str]) -> None:
    """A row of a table for each fault, as it is tried; words are names of modules."""
    print("| module | was | becomes | verdict | shown by | Icarus Verilog says | s |")
    print("|---|---|---|---|---|---|---|")
    counts: Counter[str] = Counter()
    for fault in VERILOG:
        if words and fault[0] not in words:
            continue
        one = outcome_of(*fault)
        verdict = "refuted" if one.is_refuted else f"{one.verdict}: survives"
        counts[verdict] += 1
        first = ([f for f in one.findings if f.verdict == REFUTED] or one.findings or [None])[0]
        event, what = (first.event, first.what) if first else ("", "")
        module, _, was, becomes = (text.replace("|", "\\|").replace("\n", " ") for text in fault)
        row = (module, f"`{was}`", f"`{becomes}`" if becomes else "", verdict, event, what)
        print(f"| {' | '.join(row)} | {one.seconds:.0f} |", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))


if __name__ == "__main__":
    main(sys.argv[1:])
